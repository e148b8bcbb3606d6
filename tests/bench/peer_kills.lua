-- Runs a counting job (peer_counts.lua) on several hosts and kills or stops some of them at a random moment. Checks
-- that all updates of the other hosts count once, and how each host ends; measures the pause of the other hosts. Prints
-- the errors and retains the files of failed rounds. Run it in the root of the tree. Usage: luajit
-- tests/bench/peer_kills.lua PROGRAM [--rounds 50] [--seed N] [--rule all] [--mode kill|stop]
--        [--steps 120] [--phase start|init|steps|end] [--hosts 3..5] [--seconds of a stop]
package.path = "tests/bench/?.lua;" .. package.path
local processes = require "host_processes"
local Host, now, sleep, text_of = processes.Host, processes.now, processes.sleep, processes.text_of
local wait_until, quantile = processes.wait_until, processes.quantile

local program = assert(arg[1], "peer_kills.lua PROGRAM [--OPTION VALUE ...]")
local options = processes.options(arg, 2, { rounds = 50, seed = os.time(), rule = "all", mode = "kill", steps = 120 })
local rules = options.rule == "all" and { "bsp", "asp", "ssp:3", "pbsp:2@sticky" } or { options.rule }
local phases = { "start", "init", "steps", "steps", "steps", "end" }
local keys, patience = 6, 45
local kill_signal, stop_signal, go_signal = processes.signals.kill, processes.signals.stop, processes.signals.go

