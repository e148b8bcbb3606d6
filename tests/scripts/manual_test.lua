-- The manual pages have the texts of --help, and are valid. Usage: luajit manual_test.lua PROGRAM SOURCE_DIR. Without
-- mandoc only the texts are compared.

local shell = dofile(arg[0]:match("^(.*)/") .. "/shell.lua")
local program, source = arg[1], arg[2]
local output_of = shell.output_of

-- The words of a text without the marks of roff.
local function words_of(text)
  return (text:gsub("\\f%u", ""):gsub("\\%-", "-"):gsub("\\[&:]", ""):gsub("\\e", "\\"):gsub("[,%s]+", " "))
end

local path = os.tmpname()
local help = output_of(("'%s' help"):format(program))
local pages = 0
for name in help:match("subcommands: ([^\n]+)"):gmatch("%l+") do
  local page = output_of(("'%s' help --man %s"):format(program, name))
  for _, title in ipairs { "NAME", "SYNOPSIS", "OPTIONS", "SEE ALSO" } do
    assert(page:find("\n.SH " .. title .. "\n", 1, true), ("actorhost-%s has no section %s"):format(name, title))
  end
  local words = words_of(page)
  local text = output_of(("'%s' %s --help"):format(program, name)):gsub("usage:[^\n]*\n", ""):gsub("^[^\n]*actorhost [^\n]*\n", "")
  for line in text:gmatch("[^\n]+") do
    -- Titles of sections are in capital letters, and a purpose is below its command.
    local wanted = words_of(line):match("^ ?(.-) ?$")
    if not line:find("^%u[^:]*:$") and not line:find("^%s+actorhost ") then
      for part in (wanted .. "  "):gmatch("(.-)  ") do
        assert(words:find(part, 1, true), ("actorhost-%s has no '%s'"):format(name, part))
      end
    end
  end
  local file = assert(io.open(path, "w"))
  file:write(page)
  file:close()
  if os.execute("command -v mandoc >/dev/null") == 0 then
    local findings = output_of(("mandoc -Tlint -W warning '%s'"):format(path))
    assert(findings == "", findings)
  end
  pages = pages + 1
end
os.remove(path)
assert(pages >= 10)

-- README.md and --help agree on the exit codes.
local readme = assert(io.open(source .. "/README.md")):read("*a"):match("\n## Exit codes\n(.-)\n## ")
local text = words_of(output_of(("'%s' --help"):format(program)):match("\nExit codes:\n(.*)"))
local codes = 0
for code, meaning in readme:gmatch("\n| (%d[%d, ]*) | ([^|]+) |") do
  assert(text:find(words_of(code .. " " .. meaning), 1, true), "--help has no exit code " .. code .. ": " .. meaning)
  codes = codes + 1
end
assert(codes >= 7)

-- The Debian packages recommend each library that doctor knows.
local recommended = assert(io.open(source .. "/scripts/cmake/Package.cmake")):read("*a"):match('PROGRAM_PACKAGE_RECOMMENDS "(.-)"')
local libraries = 0
for package in assert(io.open(source .. "/scripts/doctor.lua")):read("*a"):gmatch('library%("[^"]+", "[^"]+", "([^"]+)"') do
  assert((recommended .. ","):find(package .. ",", 1, true), "the packages do not recommend " .. package)
  libraries = libraries + 1
end
assert(libraries >= 5)
print("passed")
