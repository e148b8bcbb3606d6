-- The prose check refuses sentences of the old kind and accepts plain ones. Usage: luajit prose_test.lua SOURCE_DIR
-- SCRATCH_DIR

local shell = dofile(arg[0]:match("^(.*)/") .. "/shell.lua")
local source, scratch = arg[1], arg[2]
assert(os.execute(("rm -rf '%s' && mkdir -p '%s'"):format(scratch, scratch)) == 0)

-- The exit status and the output of the check for one file.
local function check(name, text)
  local file = assert(io.open(scratch .. "/" .. name, "w"))
  file:write(text)
  file:close()
  return shell.run(("cd '%s' && echo '%s' | luajit '%s/scripts/lint/prose.lua'"):format(scratch, name, source))
end

local plain = "The transport sends each frame once. A reader takes frames in order. The link closes after an error."
local old = "What comes first is told to those that are there, of which each goes on."
local noun = "no" .. "body"

local function comment(sentence, times, mark) return (mark .. " " .. sentence .. "\n"):rep(times) end

-- Many plain sentences pass.
local status, output = check("plain.cpp", comment(plain, 20, "//"))
assert(status == 0 and output == "", "a plain file was refused:\n" .. output)

-- The check refuses too high a rate in each kind of file, and prints the worst lines.
for name, mark in pairs { ["old.cpp"] = "//", ["old.hpp"] = "///", ["old.lua"] = "--", ["old.md"] = "" } do
  status, output = check(name, comment(old, 20, mark))
  assert(status == 1, name .. " was accepted")
  assert(output:find(name .. ": %d+ marks in %d+ words of prose"), output)
  assert(output:find(name .. ":%d+: \""), "no line is named:\n" .. output)
end

-- One refused turn is enough, in a short file too; code and quoted texts are no prose.
status, output = check("short.cpp", "int a;\n// " .. noun .. " reads it\n")
assert(status == 1 and output:find("short.cpp:2: refused", 1, true), output)
status, output = check("code.cpp", "int " .. noun .. " = 1;  // the default\n// a \"" .. noun .. '" in quotes\n')
assert(status == 0, output)
status, output = check("page.md", "```\n" .. noun .. "\n```\n`" .. noun .. "` is a name.\n")
assert(status == 0, output)

-- Lines of pages and of Lua comments have 120 columns at most; tables, code and annotations may be longer.
local long = ("a "):rep(60)
for name, line in pairs { ["wide.md"] = "b " .. long, ["wide.lua"] = "-- " .. long } do
  status, output = check(name, "\n" .. line .. "\n")
  assert(status == 1 and output:find(name .. ":2: longer than 120 columns", 1, true), output)
end
for name, line in pairs { ["table.md"] = "| " .. long, ["code.md"] = "    " .. long, ["note.lua"] = "---@param " .. long,
  ["code.lua"] = "local a = 1 -- " .. long, ["letters.md"] = ("ö"):rep(120) } do
  status, output = check(name, line .. "\n")
  assert(status == 0, output)
end

-- A link needs a target, and its anchor a heading.
check("target.md", "# Title\n\n## The first job, `x`\n")
status, output = check("links.md", "See [a](target.md), [b](target.md#the-first-job-x), [c](https://a.b/c), [d](#here), `[e](f)`.\n\n# Here\n")
assert(status == 0, output)
status, output = check("links.md", "See [a](absent.md), [b](target.md#second) and [c](#nowhere).\n")
assert(status == 1 and output:find("links.md: broken link: there is no absent.md", 1, true), output)
assert(output:find("target.md has no heading #second", 1, true) and output:find("links.md has no heading #nowhere", 1, true), output)
