-- The layer checker reports every break and nothing else. Usage: luajit lint_test.lua SOURCE_DIR SCRATCH_DIR

local shell = dofile(arg[0]:match("^(.*)/") .. "/shell.lua")
local source, scratch = arg[1], arg[2]

local function write(path, text)
  assert(os.execute(("mkdir -p '%s'"):format((scratch .. "/" .. path):match("^(.*)/"))) == 0)
  local file = assert(io.open(scratch .. "/" .. path, "w"))
  file:write(text)
  file:close()
end

local function lint(which)
  return shell.run(("cd '%s' && find . -type f | sed 's,^[.]/,,' | LC_ALL=C sort | luajit '%s/scripts/lint/%s.lua' ."):format(scratch, source,
    which or "layers"))
end

assert(os.execute(("rm -rf '%s' && mkdir -p '%s'"):format(scratch, scratch)) == 0)

-- A tree that follows the rules.
write("host/base/a.hpp", "#include <vector>\n")
write("host/wire/b.hpp", '#include "host/base/a.hpp"\n')
write("host/net/c.cpp", '#include "host/wire/b.hpp"\n#include <nng/nng.h>\n')
write("host/kernel/d.cpp", '#include "host/base/a.hpp"\n#include <Eigen/Core>\n')
write("bindings/vm/e.cpp", '#include "host/net/c.hpp"\nextern "C" {\n#include <lua.h>\n}\n')
write("host/net/c.hpp", "")
write("host/engine/param/r.hpp", "")
write("host/mapreduce/tasks/t.hpp", "")
write("stdlib/actor/f.lua", 'local ffi = require("ffi")\nlocal t = require "actor.tensor"\n-- require("socket")\n')
local status, output = lint()
assert(status == 0 and output == "", "a clean tree was refused:\n" .. output)

-- One break of each rule: file, text, expected message.
local breaks = {
  { "host/base/up.cpp", '#include "host/wire/b.hpp"\n', "host/base must not depend on host/wire/b.hpp" },
  { "host/data/file/up2.cpp", '\n#  include "host/net/c.hpp"\n', "host/data/file must not depend on host/net/c.hpp" },
  { "host/engine/share/up3.cpp", '#include "host/engine/param/r.hpp"\n', "host/engine/share must not depend on host/engine/param/r.hpp" },
  { "host/mapreduce/rows/up4.cpp", '#include "host/mapreduce/tasks/t.hpp"\n', "host/mapreduce/rows must not depend on host/mapreduce/tasks/t.hpp" },
  { "host/net/lua.cpp", "#include <lua.h>\n", "Lua belongs to bindings/" },
  { "host/net/lua2.cpp", "#include <luajit-2.1/lua.hpp>\n", "Lua belongs to bindings/" },
  { "bindings/include/actorhost.hpp", '#include "lua.h"\n', "Lua belongs to bindings/" },
  { "host/net/nng.hpp", "#include <nng/nng.h>\n", "NNG belongs to the .cpp files of host/net" },
  { "host/cluster/nng2.cpp", "#include <nng/nng.h>\n", "NNG belongs to the .cpp files of host/net" },
  { "host/kernel/eigen.hpp", "#include <Eigen/Core>\n", "Eigen belongs to the .cpp files of host/kernel" },
  { "bindings/vm/test.cpp", '#include "tests/helper.hpp"\n', "tests/helper.hpp is no file of the tree" },
  { "host/net/short.cpp", '#include "c.hpp"\n', "c.hpp is no file of the tree" },
  { "host/net/e.cpp", "\n", "the name is taken by bindings/vm/e.cpp" },
  { "stdlib/actor/g.lua", 'local s = require("socket")\n', 'stdlib must not require "socket"' },
}
for _, case in ipairs(breaks) do
  local path, text, message = case[1], case[2], case[3]
  write(path, text)
  status, output = lint()
  local plain = output:gsub('"([^"]*%.hpp)"', "%1")
  assert(status == 1, path .. " was accepted")
  assert(plain:find(path, 1, true) == 1 and plain:find(message, 1, true),
    ("%s: wanted %q, got:\n%s"):format(path, message, output))
  assert(select(2, output:gsub("\n", "")) >= 1)
  os.remove(scratch .. "/" .. path)
end

-- Functions and types that only a test uses.
write("host/base/used.hpp", "struct Used {\n  int called() const;\n  int tested() const;\n};\nstruct Idle {};\n")
write("host/base/used.cpp", "int Used::called() const { return 1; }\nint Used::tested() const { return 2; }\nint x = Used().called();\n")
write("tests/used_test.cpp", "int y = Used().tested();\nIdle idle;\n")
status, output = lint("unused")
assert(status == 1 and output == "host/base/used.hpp:3: nothing outside of tests names 'tested'\n" ..
  "host/base/used.hpp:5: nothing outside of tests names 'Idle'\n", output)
os.remove(scratch .. "/host/base/used.hpp")
status, output = lint("unused")
assert(status == 0 and output == "", output)
os.remove(scratch .. "/host/base/used.cpp")

-- Long files are reported and accepted.
write("host/base/long.cpp", ("\n"):rep(501))
status, output = lint()
assert(status == 0 and output:find("host/base/long.cpp: warning: 501 lines", 1, true), output)

assert(os.execute(("rm -rf '%s'"):format(scratch)) == 0)
print(("%d broken rules found"):format(#breaks))
