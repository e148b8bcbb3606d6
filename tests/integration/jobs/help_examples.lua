-- The job of help_test.cpp that runs the examples of the docstrings and guides with its number of nodes. Prints each
-- example that fails or has another output than it states. Argument: part of a title, for the examples with it.
local actor = require "actor"
local guides = require "actor.help.guides"
local help = require "actor.help"

local only = actor.args[1] or ""

-- A text's lines, without blanks at the ends and with one blank for several.
local function plain(text)
  local lines = {}
  for line in text:gmatch("[^\n]+") do
    line = line:gsub("%s+", " "):match("^%s*(.-)%s*$")
    if line ~= "" then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

-- The output that an example states: the texts after -->.
local function stated(code)
  local lines = {}
  for line in code:gmatch("[^\n]+") do lines[#lines + 1] = line:match("%-%->(.*)$") end
  return plain(table.concat(lines, "\n"))
end

local print = print

-- Runs an example. Returns its output; or nil and the error.
local function output_of(entry, example)
  local lines = {}
  local function show(...)
    local words = {}
    for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
    lines[#lines + 1] = table.concat(words, "\t")
  end
  local chunk, wrong = loadstring(example.code, "=" .. entry.title)
  if not chunk then return nil, wrong end
  rawset(_G, "print", show)
  local fine, message = pcall(setfenv(chunk, setmetatable({ actor = actor }, { __index = _G })))
  rawset(_G, "print", print)
  if not fine then return nil, tostring(message) end
  return plain(table.concat(lines, "\n"))
end

local ran, with_output, wrong = 0, 0, 0

local function check(entry, example)
  ran = ran + 1
  local expected = stated(example.code)
  local output, message = output_of(entry, example)
  if expected ~= "" then with_output = with_output + 1 end
  local is_right = output and (actor.rank ~= 0 or output == expected)
  if is_right or actor.role == "server" then return end
  wrong = wrong + 1
  print(("%s:%d: %s: %s"):format(entry.module, entry.line, entry.title,
    message or ("prints\n%s\nand states\n%s"):format(output, expected)))
end

-- The docstrings, and the guides with their blocks of Lua as examples.
local function texts()
  local all = help.all()
  for _, guide in ipairs(guides.present()) do
    for i, section in ipairs(guides.sections(guide)) do
      local entry = { module = section.path, line = i, title = section.heading, examples = {} }
      for code in section.text:gmatch("\n```lua\n(.-)\n```") do table.insert(entry.examples, { code = code }) end
      all[#all + 1] = entry
    end
  end
  return all
end

-- Examples with a run of the parameter server are first, since its server has to reach their calls, too.
for _, served in ipairs { true, false } do
  for _, entry in ipairs(served == false and actor.role == "server" and {} or texts()) do
    for _, example in ipairs(entry.examples) do
      local is_served = example.code:find("param%.") ~= nil or example.code:find(":iterate", 1, true) ~= nil
      local wanted = entry.title:find(only, 1, true) and (example.nodes or actor.size) == actor.size
      if wanted and is_served == served then check(entry, example) end
    end
  end
end
print(("%d examples ran, %d with an output, %d failed"):format(ran, with_output, wrong))
if wrong > 0 then error("examples failed", 0) end
