-- The processor time of a frame between hosts: of a rehearsal, and of a real run of the same job on as many processes.
--
--   luajit tests/bench/rehearsed_frames.lua PROGRAM [TURNS]
--
-- Prints the median frames of a second of processor time for each job, and the ratio of both. A frame of a rehearsal
-- is a write to its network; these jobs leave no frame in a queue, so each write has one frame.
local ffi = require "ffi"

ffi.cdef [[
typedef struct { struct { long sec, usec; } user, system; long others[14]; } resource_usage;
int getrusage(int whose, resource_usage *out);
]]

local program, turns, hosts = assert(arg[1], "which program?"), tonumber(arg[2] or 3), 8

local jobs = {
  { name = "events around a ring", frames = 8 * 20000, text = [[
      local actor = require "actor"
      local co, next_rank = actor.collective, (actor.rank + 1) % actor.size
      for i = 1, 20000 do
        co.send_event("ball", i, { to = next_rank })
        assert(co.wait_event("ball").value == i)
      end
    ]] },
  { name = "steps with a parameter server", frames = 7 * 5000 * 4, text = [[
      local actor = require "actor"
      local update = actor.tensor.zeros(2)
      actor.param.run {
        init = function() return { w = update } end,
        schedule_local = function() return { "w" } end,
        push = function() return { { "w", update } } end,
        pull = actor.optim.sgd { lr = 0 }, barrier = "asp", shared = true,
        stop = function(ctx) return ctx.step >= 5000 end,
      }
    ]] },
}

-- Seconds of the processor that ended children of this process have used.
local function used()
  local usage = ffi.new("resource_usage")
  assert(ffi.C.getrusage(-1, usage) == 0)
  return tonumber(usage.user.sec + usage.system.sec) + tonumber(usage.user.usec + usage.system.usec) / 1e6
end

-- Runs a command. Returns its output and its processor time.
local function run(command)
  local before = used()
  local pipe = assert(io.popen(command .. " 2>&1; echo exit code $?"))
  local output = pipe:read("*a")
  pipe:close()
  assert(output:find("exit code 0\n$"), output)
  return output, used() - before
end

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

for _, job in ipairs(jobs) do
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(job.text)
  file:close()
  local rehearsed, real = {}, {}
  for turn = 1, turns do
    local output, seconds = run(("%s rehearse --hosts %d --seed 1 --log-level warn %s"):format(program, hosts, path))
    local writes = tonumber(output:match("(%d+) writes"))
    assert(writes >= job.frames and writes < 1.1 * job.frames, output)
    rehearsed[turn] = job.frames / seconds
    _, seconds = run(("%s -n %d --isolate --seed 1 --log-level warn %s"):format(program, hosts, path))
    real[turn] = job.frames / seconds
  end
  os.remove(path)
  local ours, beside = median(rehearsed), median(real)
  print(("%-30s %8.0f frames/s rehearsed, %8.0f real, %.2f times"):format(job.name, ours, beside, ours / beside))
end