-- Parses the record of one worker.
local function story_of(folder, id)
  local story = { step = 0, times = {}, has = {}, wrong = {} }
  for line in text_of(("%s/%d"):format(folder, id)):gmatch("([^\n]+)\n") do
    local word, number, time = line:match("^(%l+) (%d+) ([%d.]+)$")
    if word == "step" then
      story.step, story.times[#story.times + 1] = tonumber(number), tonumber(time)
    elseif word then
      story[word], story[word .. "_at"] = tonumber(number), tonumber(time)
    elseif line:match("^has ") then
      local value = {}
      for count in line:gmatch(" (%S+)") do value[#value + 1] = tonumber(count) end
      story.has[#story.has + 1] = value
    else
      story.wrong[#story.wrong + 1] = line
    end
  end
  return story
end

-- ---- a round ----

local function ids(n)
  local i = -1
  return function()
    i = i + 1
    return i < n and i or nil
  end
end

local function any(n, what)
  for id in ids(n) do if what(id) then return true end end
  return false
end

local function wait_for_phase(round)
  local folder, n = round.folder, round.n
  local deadline = now() + 30
  local function has_written(word) return function(id) return story_of(folder, id)[word] end end
  local function all(what) return not any(n, function(id) return not what(id) end) end
  assert(wait_until(function() return all(has_written("peer")) end, deadline), "the hosts have not started, see " .. folder)
  if round.phase == "start" then return sleep(math.random() * 0.3) end
  if round.phase == "init" then
    wait_until(function() return any(n, has_written("init")) end, deadline)
    return sleep(math.random() * 0.15)
  end
  if round.phase == "end" then
    wait_until(function() return any(n, has_written("last")) end, deadline)
    return sleep(math.random() * 0.05)
  end
  local target = math.random(1, options.steps)
  wait_until(function() return story_of(folder, round.victims[1]).step >= target end, deadline)
  sleep(math.random() * 0.01)
end

local function play(round)
  local endpoint = "127.0.0.1:" .. processes.free_port()
  local hosts = {}
  for id in ids(round.n) do
    hosts[id] = Host.start(round.folder, id, {
      program, "-n", "1", "--nnodes", tostring(round.n), "--rdzv-endpoint", endpoint, "--node-rank", tostring(id),
      "--log-level", "info", "--no-progress", "tests/bench/peer_counts.lua", round.folder, round.rule,
      tostring(options.steps), tostring(keys),
    })
    if id == 0 then wait_until(function() return text_of(hosts[0].log):match("seed %d") end, now() + 20) end
  end
  wait_for_phase(round)
  round.at = now()
  for i, victim in ipairs(round.victims) do
    if i > 1 then sleep(round.between) end
    hosts[victim]:signal(options.mode == "kill" and kill_signal or stop_signal)
  end
  if options.mode == "stop" then
    sleep(round.seconds)
    for _, victim in ipairs(round.victims) do hosts[victim]:signal(go_signal) end
  end
  wait_until(function() return not any(round.n, function(id) return not hosts[id]:ended() end) end, now() + patience)
  for id in ids(round.n) do
    hosts[id]:ended()
    hosts[id]:signal(kill_signal)
  end
  return hosts
end

-- ---- results ----

local function is_victim(round, id)
  for _, victim in ipairs(round.victims) do if victim == id then return true end end
  return false
end

-- The number of a worker's pushes acknowledged by `time`.
local function acknowledged(story, time)
  local count = 0
  for i, at in ipairs(story.times) do if at <= time then count = i - 1 end end
  return count
end

-- Checks each worker's elements: they have the worker's acknowledged updates, and at most one more if its host did not
-- finish. A stopped host may continue after the other hosts have finished.
local function check_counts(round, stories, hosts, wrong)
  for id in ids(round.n) do
    for key, value in ipairs(stories[id].has) do
      for other in ids(round.n) do
        local done, whole = stories[other].step, hosts[other].status == 0
        local count, least = value[other + 1], done
        if options.mode == "stop" and is_victim(round, other) and id ~= other then
          least = acknowledged(stories[other], stories[id].summary_at)
        end
        if count < least or count > (whole and done or done + 1) then
          wrong[#wrong + 1] = ("host %d: key %d has %d updates of %d, not %d"):format(id, key, count, other, done)
        end
      end
    end
  end
end

local function judge(round, hosts)
  local stories, wrong = {}, {}
  round.pause = 0
  for id in ids(round.n) do stories[id] = story_of(round.folder, id) end
  for id in ids(round.n) do
    local story, status = stories[id], hosts[id].status
    local victim = is_victim(round, id)
    local fits = status == 0 or (victim and (options.mode == "kill" and status == 128 + kill_signal or status == 3))
    if not fits then wrong[#wrong + 1] = ("host %d ends with %s"):format(id, status or "nothing in time") end
    if options.mode == "stop" and victim then round.ends[#round.ends + 1] = tostring(status) end
    if status == 0 and #story.has ~= keys then wrong[#wrong + 1] = ("host %d has not recorded its keys"):format(id) end
    for i = 1, math.min(#story.wrong, 2) do wrong[#wrong + 1] = ("host %d %s"):format(id, story.wrong[i]) end
    if not victim then
      local last = round.at
      for _, time in ipairs(story.times) do
        if time > round.at then round.pause = math.max(round.pause, time - last) end
        last = time
      end
      round.pause = math.max(round.pause, (story.end_at or now()) - math.max(last, round.at))
    end
  end
  check_counts(round, stories, hosts, wrong)
  return wrong
end

math.randomseed(options.seed)
print(("seed %d, mode %s, %d rounds"):format(options.seed, options.mode, options.rounds))
local pauses, failures, ends = {}, 0, {}
local root = os.tmpname()
os.remove(root)
for i = 1, options.rounds do
  local round = {
    n = options.hosts or math.random(3, 5), rule = rules[math.random(#rules)],
    phase = options.phase or phases[math.random(#phases)], folder = ("%s.%d"):format(root, i), ends = ends,
    between = math.random() < 0.5 and math.random() * 0.5 or 1 + 3 * math.random(),
    seconds = options.seconds or ({ 1, 3, 6 })[math.random(3)],
  }
  round.victims = { math.random(0, round.n - 1) }
  -- With five hosts, kill a second host too: a replica of each key remains.
  if options.mode == "kill" and round.n == 5 and math.random() < 0.5 then
    round.victims[2] = (round.victims[1] + math.random(1, 4)) % 5
  end
  os.execute("mkdir -p " .. round.folder)
  local wrong = judge(round, play(round))
  pauses[round.phase] = pauses[round.phase] or {}
  table.insert(pauses[round.phase], round.pause)
  local more = ""
  if options.mode == "stop" then
    more = (" for %g s"):format(round.seconds)
  elseif #round.victims > 1 then
    more = (" and %.1f s later"):format(round.between)
  end
  local how = ("%s, %s%s, host %s of %d, pause %.2f s"):format(round.rule, round.phase, more,
    table.concat(round.victims, " and "), round.n, round.pause)
  if #wrong > 0 then
    failures = failures + 1
    print(("round %d: %s: %s"):format(i, how, round.folder))
    for k = 1, math.min(#wrong, 6) do print("    " .. wrong[k]) end
  else
    if round.pause > 3 then print(("round %d: %s"):format(i, how)) end
    os.execute("rm -r " .. round.folder)
  end
  io.stdout:flush()
end
for phase, list in pairs(pauses) do
  table.sort(list)
  print(("%-6s %3d rounds, pause: median %.2f s, 95 %% %.2f s, most %.2f s"):format(phase, #list, quantile(list, 0.5),
    quantile(list, 0.95), list[#list]))
end
if options.mode == "stop" then
  local counts = {}
  for _, status in ipairs(ends) do counts[status] = (counts[status] or 0) + 1 end
  for status, count in pairs(counts) do print(("stopped hosts that end with %s: %d"):format(status, count)) end
end
print(("%d of %d rounds wrong"):format(failures, options.rounds))
os.exit(failures == 0 and 0 or 1)
