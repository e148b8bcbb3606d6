--- Parses rules in text form: `ssp:4`, `pbsp:10@sticky`, `rule.lua:halfway`.
---
---     rule = name { ":" parameter } [ "@" policy ] | file.lua [ ":" name ]
---
--- The last parameter may be a rule. The policy defines when a sampling rule draws another sample.
local check = require("actor.check")
local spelling = require("actor.c.names")
local parameters = require("actor.policy.parameter")
local util = require("actor.util")

---@class actor.policy.Context
---@field library actor.policy.Library
---@field resample? string for sampling rules without a policy in the text
---@field load? fun(path: string): string?, string? default M.loader

local M = {}

local function fail(context, spec, message, ...)
  check.fail("%s '%s': %s", context.library.module, spec, message:format(...))
end

-- --- names ---

-- The forms of all rules, for errors.
local function known(library)
  local names = {}
  for _, description in pairs(library.rules) do names[#names + 1] = library:usage(description) end
  table.sort(names)
  return table.concat(names, ", ") .. ", or a file rule.lua[:name]"
end

-- --- parameters ---

-- Splits `text` at colons into at most `most` words; the last word is the rest of the text.
local function split(text, most)
  local words = {}
  while #words + 1 < most do
    local word, rest = text:match("^([^:]*):(.*)$")
    if not word then break end
    words[#words + 1], text = word, rest
  end
  words[#words + 1] = text
  return words
end

local function parse_resample(context, spec, text)
  if text == "event" or text == "sticky" then return text end
  local seconds = tonumber(text:match("^poll:(.*)$"))
  if seconds and seconds > 0 and seconds < math.huge then return { poll = seconds } end
  fail(context, spec, "resampling '%s' is none of event, sticky, poll:SECONDS", text)
end

-- Whether the last parameter of a rule of this kind is a rule.
local function inner(description)
  local last = description.parameters[#description.parameters]
  return last ~= nil and last[2] == "rule"
end

-- Whether some rule in `text`, which begins with a rule's name, takes an @policy.
local function takes_policy(library, text)
  local description = library.rules[text:match("^[^:@]*")]
  if not description then return false end
  if not inner(description) then return description.samples or false end
  return takes_policy(library, split(text, #description.parameters + 1)[#description.parameters + 1] or "")
end

-- Splits the @policy of `description` from `text`: returns the text without it, and the policy or nil. A policy after
-- nested rules belongs to the innermost rule that takes a policy.
local function strip_policy(library, description, text)
  local head, policy = text:match("^([^@]*)@(.*)$")
  if not head then return text, nil end
  if inner(description) and (takes_policy(library, text) or not description.samples) then return text, nil end
  return head, policy
end

local function parse_parameters(spec, description, words, context)
  local values = {}
  for i, parameter in ipairs(description.parameters) do
    local word, expected = words[i + 1], nil
    if word == nil then
      values[i] = parameter.default
    elseif parameter[2] == "rule" then
      values[i] = M.parse(word, context)
    else
      values[i], expected = parameters.read(parameter, word)
      if expected then fail(context, spec, "%s has to be %s, not '%s'", parameter[1], expected, word) end
    end
  end
  local complaint = context.library:complaint(description, values)
  if complaint then fail(context, spec, "%s", complaint) end
  return values
end

-- Returns the number of parameters that a text must give.
local function least(description)
  local count = 0
  for _, parameter in ipairs(description.parameters) do
    if parameters.needed(parameter) then count = count + 1 end
  end
  return count
end

local function parse_named(spec, context)
  local library, name = context.library, spec:match("^[^:@]*")
  local description = library.rules[name]
  if not description then fail(context, spec, "there is no rule '%s'%s (known: %s)", name, spelling.suggestion(name, library.rules), known(library)) end
  local text, policy = strip_policy(library, description, spec)
  if policy and not description.samples then fail(context, spec, "%s does not sample, so it takes no @%s", name, policy) end
  local most = #description.parameters
  local words = split(text, inner(description) and most + 1 or math.huge)
  local given = #words - 1
  if given < least(description) or given > most then
    fail(context, spec, "%s parameter%s given; it is written %s", given, given == 1 and " is" or "s are", library:usage(description))
  end
  local values, options = parse_parameters(spec, description, words, context), nil
  local resample = policy or context.resample
  if description.samples and resample then
    options = { resample = parse_resample(context, policy and spec or "--resample " .. resample, resample) }
  end
  return library:build(description, values, options)
end

-- --- files ---

---Loads a rule's file: returns its text and the name that errors show, or nil and a message. On a node it searches as
---`require` does, beside the job's script and over the network; elsewhere it opens a local file.
---@param path string
---@return string? text
---@return string chunk_name or the error
function M.loader(path)
  if package.preload["actor.c.node"] then
    local text, chunk = require("actor.c.node").find_source(path)
    return text, text and "@" .. chunk or chunk
  end
  local text, message = util.read(path)
  return text, text and "@" .. path or message
end

---A rule that a console or a program sends to a run.
---@param spec string a rule by its text, or "" for a file
---@param text string the source of the rule's file; "" if the run itself finds the file
---@param name string the file as FILE.lua or FILE.lua:NAME
---@return string spec
---@return fun(path: string): string?, string? load
function M.sent(spec, text, name)
  if spec == "" then spec = name:find("%.lua:?[%w_]*$") and name or "rule.lua" end
  if text == "" then return spec, M.loader end
  return spec, function(path) return text, "@" .. path end
end

---Runs the chunk of a rule's file, as pcall does. A program that must be able to stop the chunk replaces this function.
---@type fun(chunk: function, path: string): boolean, any
M.runner = function(chunk) return pcall(chunk) end

local function callable(context, value) return type(value) == "function" or context.library.family.is(value) end

-- The rule `name` of the value that a file has returned, and the rule's title for messages. A file of one rule needs no
-- name.
local function choose(context, spec, path, loaded, name)
  if callable(context, loaded) then
    if name then fail(context, spec, "%s returns one rule without a name; write %s", path, path) end
    return loaded, path
  end
  if type(loaded) ~= "table" then
    fail(context, spec, "%s has to return a rule or a table of named rules, not %s", path, loaded == nil and "nothing" or type(loaded))
  end
  local names = {}
  for key, value in pairs(loaded) do
    if type(key) == "string" and callable(context, value) then names[key], names[#names + 1] = true, key end
  end
  table.sort(names)
  local list = table.concat(names, ", ")
  if #names == 0 then fail(context, spec, "the table that %s returns has no rule in it", path) end
  if not name then
    if #names > 1 then fail(context, spec, "%s has several rules, name one of them as %s:NAME (%s)", path, path, list) end
    name = names[1]
  end
  if names[name] ~= true then
    fail(context, spec, "%s has no rule '%s'%s (it has %s)", path, name, spelling.suggestion(name, names), list)
  end
  return loaded[name], path .. ":" .. name
end

local function parse_file(spec, path, name, context)
  if name and name:find("^%d+$") then
    fail(context, spec, "it is the function at line %s of a script, which only a run of this script has: write the rule "
      .. "into a file of its own", name)
  end
  local text, chunk_name = (context.load or M.loader)(path)
  if not text then fail(context, spec, "cannot be read: %s", tostring(chunk_name)) end
  local chunk, message = load(text, chunk_name or "@" .. path, "t")
  if not chunk then fail(context, spec, "%s", message) end
  local ok, loaded = M.runner(chunk, path)
  if not ok then fail(context, spec, "%s", tostring(loaded)) end
  local rule, title = choose(context, spec, path, loaded, name)
  return context.library.family.of(rule, context.library.module .. ".from", title)
end

---Parses a rule.
---@param spec string
---@param context actor.policy.Context
---@return actor.policy.Rule
function M.parse(spec, context)
  local description = context.library.rules[spec:match("^[^:@]*")]
  if not (description and inner(description)) then
    local path, name = spec:match("^(.+%.lua):([^:/\\]+)$")
    path = path or spec:match("^.+%.lua$")
    if path then return parse_file(spec, path, name, context) end
  end
  return parse_named(spec, context)
end

return M
