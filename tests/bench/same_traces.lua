-- Compares the traces of two builds of actorhost, such as release and asan: runs each rehearsal with both programs and
-- prints whether the exit codes and the traces are equal. Exit code 1 if a pair differs. Run it in the root of the
-- tree:
--
--   luajit tests/bench/same_traces.lua build/release/bindings/actorhost build/asan/bindings/actorhost [SEEDS]

local programs, seeds = { arg[1], arg[2] }, tonumber(arg[3] or 3)
local losses = " $ROOT/tests/integration/jobs/losses.lua "
local jobs = {
  "--hosts 4 --faults kill=1,break=1,within=700ms" .. losses .. "collectives allreduce ring",
  "--hosts 4 --faults kill=1,break=1,within=700ms" .. losses .. "events",
  "--hosts 4 --faults kill=1,break=1,within=700ms" .. losses .. "server ssp:2",
  "--hosts 4 --faults kill=1,break=1,within=700ms" .. losses .. "peers bsp",
  "--hosts 4 --faults kill=1,break=1,within=700ms" .. losses .. "mapreduce",
  "--hosts 4 --faults kill=1,join=2,after=770ms,within=1s" .. losses .. "averaging all 4",
  "--hosts 5 --faults kill=1,stall=1:100ms,within=1s $ROOT/tests/integration/jobs/registers.lua 4",
  "--hosts 3 $ROOT/examples/peer_sgd.lua",
  "--hosts 3 $ROOT/examples/mnist_ps.lua --epochs 1",
  "--hosts 3 $ROOT/examples/wordcount.lua",
}

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local root = output("pwd -P"):match("%C+")
for i, program in ipairs(programs) do
  if program:sub(1, 1) ~= "/" then programs[i] = root .. "/" .. program end
end
local folder = output("mktemp -d"):match("%C+")
local failed = 0
for _, job in ipairs(jobs) do
  for seed = 1, seeds do
    local results = {}
    for i, program in ipairs(programs) do
      -- The hosts send each other the name of their folder, so both runs have the same folder.
      local text = output(("rm -rf %s/work && mkdir %s/work && cd %s/work && %s rehearse --seed %d --start-timeout 10 "
        .. "--virtual-seconds 60 %s 2>&1; echo code $?"):format(folder, folder, folder, program, seed,
        (job:gsub("%$ROOT", root))))
      results[i] = (text:match("rehearsed [^\n]*") or text:sub(-300)) .. ", code " .. text:match("code (%d+)%s*$")
    end
    local same = results[1] == results[2]
    if not same then failed = failed + 1 end
    print(("%-9s %s --seed %d: %s"):format(same and "same" or "DIFFERENT", job:gsub("%$ROOT/", ""), seed,
      same and results[1] or results[1] .. " and " .. results[2]))
  end
end
os.execute("rm -rf " .. folder)
print(("%d of %d rehearsals differ"):format(failed, #jobs * seeds))
os.exit(failed == 0 and 0 or 1)
