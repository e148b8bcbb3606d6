-- A finding in a file is reported once and makes only that file unclean, whether clang-tidy checks the file in a batch
-- or by itself. Usage: luajit tidy_test.lua SOURCE_DIR SCRATCH_DIR

local source, scratch = arg[1], arg[2]

if os.execute("clang-tidy --version >/dev/null 2>&1") ~= 0 then
  print("clang-tidy is not installed")
  os.exit(77)
end

local function write(path, text)
  assert(os.execute(("mkdir -p '%s'"):format((scratch .. "/" .. path):match("^(.*)/"))) == 0)
  local file = assert(io.open(scratch .. "/" .. path, "w"))
  file:write(text)
  file:close()
end

-- Runs the check; returns its findings, "file:line check" each, sorted.
local function tidy()
  local pipe = assert(io.popen(("cd '%s' && find . -name '*.?pp' -o -name .clang-tidy | sed 's,^[.]/,,' | LC_ALL=C sort | "
    .. "grep -v ^build | luajit '%s/scripts/lint/tidy.lua' build build/tidy 2; echo $?"):format(scratch, source)))
  local text = pipe:read("*a")
  pipe:close()
  local findings = {}
  for file, line, check in text:gmatch("([^\n:]+):(%d+):%d+: error: [^\n]*%[([%w.-]+)") do
    findings[#findings + 1] = ("%s:%d %s"):format(file:sub(1, #scratch) == scratch and file:sub(#scratch + 2) or file, line, check)
  end
  table.sort(findings)
  return text:match("(%d+)\n$") == "0", table.concat(findings, "\n"), text
end

assert(os.execute(("rm -rf '%s' && mkdir -p '%s'"):format(scratch, scratch)) == 0)
write(".clang-tidy", "Checks: '-*,bugprone-*,misc-unused-using-decls,clang-analyzer-core.*'\nWarningsAsErrors: '*'\n"
  .. "HeaderFilterRegex: '(host|tests)/.*\\.hpp$'\n")
write("tests/.clang-tidy", "InheritParentConfig: true\nChecks: '-clang-analyzer-*'\n")
write("host/shared.hpp", "#pragma once\nnamespace shared {\ninline int half(int x) { return x / 2; }\n}\n")

-- Two of the files use the same name for a function of their own.
local clean = '#include "host/shared.hpp"\n\nnamespace {\nint own_%s(int x) { return x; }\n}  // namespace\n\n'
  .. "int f_%s(int x) { return own_%s(x) + shared::half(x); }\n"
local entries = {}
for _, folder in ipairs { "host", "tests" } do
  for i = 1, 8 do
    local path, own = ("%s/f%d.cpp"):format(folder, i), folder .. math.min(i, 7)
    write(path, clean:format(own, folder .. i, own))
    entries[#entries + 1] = ('{\n  "directory": "%s/build",\n  "command": "c++ \\"-I%s\\" -O2 -o x.o -c \\"%s/%s\\"",\n  "file": "%s/%s"\n}')
      :format(scratch, scratch, scratch, path, scratch, path)
  end
end
write("build/compile_commands.json", "[\n" .. table.concat(entries, ",\n") .. "\n]\n")

local good, findings, text = tidy()
assert(good and findings == "", "clean files were refused:\n" .. text)

local function spoil(path, text)
  write(path, '#include "host/shared.hpp"\n\n' .. text:gsub("NAME", (path:gsub("%W", "_"))))
end
local division = "double NAME(int x) { return x / 3; }\n"
local null = "int NAME(int x) {\n  int* p = nullptr;\n  return x > 3 ? *p : x;\n}\n"
local idle = "using shared::half;\n"
spoil("host/f1.cpp", division)
spoil("host/f2.cpp", null)
spoil("host/f3.cpp", idle)
spoil("tests/f4.cpp", division)
spoil("tests/f5.cpp", null)  -- the analyser is off
spoil("tests/f6.cpp", idle)
write("host/shared.hpp", "#pragma once\nnamespace shared {\ninline int half(int x) { return x / 2 + 0; }\n}\n")  -- so all are checked
local wanted = [[
host/f1.cpp:3 bugprone-integer-division
host/f2.cpp:5 clang-analyzer-core.NullDereference
host/f3.cpp:3 misc-unused-using-decls
tests/f4.cpp:3 bugprone-integer-division
tests/f6.cpp:3 misc-unused-using-decls]]
good, findings, text = tidy()
assert(not good and findings == wanted, ("wanted:\n%s\ngot:\n%s\nof:\n%s"):format(wanted, findings, text))

-- Only unclean files are checked again, now one by one.
good, findings, text = tidy()
assert(not good and findings == wanted, ("wanted again:\n%s\ngot:\n%s\nof:\n%s"):format(wanted, findings, text))

-- A finding in a header is reported for each file that includes it.
write("host/shared.hpp", "#pragma once\nnamespace shared {\ninline double half(int x) { return x / 2; }\n}\n")
good, findings = tidy()
assert(not good and select(2, findings:gsub("host/shared%.hpp:3 bugprone%-integer%-division", "")) == 16, findings)

assert(os.execute(("rm -rf '%s'"):format(scratch)) == 0)
print("5 findings, in batches and one by one")
