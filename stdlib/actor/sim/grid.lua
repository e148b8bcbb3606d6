--- Turns the flags of `actorhost sim` into tasks: the varied options, the rules, and all errors detectable
--- before the first run.
local barrier = require("actor.barrier")
local sim = require("actor.sim")
local spelling = require("actor.c.names")
local util = require("actor.util")

local M = {}

local max_tasks = 1e6
local max_nodes = 2 ^ 23 -- host/sim/scenario.hpp
local max_seed = 2 ^ 53 - 1e6 - 1 -- still a whole number with a repeat's number added

-- Flags for the options of sim.run, in the order of the table's header.
local options = {
  "nodes", "time", "work", "seed", "resample", "straggler", "speed", "topology", "delay", "loss", "retry", "service",
  "bytes", "bandwidth", "churn", "failures", "detect", "replay",
}
local numeric = { nodes = true, time = true, seed = true, loss = true, retry = true, bytes = true, bandwidth = true, detect = true }

-- --- values of a sweep ---

-- Splits at commas outside brackets.
local function split(text)
  local parts, depth, start = {}, 0, 1
  for i = 1, #text do
    local letter = text:sub(i, i)
    depth = depth + (letter == "(" and 1 or letter == ")" and -1 or 0)
    if letter == "," and depth == 0 then
      parts[#parts + 1] = text:sub(start, i - 1)
      start = i + 1
    end
  end
  parts[#parts + 1] = text:sub(start)
  return parts
end

-- The values of START:STOP:STEP, including STOP if the step reaches it.
local function range(name, text)
  local start, stop, step = text:match("^([^:]+):([^:]+):([^:]+)$")
  start, stop, step = tonumber(start), tonumber(stop), tonumber(step)
  if not (start and stop and step) then return nil end
  if step == 0 or (stop - start) / step < 0 then
    return nil, ("--sweep %s=%s never gets from %g to %g"):format(name, text, start, stop)
  end
  local count = math.floor((stop - start) / step + 1e-9)
  if count >= max_tasks then return nil, ("--sweep %s=%s has too many values"):format(name, text) end
  local values = {}
  for i = 0, count do values[#values + 1] = tonumber(("%.12g"):format(start + i * step)) end
  return values
end

local function values_of(name, text)
  local values, wrong = range(name, text)
  if values or wrong then return values, wrong end
  values = split(text)
  for i, value in ipairs(values) do
    if value == "" then return nil, ("--sweep %s=%s has an empty value"):format(name, text) end
    values[i] = tonumber(value) or value
  end
  return values
end

local function parse_sweep(text, names)
  local name, list = text:match("^([%w_-]+)=(.+)$")
  if not name then return nil, ("--sweep wants NAME=START:STOP:STEP or NAME=A,B,C, got '%s'"):format(text) end
  local values, wrong = values_of(name, list)
  if not values then return nil, wrong end
  for _, value in ipairs(values) do
    if numeric[name] and type(value) ~= "number" then
      return nil, ("--sweep %s wants numbers, got '%s'"):format(name, value)
    end
  end
  if names[name] then return nil, ("--sweep %s is given twice"):format(name) end
  names[name] = true
  return { name, values }
end

local is_option, can_vary = {}, {}
for _, name in ipairs(options) do
  is_option[name] = true
  if name ~= "replay" then can_vary[#can_vary + 1] = name end
end

-- --- tasks ---

-- The --straggler value at a point. A plain share replaces the share of `given` and retains its factor.
local function straggler_of(value, given)
  if type(value) ~= "number" then return value end
  local factor = given and given:match(":(.*)$") or "3x"
  return ("%.12g:%s"):format(value, factor)
end

-- The rule file that `spec` names, directly or within other rules; or nil and the error in the text.
local function rule_file(spec, resample)
  local found
  local function note(path)
    found = path
    return nil, "not opened yet"
  end
  local fine, message = pcall(barrier.from, spec, { resample = resample, load = note })
  if found or fine then return found end
  return nil, (tostring(message):gsub("^.-(%-?%-?%w+ ')", "%1", 1))
end

local function check_rule(spec, resample)
  local path, message = rule_file(spec, resample)
  if not path then return message end
  local file
  file, message = io.open(path, "rb")
  if not file then return message end
  file:close()
  return nil -- an error inside the file belongs to the rule, not to the command line
end

local function options_at(values, point)
  local out = {}
  if values["no-native"] then out.native = false end
  for _, name in ipairs(options) do out[name] = values[name] end
  for name, value in pairs(point) do
    if is_option[name] then out[name] = value end
  end
  if point.straggler then out.straggler = straggler_of(point.straggler, values.straggler) end
  for _, name in ipairs { "work", "delay", "speed", "service", "churn", "failures" } do
    if out[name] then out[name] = tostring(out[name]) end
  end
  return out
end

-- The training text at a point, or nil and an error.
local function train_at(values, point)
  if not values.train then return nil end
  local train = sim.sweep.spec_at(values.train, point)
  local make, message = sim.train.from(train)
  if not make then return nil, message end
  return train
end

-- The error of a whole-number flag or sweep value, or nil.
local function wrong_whole(name, value, least, most)
  if value and not (value >= least and value <= most and value % 1 == 0) then
    return ("%s has to be from %.0f to %.0f and whole, got %.14g"):format(name, least, most, value)
  end
end

local function add_tasks(tasks, values, barriers, point)
  local at = options_at(values, point)
  local wrong = wrong_whole("nodes", at.nodes, 1, max_nodes) or wrong_whole("seed", at.seed, 0, max_seed)
  if wrong then return wrong end
  local scenario, message = sim.scenario(at)
  if not scenario then return message end
  local train
  train, message = train_at(values, point)
  if message then return message end
  for _, template in ipairs(barriers) do
    local spec = sim.sweep.spec_at(template, point)
    message = check_rule(spec, values.resample)
    if message then return message end
    for repeat_ = 1, values["repeat"] do
      tasks[#tasks + 1] = {
        index = #tasks + 1, barrier = spec, series = template, repeat_ = repeat_, varied = point, train = train,
        options = util.merged(at, { barrier = spec, seed = at.seed + repeat_ - 1 }),
      }
    end
  end
end

local placeholder = "{([%w_-]+)}" -- replaced by sweep.spec_at

local function nothing_to_vary(name)
  return ("--sweep %s: there is no such flag, and no {%s} in a rule or in --train%s. These can vary: %s; and each "
    .. "{NAME} in a rule (pbsp:{beta}) or in --train ('linear rate={rate}')"):format(name,
    name, spelling.suggestion(name, options), table.concat(can_vary, ", "))
end

local function sweeps_of(values, barriers)
  local vary, names = {}, {}
  for _, text in ipairs(values.sweep or {}) do
    local one, wrong = parse_sweep(text, names)
    if not one then return nil, wrong end
    vary[#vary + 1] = one
  end
  local rules, train = table.concat(barriers, " "), values.train or ""
  for _, one in ipairs(vary) do
    local name = one[1]
    if not is_option[name] and not (rules .. train):find("{" .. name .. "}", 1, true) then return nil, nothing_to_vary(name) end
  end
  for name in rules:gmatch(placeholder) do
    if not names[name] then return nil, ("the rule's {%s} needs --sweep %s=VALUES"):format(name, name) end
  end
  for name in train:gmatch(placeholder) do
    if not names[name] then return nil, ("the {%s} of --train needs --sweep %s=VALUES"):format(name, name) end
  end
  return vary
end

---Adds the defaults that depend on other flags: a replay provides nodes, time and work.
---@param values table<string, any>
function M.fill(values)
  values["repeat"] = values["repeat"] or 1
  if values.replay then return end
  values.nodes, values.time = values.nodes or 100, values.time or 200
  values.work = values.work or sim.default_work
end

-- Flags without effect in a replay, since the recording determines these values.
local of_a_scenario = {
  "nodes", "work", "speed", "straggler", "topology", "delay", "loss", "retry", "service", "bytes", "bandwidth", "churn",
  "failures", "detect",
}

local function first_double(list)
  local seen = {}
  for _, value in ipairs(list) do
    if seen[value] then return value end
    seen[value] = true
  end
end

local function swept(vary, name)
  for _, one in ipairs(vary) do
    if one[1] == name then return one[2] end
  end
end

-- Finds a flag of parameter servers in a topology without servers.
local function serverless(values, vary)
  for _, topology in ipairs(swept(vary, "topology") or { values.topology }) do
    if tostring(topology):match("^server") then return nil end
  end
  for _, name in ipairs { "service", "bytes", "bandwidth" } do
    if values[name] or swept(vary, name) then
      return ("--%s sets a property of parameter servers: give --topology server:SHARDS with it"):format(name)
    end
  end
end

-- Finds combinations of flags that would run with a misleading result.
local function misleading(values, barriers, vary)
  local double = first_double(barriers)
  if double then return ("the rule %s is given twice: copies are no repeats"):format(double) end
  for _, one in ipairs(vary) do
    double = first_double(one[2])
    if double then return ("--sweep %s has %s twice: copies are no repeats"):format(one[1], tostring(double)) end
  end
  for _, name in ipairs(values.replay and of_a_scenario or {}) do
    if swept(vary, name) or values[name] ~= nil then return ("--replay brings its own nodes, work and network: --%s cannot be used with it"):format(name) end
  end
  return serverless(values, vary)
end

---Returns the error in --repeat or --seed, or nil.
---@param values table<string, any>
---@return string?
function M.wrong_seeds(values)
  if values["repeat"] and values["repeat"] < 1 then return "--repeat wants a number of at least 1" end
  if values.seed % 1 ~= 0 or values.seed < 0 or values.seed > max_seed then
    return ("--seed wants a whole number from 0 to %d"):format(max_seed)
  end
end

---Makes the sweep from the flags, or returns nil and an error.
---@param values table<string, any> of scripts/sim.lua
---@param barriers string[]
---@return {tasks: actor.sim.Task[], names: string[], values: (string|number)[]}? sweep names of the varied options, and the values of the first
---@return string? message
function M.sweep(values, barriers)
  M.fill(values)
  local wrong = M.wrong_seeds(values)
  if wrong then return nil, wrong end
  if not (values.confidence > 0 and values.confidence < 1) then
    return nil, "--confidence wants a number between 0 and 1"
  end
  local vary
  vary, wrong = sweeps_of(values, barriers)
  if not vary then return nil, wrong end
  wrong = misleading(values, barriers, vary)
  if wrong then return nil, wrong end
  local names, count = {}, values["repeat"] * #barriers
  for i, one in ipairs(vary) do
    names[i] = one[1]
    count = count * #one[2]
  end
  if count > max_tasks then return nil, ("the sweep has %.0f runs; at most %.0f are possible"):format(count, max_tasks) end
  local tasks = {}
  for _, point in ipairs(sim.sweep.points(vary)) do
    wrong = add_tasks(tasks, values, barriers, point)
    if wrong then return nil, wrong end
  end
  return { tasks = tasks, names = names, values = vary[1] and vary[1][2] or {} }
end

---Lists the files that determine the rows: of rules and their modules, a trace, a model.
---@param values table<string, any>
---@param barriers string[]
---@return string[]
function M.files(values, barriers)
  local out, known = {}, {}
  local function add(path)
    if path and not known[path] then known[path], out[#out + 1] = true, path end
  end
  for _, spec in ipairs(barriers) do add(rule_file((spec:gsub("{[%w_-]+}", "1")), values.resample)) end
  for i = 1, #out do
    for _, module in ipairs(sim.modules.of(out[i])) do add(module) end
  end
  out[#out + 1] = values.replay and (values.replay:match("^(.*)#%d+$") or values.replay)
  for path in tostring(values.work or ""):gmatch("trace%((.-)%)") do out[#out + 1] = path end
  out[#out + 1] = (values.train or ""):match("^%s*(%S+%.lua)%f[%s%z]")
  return out
end

---Returns the header of a table: the flags that determine the rows.
---@param values table<string, any>
---@param barriers string[]
---@return string[]
function M.configuration(values, barriers)
  local out = { "actorhost sim " .. require("actor").version, "barrier=" .. table.concat(barriers, ",") }
  for _, name in ipairs(options) do
    if values[name] ~= nil then out[#out + 1] = name .. "=" .. tostring(values[name]) end
  end
  out[#out + 1] = "repeat=" .. values["repeat"]
  for _, text in ipairs(values.sweep or {}) do out[#out + 1] = "sweep=" .. text end
  if values["no-native"] then out[#out + 1] = "native=false" end
  if values.train then out[#out + 1] = "train=" .. values.train end
  for _, path in ipairs(M.files(values, barriers)) do
    local text = util.read(path)
    if text then out[#out + 1] = ("file=%s %s"):format(path, require("actor.codec").hash(text)) end
  end
  return out
end

return M
