-- Checks histories of peers on real hosts. Each round runs a job (peer_history.lua) on hosts in network namespaces,
-- injects faults at random moments, and checks the reads of each worker (history_check.lua) and the exit codes of the
-- hosts. Needs root, unshare and ip. Run it in the root of the tree.
-- Usage: luajit tests/bench/peer_histories.lua PROGRAM [--rounds 20] [--seed N]
--        [--fault cut|halves|pair|oneway|kill|mixed|none] [--job registers|counting] [--value small|spread]
--        [--replicas 1..3] [--hosts 3..5] [--nodes 1|2] [--rule NAME] [--pull native|lua] [--phase start|steps|end]
--        [--seconds of a cut] [--log-level L]
-- The seed and the options determine a round: round i has seed N + i - 1.
package.path = "tests/bench/?.lua;" .. package.path
local processes = require "host_processes"
local history_check = require "history_check"
local Host, now, text_of, wait_until = processes.Host, processes.now, processes.text_of, processes.wait_until

local program = assert(arg[1], "peer_histories.lua PROGRAM [--OPTION VALUE ...]")
local options = processes.options(arg, 2, { rounds = 20, seed = os.time(), ["log-level"] = "info" })
local patience = 60 -- the limit for the end of each host, in seconds after the last fault
local most_late = 0.5 -- the limit for the delay of a sleep, in seconds. A round with longer delays has no judged times
local folder = options.folder

-- ---- plans ----

