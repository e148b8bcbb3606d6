-- scripts/actorhost in a tree that its user may not write to: it runs another user's build, and builds in the user's
-- own folder if that build is out of date. The tree has a program and a cmake that only print. Usage: luajit
-- checkout_test.lua SOURCE_DIR

local shell = dofile(arg[0]:match("^(.*)/") .. "/shell.lua")
local source = arg[1]

local is_root = shell.output_of("id -u") == "0\n"
local as_user = is_root and "setpriv --reuid=65534 --regid=65534 --clear-groups " or ""
local folder = shell.output_of("mktemp -d"):match("%S+")
local tree, home, tools = folder .. "/tree", folder .. "/home", folder .. "/tools"

local function sh(command, ...) shell.output_of(command:format(...)) end

local function write(path, text)
  sh("mkdir -p '%s'", path:match("^(.*)/"))
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

-- Runs scripts/actorhost as a user without permission to write to the tree, with the given variables and without HOME.
local function run(variables)
  return shell.run(("cd / && env -u HOME -u XDG_CACHE_HOME -u ACTORHOST_BUILD_DIR -u CCACHE_DIR PATH='%s':\"$PATH\" %s %s '%s/scripts/actorhost' job.lua"):format(
    tools, variables, as_user, tree))
end

local function expect(what, status, output, wanted, ...)
  assert(status == wanted, ("%s: exit code %d, expected %d\n%s"):format(what, status, wanted, output))
  for _, text in ipairs { ... } do
    assert(output:find(text, 1, true), ("%s: no '%s' in\n%s"):format(what, text, output))
  end
end

local program = "#!/bin/sh\necho \"built by $BY: $*\"\n"

local function test()
  for _, name in ipairs { "actorhost", "setup.sh" } do
    write(tree .. "/scripts/" .. name, assert(io.open(source .. "/scripts/" .. name)):read("*a"))
  end
  for _, name in ipairs { "CMakeLists.txt", "CMakePresets.json", "host/a.cpp", "bindings/b.cpp", "stdlib/c.lua" } do
    write(tree .. "/" .. name, "")
  end
  write(tree .. "/build/release/bindings/actorhost", (program:gsub("$BY", "the owner")))
  write(tree .. "/build/release/fresh", "")
  -- A cmake that writes the program, and a machine with all packages.
  write(tools .. "/cmake", ([=[#!/bin/sh
if [ "$1" = --build ]; then
  mkdir -p "$2/bindings" && cp '%s/program' "$2/bindings/actorhost" && echo "${CCACHE_DIR-}" >"$2/ccache_dir"
else
  touch "$4/CMakeCache.txt"
fi
]=]):format(tools))
  write(tools .. "/program", (program:gsub("$BY", "this user")))
  write(tools .. "/dpkg-query", "#!/bin/sh\nfor package; do echo \"ii  $package\"; done\n")
  sh("mkdir -p '%s' '%s/own' && chmod 755 '%s' && chmod +x '%s'/* '%s/build/release/bindings/actorhost' '%s/scripts/actorhost'", home, folder,
    folder, tools, tree, tree)
  sh("find '%s' -exec touch -d '2 hours ago' {} + && touch '%s/build/release/fresh'", tree, tree)
  if is_root then sh("chown 65534 '%s' '%s/own'", home, folder) else sh("chmod -R a-w '%s'", tree) end

  for _, variables in ipairs { "", "HOME=/nonexistent", "HOME=" .. home } do
    local status, output = run(variables)
    expect("up to date, " .. variables, status, output, 0, "built by the owner: job.lua\n")
  end

  sh("chmod u+w '%s/host/a.cpp' && touch -d '1 hour' '%s/host/a.cpp'", tree, tree)
  local status, output = run("")
  expect("without HOME", status, output, 70, "neither XDG_CACHE_HOME nor HOME is set", "ACTORHOST_BUILD_DIR=DIR")
  status, output = run("HOME=/nonexistent")
  expect("without a home folder", status, output, 70, "/nonexistent/.cache/actorhost/", "is not writable", "ACTORHOST_BUILD_DIR=DIR")
  status, output = run("ACTORHOST_BUILD_DIR=/nonexistent/build")
  expect("a wrong folder", status, output, 70, "its folder /nonexistent/build is not writable")
  status, output = run("HOME=" .. home)
  expect("with HOME", status, output, 0, "in " .. home .. "/.cache/actorhost/", "built by this user: job.lua\n")
  status, output = run(("ACTORHOST_BUILD_DIR='%s/own'"):format(folder))
  expect("with a folder, without HOME", status, output, 0, "built by this user: job.lua\n")
  local ccache = assert(io.open(folder .. "/own/release/ccache_dir")):read("*l")
  assert(ccache == folder .. "/own/ccache", "the compiler's cache is '" .. ccache .. "'")
end

local fine, message = pcall(test)
os.execute(("chmod -R u+w '%s'; rm -rf '%s'"):format(folder, folder))
assert(fine, message)
print("passed")
