-- actorhost rehearse --seeds A:B [-j N] [--shrink] [flags] job.lua: rehearses a job with many seeds, each in a process
-- of its own. Prints each failure with the command that repeats it, and with --shrink a smaller rehearsal that fails in
-- the same way. main.cpp has parsed the flags; the arguments are the job, the flags of the search, then all words.
local actor = require("actor")
local command = require("actor.c.command")

local job, first, last, jobs, shrinks, codes = unpack(actor.args, 1, 6)
first, last, jobs = tonumber(first), tonumber(last), tonumber(jobs)

-- The words of one rehearsal: the flags before the job without those of the search, and the job with its arguments.
local flags, behind = {}, {}
do
  local words = { unpack(actor.args, 7) }
  local i = 1
  while words[i] ~= job do
    local word = words[i]
    if word == "--seeds" or word == "-j" or word == "--codes" then
      i = i + 1
    elseif not word:find("^%-%-seeds=") and not word:find("^%-j%d") and not word:find("^%-%-codes=") and word ~= "--shrink" then
      flags[#flags + 1] = word
    end
    i = i + 1
  end
  for k = i, #words do behind[#behind + 1] = words[k] end
end

-- Removes a flag and its value from words.
local function without(words, flag)
  local out, i = {}, 1
  while i <= #words do
    if words[i] == flag then
      i = i + 1
    elseif words[i]:sub(1, #flag + 1) ~= flag .. "=" then
      out[#out + 1] = words[i]
    end
    i = i + 1
  end
  return out
end

local function value_of(words, flag)
  for i, word in ipairs(words) do
    if word == flag then return words[i + 1] end
    if word:sub(1, #flag + 1) == flag .. "=" then return word:sub(#flag + 2) end
  end
end

-- With --seed the job has one seed, and only the order of events varies.
local seed_flag = value_of(flags, "--seed") and "--order" or "--seed"

local function quoted(word) return word:find("^[%w_./:=,@%%+-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'" end

local function command_of(words)
  local out = { "actorhost" }
  for _, word in ipairs(words) do out[#out + 1] = quoted(word) end
  return table.concat(out, " ")
end

local function joined(...)
  local out = {}
  for _, words in ipairs { ... } do
    for _, word in ipairs(words) do out[#out + 1] = word end
  end
  return out
end

-- --- running ---

local success = {}
for code in codes:gmatch("%d+") do success["exit code " .. code] = true end

local function text_of(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- Runs the rehearsals on up to `jobs` processes. Each of `tasks` has its `words`, and gets `how` it ended, its `output`
-- and whether it `failed`. Calls `on_end` in the order of the tasks; a true result starts no further rehearsal.
local function run_all(tasks, on_end)
  local started, reported, stopped, doing = 0, 0, false, {}
  local function start()
    if stopped or started == #tasks then return end
    started = started + 1
    local task = tasks[started]
    task.file = os.tmpname()
    doing[command.spawn(task.words, task.file)] = task
  end
  for _ = 1, jobs do start() end
  while next(doing) do
    local worker, _, how = command.receive()
    local task = doing[worker]
    doing[worker] = nil
    task.how, task.output, task.failed = how, text_of(task.file), not success[how]
    os.remove(task.file)
    while tasks[reported + 1] and tasks[reported + 1].how do
      reported = reported + 1
      if not stopped then stopped = on_end(tasks[reported]) or false end
    end
    start()
  end
end

-- The first error of a rehearsal, or its last line: other hosts then stop because of it. The message of a host that has
-- lost the cluster explains the exit code 3 only.
local function error_of(task)
  local last = ""
  for line in task.output:gmatch("[^\n]+") do
    local own = line:match("^actorhost: (.*)")
    local about = own and (own:find("^fault at") or own:find("^rehearsed")
      or task.how ~= "exit code 3" and own:find("^host %d+: lost "))
    if own and not about and not own:find("stopped, because", 1, true) then return own end
    if not about and not line:find("^%s") then last = own or line end
  end
  return last
end

-- How a rehearsal failed, without numbers: two failures with one description are alike.
local function kind_of(task) return task.how .. error_of(task):gsub("%d+", "#") end

-- --- the smallest rehearsal that fails ---

local Shrinking = {}
Shrinking.__index = Shrinking

-- Writes a list of faults as a file for --faults.
local function write_faults(path, faults)
  local file = assert(io.open(path, "w"))
  file:write("return function(world)\n", faults.before, table.concat(faults), "end\n")
  file:close()
end

function Shrinking:words(change)
  local hosts, args, faults = change.hosts or self.hosts, change.args or self.args, change.faults or self.faults
  local words = without(without(without(joined({ "rehearse" }, flags), "--faults"), "--churn"), "--hosts")
  if faults then words = joined(words, { "--faults", self.path }) end
  return joined(words, { "--hosts", tostring(hosts), seed_flag, tostring(self.seed), job }, args), faults
end

-- Keeps a change if the rehearsal fails in the same way with it.
function Shrinking:try(change)
  local words, faults = self:words(change)
  if faults then write_faults(self.path, faults) end
  local same = false
  run_all({ { words = words } }, function(task) same = task.failed and kind_of(task) == self.kind end)
  self.runs = self.runs + 1
  self.bar:update(0, ("%d rehearsals, %d faults, %d hosts"):format(self.runs, #(self.faults or {}), self.hosts))
  if same then self.hosts, self.args, self.faults = change.hosts or self.hosts, change.args or self.args, faults end
  return same
end

-- Removes faults: first halves, then ever smaller parts.
function Shrinking:fewer_faults()
  local size = math.ceil(#self.faults / 2)
  while size >= 1 and #self.faults > 0 do
    local at = 1
    while at <= #self.faults do
      local rest = { before = self.faults.before }
      for i, fault in ipairs(self.faults) do
        if i < at or i >= at + size then rest[#rest + 1] = fault end
      end
      if not self:try { faults = rest } then at = at + size end
    end
    size = size == 1 and 0 or math.ceil(size / 2)
  end
end

function Shrinking:fewer_hosts()
  for hosts = 1, self.hosts - 1 do
    if self:try { hosts = hosts } then return end
  end
end

-- Halves the whole numbers among the job's arguments, such as numbers of steps.
function Shrinking:smaller_arguments()
  for i, word in ipairs(self.args) do
    local head, number = word:match("^(.-=?)(%d+)$")
    number = (head == "" or (head or ""):find("=$")) and tonumber(number)
    while number and number > 1 do
      number = math.floor(number / 2)
      local args = { unpack(self.args) }
      args[i] = ("%s%d"):format(head, number)
      if not self:try { args = args } then break end
    end
  end
end

-- The faults that a failed rehearsal had, from the file of --save-faults: a line each, and the line `before` them.
local function faults_of(task)
  local path, faults = os.tmpname(), { before = "" }
  run_all({ { words = joined({ "rehearse", "--save-faults", path }, { unpack(task.words, 2) }) } }, function() end)
  for line in text_of(path):gmatch("[^\n]+\n") do
    if line:find("world:restart", 1, true) then faults.before = line end
    if line:find("world:at", 1, true) then faults[#faults + 1] = line end
  end
  os.remove(path)
  return #faults > 0 and faults or nil
end

local function shrink(task)
  local self = setmetatable({
    seed = task.seed, kind = kind_of(task), hosts = tonumber(value_of(flags, "--hosts") or 3), args = { unpack(behind, 2) },
    faults = faults_of(task), runs = 0, path = ("faults-%d.lua"):format(task.seed),
    bar = require("actor.progress").new { total = 1, label = "shrinking" },
  }, Shrinking)
  local before = self.faults and #self.faults or 0
  if self.faults and not self:try {} then
    self.bar:finish()
    os.remove(self.path)
    print(("seed %d: the rehearsal does not fail with its %d faults at fixed times, so it cannot be shrunk"):format(task.seed, before))
    return
  end
  if self.faults then self:fewer_faults() end
  self:fewer_hosts()
  self:smaller_arguments()
  local words, faults = self:words {}
  if faults then write_faults(self.path, faults) end
  self.bar:finish()
  print(("seed %d: fails with %d of %d faults on %d hosts (%d rehearsals tried):\n    %s"):format(task.seed,
    faults and #faults or 0, before, self.hosts, self.runs, command_of(words)))
end

-- --- the search ---

local function main()
  local tasks, failures = {}, {}
  for seed = first, last do
    tasks[#tasks + 1] = { seed = seed, words = joined({ "rehearse" }, flags, { seed_flag, ("%d"):format(seed) }, behind) }
  end
  local began = actor.now()
  local bar = require("actor.progress").new { total = #tasks, label = "rehearse" }
  local done, unusable = 0, nil
  run_all(tasks, function(task)
    if task.how == "exit code 2" and not success[task.how] then -- no job, for instance: the same with each seed
      unusable = error_of(task)
      return true
    end
    done = done + 1
    if task.failed then
      failures[#failures + 1] = task
      command.status("")
      print(("seed %d ended with %s: %s\n    %s"):format(task.seed, task.how, error_of(task), command_of(task.words)))
    end
    if not task.failed then task.output = nil end
    bar:update(done, #failures == 0 and "no failure" or ("%d failed"):format(#failures))
  end)
  bar:finish()
  if unusable then
    command.err("actorhost: " .. unusable)
    return 2
  end
  print(("%d seeds, %d failed, %.1f s"):format(done, #failures, actor.now() - began))
  if shrinks == "shrink" and failures[1] then shrink(failures[1]) end
  return #failures == 0 and 0 or 1
end

return main()