local function any_of(list) return list[math.random(#list)] end
local function between(least, most) return least + (most - least) * math.random() end

-- Cuts each direction of each link between `some` hosts and the `others`, except a direction given as false.
local function cut_links(round, some, others, there, back)
  local links = {}
  for _, i in ipairs(some) do
    for _, j in ipairs(others) do
      if there then links[#links + 1] = { i, j } end
      if back then links[#links + 1] = { j, i } end
    end
  end
  round.links = links
  round.cut_for = any_of { between(0.5, 4), between(4, 8), between(8, 20) }
  -- A late host is on the side of the others.
  round.cut_late = function(late)
    for _, i in ipairs(#some + #others == round.n and some or {}) do
      if there then links[#links + 1] = { i, late } end
      if back then links[#links + 1] = { late, i } end
    end
  end
end

-- The hosts in random order.
local function shuffled(n)
  local order = {}
  for i = 0, n - 1 do table.insert(order, math.random(#order + 1), i) end
  return order
end

local function split(order, count)
  local some, others = {}, {}
  for i, host in ipairs(order) do table.insert(i <= count and some or others, host) end
  return some, others
end

local function kill(round, candidates, count)
  local gap = any_of { 0, between(0, 0.5), between(0.5, 3) }
  for i = 1, math.min(count, #candidates, round.n - 1) do round.kills[i] = { host = candidates[i], after = gap * (i - 1) } end
end

local kinds = {}

function kinds.none() end

function kinds.cut(round, order)
  local some, others = split(order, 1)
  cut_links(round, some, others, true, true)
  round.cut_off = some
  round.story = ("cut host %d"):format(some[1])
end

function kinds.halves(round, order)
  local some, others = split(order, math.floor(#order / 2))
  cut_links(round, some, others, true, true)
  round.cut_off = some
  round.story = ("cut hosts %s"):format(table.concat(some, " and "))
end

function kinds.pair(round, order)
  cut_links(round, { order[1] }, { order[2] }, true, true)
  round.story = ("cut %d - %d"):format(order[1], order[2])
end

function kinds.oneway(round, order)
  local some, others = split(order, 1)
  local how = any_of { "pair", "mute", "deaf" }
  round.one_host = how ~= "pair"
  cut_links(round, some, how == "pair" and { others[1] } or others, how ~= "deaf", how == "deaf")
  round.story = how == "pair" and ("cut %d -> %d"):format(some[1], others[1]) or ("%s host %d"):format(how, some[1])
end

function kinds.kill(round, order) kill(round, order, math.random(1, 3) < 3 and 1 or math.random(2, 3)) end

function kinds.mixed(round, order)
  local link = any_of { "cut", "pair", "oneway", "none" }
  if link ~= "none" then kinds[link](round, order) end
  if math.random() < 0.5 then kill(round, { order[#order] }, 1) end
  if math.random() < 0.6 then round.join = between(-0.5, 1) * (round.cut_for or 1) end
  if round.join and round.links then round.cut_late(round.n) end
  if math.random() < 0.6 then round.leave = { host = any_of(order), after = between(-0.3, 1) * (round.cut_for or 1) } end
end

local mix = { "cut", "cut", "cut", "halves", "pair", "pair", "oneway", "oneway", "kill", "kill", "mixed", "mixed", "mixed",
  "none" }

local function plan()
  math.randomseed(options.seed)
  for _ = 1, 10 do math.random() end
  local round = {
    kind = any_of(mix), n = math.random(3, 5), nodes = any_of { 1, 1, 2 }, replicas = any_of { 1, 2, 3, 3 },
    rule = any_of { "bsp", "asp", "ssp:3", "pbsp:2@sticky" }, job = any_of { "registers", "counting" },
    value = any_of { "small", "small", "spread" }, pull = any_of { "native", "native", "lua" },
    phase = any_of { "start", "steps", "steps", "steps", "end" }, kills = {}, story = "",
  }
  for name, option in pairs { fault = "kind", hosts = "n", nodes = "nodes", replicas = "replicas", rule = "rule",
    job = "job", value = "value", pull = "pull", phase = "phase" } do
    round[option] = options[name] or round[option]
  end
  local order = shuffled(round.n)
  kinds[round.kind](round, order)
  round.cut_for = round.cut_for and options.seconds or round.cut_for
  if round.job == "counting" then round.leave = nil end -- a worker cannot leave in a run
  if round.cut_for then round.story = round.story .. (" for %.1f s"):format(round.cut_for) end
  for _, victim in ipairs(round.kills) do
    round.story = round.story .. (" kill %d at %.1f s"):format(victim.host, victim.after)
  end
  if round.join then round.story = round.story .. (" join at %.1f s"):format(round.join) end
  if round.leave then round.story = round.story .. (" %d leaves at %.1f s"):format(round.leave.host, round.leave.after) end
  round.before = round.phase == "start" and between(0, 0.5) or between(0.5, 2.5)
  round.stop_after = round.phase == "end" and between(-0.3, 0.3) or between(2, 5)
  return round
end

-- ---- networks ----

local function address(host) return ("10.9.0.%d"):format(host + 1) end

local function shell(lines, purpose) assert(os.execute(table.concat(lines, "\n")) == 0, "cannot " .. purpose) end

-- Sets the link address that host i uses for host j, and reads it back. Frames to an address without an interface are
-- lost without an error.
local function neighbour(i, j, lost)
  local mac = ("02:00:00:00:%s:%02x"):format(lost and "ff" or "00", j)
  return ("ip -n host%d neigh replace %s lladdr %s dev eth0 nud permanent && ip -n host%d neigh show to %s | grep -q %s"):format(
    i, address(j), mac, i, address(j), mac)
end

local function make_network(n)
  local lines = { "set -e", "mount -t tmpfs none /run", "ip link add name hub type bridge", "ip link set hub up" }
  for i = 0, n - 1 do
    for line in ([[
ip netns add hostI
ip link add portI type veth peer name eth0 address 02:00:00:00:00:0I netns hostI
ip link set portI master hub up
ip -n hostI address add ADDRESS/24 dev eth0
ip -n hostI link set lo up
ip -n hostI link set eth0 up]]):gsub("ADDRESS", address(i)):gsub("I", i):gmatch("[^\n]+") do lines[#lines + 1] = line end
  end
  for i = 0, n - 1 do
    for j = 0, n - 1 do if i ~= j then lines[#lines + 1] = neighbour(i, j, false) end end
  end
  shell(lines, "create the network")
end

local function set_links(links, lost)
  local lines = {}
  for k, link in ipairs(links) do lines[k] = "(" .. neighbour(link[1], link[2], lost) .. ') & all="$all $!"' end
  lines[#lines + 1] = 'for one in $all; do wait "$one" || exit 1; done'
  shell(lines, "change a link")
end

-- ---- a round ----

-- Records a failure that does not concern values. It counts only if the machine was not too busy.
local function complain_of_time(round, text) table.insert(round.late, text) end

local function touch(name)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:close()
end

local function start_host(round, i)
  local endpoints = {}
  for k = 0, round.join and round.n - 1 or 0 do endpoints[#endpoints + 1] = address(k) .. ":29500" end
  local nnodes = round.join and ("%d:%d"):format(round.n, round.n + 1) or tostring(round.n)
  local words = {
    "ip", "netns", "exec", "host" .. i, program, "-n", tostring(round.nodes), "--nnodes", nnodes, "--rdzv-endpoint",
    table.concat(endpoints, ","), "--replicas", tostring(round.replicas), "--log-level", options["log-level"], "--no-progress",
    "--start-timeout", tostring(patience - 10), -- the run may be over when a late joiner starts
    "tests/bench/peer_history.lua", folder, round.job, round.value,
  }
  if round.job == "registers" then
    words[#words + 1] = tostring(math.min(round.n * round.nodes, round.value == "spread" and 3 or 6))
  else
    words[#words + 1], words[#words + 2] = round.pull, round.rule
  end
  return Host.start(folder, i, words, { HISTORY_HOST = tostring(i) })
end

local function wait_for_peers(round)
  local function all()
    for id = 0, round.n * round.nodes - 1 do
      if not text_of(("%s/%d"):format(folder, id)):match("peer [%d.]+\n") then return false end
    end
    return true
  end
  return wait_until(all, now() + 60)
end

-- The events of a round and their times, in seconds from the first fault.
local function timeline(round, hosts)
  local events = {}
  local last = 0
  local function at(seconds, act)
    events[#events + 1] = { at = round.before + seconds, act = act }
    last = math.max(last, seconds)
  end
  if round.links then
    at(0, function() set_links(round.links, true) end)
    at(round.cut_for, function() set_links(round.links, false) end)
  end
  for _, victim in ipairs(round.kills) do
    at(victim.after, function()
      hosts[victim.host]:signal(processes.signals.kill)
      victim.at = now()
    end)
  end
  if round.join then at(math.max(round.join, -round.before), function() hosts[round.n] = start_host(round, round.n) end) end
  if round.leave then at(math.max(round.leave.after, -round.before), function() touch("leave." .. round.leave.host) end) end
  round.over = round.before + last
  local stop = round.phase == "end" and math.max(0, round.before + round.stop_after) or round.over + round.stop_after
  events[#events + 1] = { at = stop, act = function() touch("stop") end }
  round.over = math.max(round.over, stop)
  table.sort(events, function(a, b) return a.at < b.at end)
  return events
end

local function play(round)
  make_network(round.n + 1)
  local hosts = {}
  for i = 0, round.n - 1 do
    hosts[i] = start_host(round, i)
    if i == 0 then wait_until(function() return text_of(hosts[0].log):match("seed %d") end, now() + 20) end
  end
  if not wait_for_peers(round) then
    complain_of_time(round, "the hosts have not started")
    for _, host in pairs(hosts) do host:signal(processes.signals.kill) end
    return hosts
  end
  local begin = now()
  round.at = begin + round.before
  local function all_ended()
    local all = true
    for _, host in pairs(hosts) do all = host:ended() and all end -- polls each host, to record when it has ended
    return all
  end
  for _, event in ipairs(timeline(round, hosts)) do
    wait_until(function() return all_ended() and false end, begin + event.at)
    event.act()
  end
  wait_until(all_ended, begin + round.over + patience)
  for i, host in pairs(hosts) do
    if not host:ended() then
      complain_of_time(round, ("host %d has not ended %d s after the last fault"):format(i, patience))
      host:signal(processes.signals.kill)
    end
  end
  wait_until(all_ended, now() + 5)
  round.took = now() - begin
  return hosts
end

-- ---- how hosts end ----

-- Hosts that a fault affects; these may end with 3. Other hosts may not, if they form a majority.
local function faulty_hosts(round)
  local faulty, ends = {}, {}
  for _, victim in ipairs(round.kills) do faulty[victim.host] = "killed" end
  for _, link in ipairs(round.links or {}) do
    for _, host in ipairs(link) do ends[host] = (ends[host] or 0) + 1 end
  end
  if round.cut_off then
    for _, host in ipairs(round.cut_off) do faulty[host] = faulty[host] or "cut off" end
  else
    -- The host with the most cut links; both hosts if there is a single cut link.
    local most = 0
    for _, count in pairs(ends) do most = math.max(most, count) end
    for host, count in pairs(ends) do if count == most then faulty[host] = faulty[host] or "touched" end end
  end
  return faulty
end

-- Whether hosts without a fault have a majority of the counted hosts, both with and without the departing host.
local function majority_continues(round, faulty)
  local sound, counted = 0, 0
  for i = 0, round.n - 1 do
    if not faulty[i] then sound = sound + 1 end
    if faulty[i] ~= "killed" then counted = counted + 1 end
  end
  -- Of two hosts with one cut link between them, one continues.
  if round.links and #round.links <= 2 and not round.cut_off and not round.one_host then sound = sound + 1 end
  local leaver = round.leave and round.leave.host
  local without = leaver and not faulty[leaver] and 1 or 0
  local joined = round.join and 1 or 0
  return 2 * (sound - without) > counted - (leaver and faulty[leaver] ~= "killed" and 1 or 0) + joined
end

local function check_ends(round, hosts)
  local faulty = faulty_hosts(round)
  round.faulty, round.sound_continues = faulty, majority_continues(round, faulty)
  round.lost_hosts = 0
  for i, host in pairs(hosts) do
    local ended = host.status == 128 + processes.signals.kill or host.status == 3
    if faulty[i] and ended then round.lost_hosts = round.lost_hosts + 1 end
  end
  -- TCP doubles its pauses between attempts, so a partition may cause a silence of over twice its length.
  local short = not round.cut_for or round.cut_for <= 1.5
  local zeros = { [true] = 0, [false] = 0 }
  for i, host in pairs(hosts) do
    local wanted
    if faulty[i] == "killed" then
      wanted = { [137] = true, [0] = round.phase == "end" }
    elseif i == round.n then
      wanted = { [0] = true, [3] = true, [1] = true }
    elseif round.sound_continues and (not faulty[i] or (short and #round.kills == 0)) then
      wanted = { [0] = true }
    elseif round.sound_continues and faulty[i] == "cut off" and round.cut_for >= 6 and round.phase ~= "end" then
      wanted = { [3] = true }
    else
      wanted = { [0] = true, [3] = true }
    end
    if round.lost_hosts >= round.replicas then wanted[1], wanted[3] = true, wanted[3] or round.value == "spread" end -- lost keys or parts
    if host.status and not wanted[host.status] then
      complain_of_time(round, ("host %d ends with %d"):format(i, host.status))
    end
    if host.status == 0 and faulty[i] ~= "killed" then zeros[faulty[i] == nil] = zeros[faulty[i] == nil] + 1 end
  end
  if round.cut_off and round.cut_for >= 6 and round.phase ~= "end" and zeros[true] > 0 and zeros[false] > 0
    and round.sound_continues then
    round.wrong[#round.wrong + 1] = "both sides of the cut end with 0"
  end
end

local function codes(hosts)
  local list = {}
  for i = 0, #hosts do list[#list + 1] = tostring(hosts[i].status or "none") end
  return table.concat(list, " ")
end

local function command(seed)
  local words = { "luajit tests/bench/peer_histories.lua", program }
  for name, value in pairs(options) do
    if name ~= "rounds" and name ~= "seed" and name ~= "folder" then words[#words + 1] = ("--%s %s"):format(name, value) end
  end
  words[#words + 1] = ("--rounds 1 --seed %d"):format(seed)
  return table.concat(words, " ")
end

local function verdict(round)
  if #round.wrong > 0 then return "WRONG" end
  return #round.late > 0 and "not judged, the machine was busy" or "right"
end

local function report(round, hosts)
  print(("seed %d: %s%s, %d x %d nodes, %d replicas, %s %s, %s, %s: ends %s, pause %.1f s, took %.1f s, late %.2f s%s: %s"):format(
    options.seed, round.kind, round.story ~= "" and " (" .. round.story:gsub("^ ", "") .. ")" or "", round.n, round.nodes,
    round.replicas, round.job, round.value,
    round.job == "counting" and round.pull .. " " .. round.rule or "no rule", round.phase, codes(hosts), round.pause,
    round.took or 0, processes.latest, round.lost > 0 and (", %d reads after all replicas were lost"):format(round.lost) or "",
    verdict(round)))
  for k = 1, math.min(#round.wrong, 8) do print("    " .. round.wrong[k]) end
  if #round.wrong > 8 then print(("    and %d more"):format(#round.wrong - 8)) end
  if #round.wrong + #round.late > 0 then print("    files: " .. folder .. "; again: " .. command(options.seed)) end
  print(("#%s %d %d %d %.2f %d"):format(round.kind, #round.wrong > 0 and 1 or 0,
    #round.wrong == 0 and #round.late > 0 and 1 or 0, round.lost > 0 and 1 or 0, round.pause,
    round.operations))
end

local function play_round()
  local round = plan()
  round.wrong, round.late, round.lost, round.pause, round.operations = {}, {}, 0, 0, 0
  local hosts = play(round)
  if round.at then
    check_ends(round, hosts)
    history_check(folder, round, hosts, complain_of_time)
  end
  if processes.latest < most_late then
    for _, text in ipairs(round.late) do table.insert(round.wrong, text) end
  end
  report(round, hosts)
end

-- ---- all rounds ----

-- Runs one round in separate namespaces, which end all its processes with it.
local function run_round(seed)
  local made = assert(io.popen("mktemp -d -t histories.XXXXXX"))
  local round_folder = made:read("*l")
  made:close()
  -- A search for leaks cannot stop threads in fresh namespaces.
  local words = {
    'ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"', "unshare --net --mount --pid --fork --kill-child luajit", arg[0], program,
  }
  for name, value in pairs(options) do
    if name ~= "seed" then words[#words + 1] = ("--%s '%s'"):format(name, value) end
  end
  words[#words + 1] = ("--seed %d --folder %s 2>&1"):format(seed, round_folder)
  local result
  local pipe = assert(io.popen(table.concat(words, " ")))
  for line in pipe:lines() do
    local kind, wrong, late, lost, pause, operations = line:match("^#(%a+) (%d) (%d) (%d) ([%d.]+) (%d+)$")
    if kind then
      result = { kind = kind, wrong = tonumber(wrong), late = tonumber(late), lost = tonumber(lost), pause = tonumber(pause),
        operations = tonumber(operations) }
    else
      print(line)
    end
  end
  pipe:close()
  if not result then print("    the round has failed; files: " .. round_folder) end
  if result and result.wrong + result.late == 0 then os.execute("rm -r " .. round_folder) end
  io.stdout:flush()
  return result or { kind = "failed", wrong = 1, late = 0, lost = 0, pause = 0, operations = 0 }
end

local function run_rounds()
  local by_kind, order, wrong = {}, {}, 0
  for i = 1, options.rounds do
    local result = run_round(options.seed + i - 1)
    local all = by_kind[result.kind]
    if not all then
      all = { rounds = 0, wrong = 0, late = 0, lost = 0, pauses = {}, operations = 0 }
      by_kind[result.kind], order[#order + 1] = all, result.kind
    end
    all.rounds, all.wrong, all.lost = all.rounds + 1, all.wrong + result.wrong, all.lost + result.lost
    all.late, all.operations = all.late + result.late, all.operations + result.operations
    if result.late == 0 then table.insert(all.pauses, result.pause) end
    wrong = wrong + result.wrong
  end
  table.sort(order)
  print("fault   rounds wrong not judged all copies lost operations  pause: median, longest")
  for _, kind in ipairs(order) do
    local all = by_kind[kind]
    table.sort(all.pauses)
    print(("%-7s %6d %5d %10d %15d %10d  %.1f s, %.1f s"):format(kind, all.rounds, all.wrong, all.late, all.lost,
      all.operations, processes.quantile(all.pauses, 0.5) or 0, all.pauses[#all.pauses] or 0))
  end
  print(("%d of %d rounds wrong"):format(wrong, options.rounds))
  os.exit(wrong == 0 and 0 or 1)
end

if folder then play_round() else run_rounds() end
