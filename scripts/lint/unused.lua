-- Finds functions and types in headers of host/ and bindings/ that only tests use. Works on text, and leaves out names
-- that operators, templates or LuaJIT need.
-- Usage: luajit unused.lua ROOT < list of files relative to ROOT. Prints "file:line: problem"; exit 1 if there is any.

local root = assert(arg[1], "usage: luajit unused.lua ROOT < files")

local function text_of(file)
  local handle = assert(io.open(root .. "/" .. file))
  local text = handle:read("*a")
  handle:close()
  return text
end

--- Removes comments; line numbers stay the same.
local function code_of(file, text)
  if file:match("%.lua$") then return (text:gsub("%-%-[^\n]*", "")) end
  return (text:gsub("//[^\n]*", ""):gsub("/%*.-%*/", function(comment) return (comment:gsub("[^\n]", "")) end))
end

-- Names that the language or a library calls, and words without a function.
local skip = { main = true, ["return"] = true, sizeof = true, alignof = true, decltype = true, static_assert = true,
  ["if"] = true, ["while"] = true, ["for"] = true, ["switch"] = true, requires = true, noexcept = true, lock_shared = true,
  unlock_shared = true, munmap = true, madvise = true }

local named = {}    -- number of uses in the product
local defined = {}  -- of these: number at the start of a definition, as "Class::name(" or, in a source, as "name("
local declared = {} -- in order: { name, file, line }

local function count(list, name) list[name] = (list[name] or 0) + 1 end

local function declarations(file, code)
  local line = 0
  for text in code:gmatch("([^\n]*)\n?") do
    line = line + 1
    local name = text:match("^%s*[%a_~][%w_:<>,&*%s%[%]]*[%s&*]([%l_][%w_]*)%(")
    if name and not skip[name] and not text:match("^%s*return ") and not text:match("^%s*else ") then
      declared[#declared + 1] = { name = name, file = file, line = line }
    end
    local class = text:match("^%s*struct%s+(%u[%w_]*)[%l%s]*[:{]") or text:match("^%s*class%s+(%u[%w_]*)[%l%s]*[:{]")
    if class then declared[#declared + 1] = { name = class, file = file, line = line } end
  end
end

for file in io.lines() do
  local cpp = file:match("%.[ch]pp$") or file:match("%.h$")
  if (cpp or file:match("%.lua$")) and not file:match("^tests/") then
    local code = code_of(file, text_of(file))
    for word in code:gmatch("[%a_][%w_]*") do count(named, word) end
    for definition in ("\n" .. code):gmatch("\n[%a_][^\n;={}]-[%w_]+::([%w_]+)%(") do count(defined, definition) end
    if file:match("%.cpp$") then
      for definition in ("\n" .. code):gmatch("\n[%a_][^\n;=%(%)]-[%s&*]([%l_][%w_]*)%(") do count(defined, definition) end
    end
    if file:match("%.hpp$") and not file:match("/include/") then declarations(file, code) end
  end
end

local problems, reported = 0, {}
for _, one in ipairs(declared) do
  if named[one.name] - (defined[one.name] or 0) <= 1 and not reported[one.name] then
    reported[one.name] = true
    problems = problems + 1
    print(("%s:%d: nothing outside of tests names '%s'"):format(one.file, one.line, one.name))
  end
end
os.exit(problems == 0 and 0 or 1)
