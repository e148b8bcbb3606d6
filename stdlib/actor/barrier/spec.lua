--- Rules as text: `ssp:4`, `pbsp:10@sticky`, `rule.lua:halfway`. See barrier.from.
local check = require("actor.check")
local rules = require("actor.barrier.rule")

local M = {}

-- The parameters of each rule; the number is how many must be given.
local grammar = {
  bsp = { 0 },
  asp = { 0 },
  ssp = { 1, "s" },
  pbsp = { 1, "beta", samples = true },
  pssp = { 2, "beta", "s", samples = true },
  quorum = { 1, "fraction", "s" },
  backup = { 1, "k" },
}

local function fail(spec, message, ...)
  check.fail("barrier '%s': %s", spec, message:format(...))
end

-- --- names ---

local function usage(name)
  local text = name
  for i = 2, #grammar[name] do
    local parameter = ":" .. grammar[name][i]:upper()
    text = text .. (i - 1 > grammar[name][1] and "[" .. parameter .. "]" or parameter)
  end
  return text
end

local function known()
  local names = {}
  for name in pairs(grammar) do names[#names + 1] = usage(name) end
  table.sort(names)
  return table.concat(names, ", ") .. ", or a file rule.lua[:name]"
end

-- How many letters have to be changed, added or taken away to make one word of the other (Levenshtein).
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
    end
  end
  return row[#b]
end

local function nearest(name, names)
  local best, least = nil, 3
  name = name:lower()
  for candidate in pairs(names) do
    local d = distance(name, candidate:lower())
    if name:byte() == candidate:lower():byte() then d = d - 0.5 end -- the first letter is seldom the wrong one
    if d < least or (d == least and best and candidate < best) then best, least = candidate, d end
  end
  return best
end

local function suggestion(name, names)
  local near = nearest(name, names)
  return near and ("; did you mean %s?"):format(near) or ""
end

-- --- parameters ---

local function split(text, separator)
  local parts = {}
  for part in (text .. separator):gmatch("(.-)%" .. separator) do parts[#parts + 1] = part end
  return parts
end

local function parameter(spec, name, text)
  local value = tonumber(text)
  if name == "fraction" then
    if not value or not (value >= 0 and value <= 1) then
      fail(spec, "fraction has to be a number from 0 to 1, not '%s'", text)
    end
  elseif not value or value % 1 ~= 0 or value < 0 or value > 2 ^ 31 - 1 then
    fail(spec, "%s has to be a whole number of at least 0, not '%s'", name, text)
  end
  return value
end

local function parse_resample(spec, text)
  if text == "event" or text == "sticky" then return text end
  local seconds = tonumber(text:match("^poll:(.*)$"))
  if seconds and seconds > 0 and seconds < math.huge then return { poll = seconds } end
  fail(spec, "resampling '%s' is none of event, sticky, poll:SECONDS", text)
end

local function parse_named(barrier, spec, default_resample)
  local head, at = spec:match("^([^@]*)@(.*)$")
  local words = split(head or spec, ":")
  local name = words[1]
  local expected = grammar[name]
  if not expected then fail(spec, "there is no rule '%s'%s (known: %s)", name, suggestion(name, grammar), known()) end
  local given = #words - 1
  if given < expected[1] or given > #expected - 1 then
    fail(spec, "%s parameter%s given; it is written %s", given, given == 1 and " is" or "s are", usage(name))
  end
  if at and not expected.samples then fail(spec, "%s does not sample, so it takes no @%s", name, at) end
  local arguments = {}
  for i = 1, given do arguments[i] = parameter(spec, expected[i + 1], words[i + 1]) end
  local resample = at or default_resample
  if expected.samples and resample then
    arguments[given + 1] = { resample = parse_resample(at and spec or "--resample " .. resample, resample) }
  end
  return barrier[name](unpack(arguments))
end

-- --- files ---

---The default loader: a local file.
---@param path string
---@return string? text, string chunk_name or what is wrong
function M.read(path)
  local file, message = io.open(path, "rb")
  if not file then return nil, message end
  local text
  text, message = file:read("*a")
  file:close()
  if not text then return nil, path .. ": " .. tostring(message) end
  return text, "@" .. path
end

local function callable(value)
  return type(value) == "function" or rules.is(value)
end

local function choose(spec, path, loaded, name)
  if callable(loaded) then
    if name then fail(spec, "%s returns one rule, which has no name; write %s", path, path) end
    return loaded, path
  end
  if type(loaded) ~= "table" then
    fail(spec, "%s has to return a rule or a table of named rules, not %s", path, loaded == nil and "nothing" or type(loaded))
  end
  local names = {}
  for key, value in pairs(loaded) do
    if type(key) == "string" and callable(value) then names[key], names[#names + 1] = true, key end
  end
  table.sort(names)
  local list = table.concat(names, ", ")
  if #names == 0 then fail(spec, "the table that %s returns has no rule in it", path) end
  if not name then
    if #names > 1 then fail(spec, "%s has several rules, name one of them as %s:NAME (%s)", path, path, list) end
    name = names[1]
  end
  if names[name] ~= true then
    for i = #names, 1, -1 do names[i] = nil end
    fail(spec, "%s has no rule '%s'%s (it has %s)", path, name, suggestion(name, names), list)
  end
  return loaded[name], path .. ":" .. name
end

local function parse_file(spec, path, name, load_text)
  local text, chunk_name = load_text(path)
  if not text then fail(spec, "cannot be read: %s", tostring(chunk_name)) end
  local chunk, message = load(text, chunk_name or "@" .. path, "t")
  if not chunk then fail(spec, "%s", message) end
  local ok, loaded = pcall(chunk)
  if not ok then fail(spec, "%s", tostring(loaded)) end
  local rule, title = choose(spec, path, loaded, name)
  return rules.of(rule, "barrier.from", title)
end

---@param barrier table the module, for its constructors
---@param spec string
---@param resample? string for sampling rules whose text names no policy
---@param load_text fun(path: string): string?, string?
---@return actor.barrier.Rule
function M.parse(barrier, spec, resample, load_text)
  local path, name = spec:match("^(.+%.lua):([^:/\\]+)$")
  path = path or spec:match("^.+%.lua$")
  if path then return parse_file(spec, path, name, load_text) end
  return parse_named(barrier, spec, resample)
end

return M
