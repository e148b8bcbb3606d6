-- Checks the arrows of the design: the allowed includes of each folder, one name per C++ file, no file too long. Usage:
-- luajit layers.lua ROOT < list of files relative to ROOT. Prints "file:line: problem"; exit 1 if there is any.

local root = assert(arg[1], "usage: luajit layers.lua ROOT < files")

local function all(list, more)
  local out = { unpack(list) }
  for _, folder in ipairs(more) do out[#out + 1] = folder end
  return out
end

local below_engine = { "host/base", "host/wire", "host/barrier", "host/net", "host/cluster", "host/kernel", "host/data" }
local below_mapreduce = { "host/base", "host/wire", "host/net", "host/cluster", "host/data" }

-- The folders of the tree that each folder may include, beside itself. The longest folder of a file's path counts.
local may_include = {
  ["host/base"] = {},
  ["host/wire"] = { "host/base" },
  ["host/data/file"] = { "host/base" },
  ["host/data/content"] = { "host/base", "host/data/file" },
  ["host/kernel"] = { "host/base" },
  ["host/net"] = { "host/base", "host/wire" },
  ["host/barrier"] = { "host/base", "host/wire" },
  ["host/cluster"] = { "host/base", "host/wire", "host/net" },
  ["host/cluster/place"] = { "host/base" },
  ["host/engine/filter"] = below_engine,
  ["host/engine/share"] = below_engine,
  ["host/engine/values"] = all(below_engine, { "host/engine/filter" }),
  ["host/engine/param"] = all(below_engine, { "host/engine/filter", "host/engine/values" }),
  ["host/engine/peer"] = all(below_engine, { "host/engine/values", "host/overlay" }),
  ["host/engine/collective"] = below_engine,
  ["host/engine/collective/schedule"] = {},
  ["host/engine/average"] = all(below_engine, { "host/engine/collective" }),
  ["host/mapreduce/rows"] = below_mapreduce,
  ["host/mapreduce/files"] = all(below_mapreduce, { "host/mapreduce/rows" }),
  ["host/mapreduce/tables"] = all(below_mapreduce, { "host/mapreduce/rows" }),
  ["host/mapreduce/tasks"] = all(below_mapreduce, { "host/mapreduce/rows", "host/mapreduce/files", "host/mapreduce/tables" }),
  ["host/overlay"] = { "host/base", "host/wire" },
  ["host/page"] = { "host/base", "host/cluster/place" },
  ["host/rehearsal"] = { "host/base", "host/wire", "host/net", "host/data/file" },
  ["host/sim"] = { "host/base", "host/wire", "host/barrier" },
  ["bindings/include"] = { "host/base" },
  ["bindings/vm"] = { "host" },
  ["bindings/process"] = { "host", "bindings/vm", "bindings/include" },
  ["bindings/modules"] = { "host", "bindings/vm", "bindings/process" },
  ["bindings/run"] = { "host", "bindings/vm", "bindings/process", "bindings/modules" },
  ["bindings/commands"] = { "host", "bindings" },
  ["examples"] = { "bindings/include" },
  ["tests"] = { "host", "bindings" },
}

-- Library headers that only some files may include: a pattern for the header, patterns for the files, and the reason.
local restricted = {
  { "^lua%.h", "^bindings/[vmrc]%l+/", "^tests/", why = "Lua belongs to bindings/ and tests/" },
  { "^lauxlib%.h", "^bindings/[vmrc]%l+/", "^tests/", why = "Lua belongs to bindings/ and tests/" },
  { "^lualib%.h", "^bindings/[vmrc]%l+/", "^tests/", why = "Lua belongs to bindings/ and tests/" },
  { "^luajit", "^bindings/[vmrc]%l+/", "^tests/", why = "Lua belongs to bindings/ and tests/" },
  { "^nng/", "^host/net/[^/]+%.cpp$", "^tests/.+%.cpp$", why = "NNG belongs to the .cpp files of host/net" },
  { "^Eigen/", "^host/kernel/.+%.cpp$", "^tests/bench/.+%.cpp$", why = "Eigen belongs to the .cpp files of host/kernel" },
  { "^unsupported/Eigen/", "^host/kernel/.+%.cpp$", why = "Eigen belongs to the .cpp files of host/kernel" },
  { "^boost/", "^host/rehearsal/[^/]+%.cpp$", why = "fibres belong to the .cpp files of host/rehearsal" },
  { "^condition_variable$", "^host/base/tasks%.hpp$", "^host/page/", "^tests/", why = "a wait of a run is a WaitPoint (host/base/tasks.hpp)" },
  { "^microhttpd", "^host/page/[^/]+%.cpp$", why = "the web server belongs to the .cpp files of host/page" },
  { "^prometheus/", "^host/page/[^/]+%.cpp$", why = "prometheus-cpp belongs to the .cpp files of host/page" },
  { "^catch2/", "^tests/", why = "only tests include the test library" },
}

-- Modules outside the standard library that its files may require.
local builtin_modules = { ffi = true, bit = true, jit = true, ["string.buffer"] = true, ["table.new"] = true,
  ["table.clear"] = true, ["jit.util"] = true, ["jit.v"] = true }

local max_lines = 500
local problems = 0

local function complain(file, line, text)
  problems = problems + 1
  print(("%s:%d: %s"):format(file, line, text))
end

local function within(path, folder) return path:sub(1, #folder + 1) == folder .. "/" end

local function folder_of(path)
  local best
  for folder in pairs(may_include) do
    if within(path, folder) and (not best or #folder > #best) then best = folder end
  end
  return best
end

local function exists(path)
  local file = io.open(root .. "/" .. path)
  if file then file:close() end
  return file ~= nil
end

local function check_quoted(file, line, target)
  if target:match("^actorhost%.hpp$") then target = "bindings/include/actorhost.hpp" end
  if not exists(target) then
    return complain(file, line, ('"%s" is no file of the tree: write the path from the root, and <> for libraries'):format(target))
  end
  local own = folder_of(file)
  if not own or within(target, own) then return end
  for _, folder in ipairs(may_include[own]) do
    if within(target, folder) then return end
  end
  complain(file, line, ("%s must not depend on %s"):format(own, target))
end

local function check_library(file, line, target)
  for _, rule in ipairs(restricted) do
    if target:match(rule[1]) then
      local allowed = false
      for i = 2, #rule do allowed = allowed or file:match(rule[i]) ~= nil end
      if not allowed then complain(file, line, ("<%s> here: %s"):format(target, rule.why)) end
    end
  end
end

local function check_cpp(file, line, text)
  local quoted = text:match('^%s*#%s*include%s*"([^"]+)"')
  if quoted then
    -- A library's header in quotes is also a library's header.
    check_library(file, line, quoted)
    check_quoted(file, line, quoted)
  end
  local library = text:match("^%s*#%s*include%s*<([^>]+)>")
  if library then check_library(file, line, library) end
end

local function check_lua(file, line, text)
  if not within(file, "stdlib") then return end
  for module in text:gsub("%-%-.*", ""):gmatch("require%s*%(?%s*[\"']([%w_%.]+)[\"']") do
    local own = module == "actor" or module:match("^actor%.")
    if not own and not builtin_modules[module] then
      complain(file, line, ('stdlib must not require "%s"'):format(module))
    end
  end
end

local function check_lines(file, check)
  local count = 0
  for text in io.lines(root .. "/" .. file) do
    count = count + 1
    check(file, count, text)
  end
  if count > max_lines then
    print(("%s: warning: %d lines; split files of more than %d"):format(file, count, max_lines))
  end
end

local seen = {}
for file in io.lines() do
  local ending = file:match("%.([^./]+)$")
  if ending == "cpp" or ending == "hpp" or ending == "h" or ending == "c" then
    local name = file:match("[^/]+$")
    if seen[name] then complain(file, 1, ("the name is taken by %s"):format(seen[name])) end
    seen[name] = seen[name] or file
    check_lines(file, check_cpp)
  elseif ending == "lua" then
    check_lines(file, check_lua)
  end
end
os.exit(problems == 0 and 0 or 1)
