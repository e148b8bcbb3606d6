-- Runs clang-tidy on every .cpp that is new, or has changed itself or in a header of the tree since its last clean
-- result. Usage: luajit tidy.lua BUILD CACHE JOBS < every C++ and settings file, relative to the current folder.
-- CACHE/<file>.ok holds the basis of a clean result: the digests of all files involved, compared as text.
--
-- Headers take most of the time. So many changed files are first checked in batches. A batch is one source with the
-- texts of all its files, since the path-sensitive analyser skips functions of included files. It follows calls from
-- one file of a batch into another, and checks a function met in such a call only with the arguments of that call. The
-- output of a batch is not shown. If a batch is not clean, because of a finding or because its files conflict, its
-- files are checked one by one, and only those results count.

local build, cache, jobs = arg[1], arg[2], tonumber(arg[3])
local batch_limit = 48  -- files

package.path = arg[0]:match("^(.*/)") .. "?.lua"

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- path -> digest, computed by one process for all files.
local function digests(paths)
  local list = os.tmpname()
  write(list, table.concat(paths, "\0"))
  local pipe = assert(io.popen("xargs -0 sha256sum 2>/dev/null < " .. quote(list)))
  local result = {}
  for line in pipe:lines() do
    local digest, path = line:match("^(%x+)%s+(.+)$")
    result[path] = digest
  end
  pipe:close()
  os.remove(list)
  return result
end

-- Adds `path` and all headers of the tree that it includes, directly or not, to `found`.
local function closure(path, digest, found)
  if found[path] or not digest[path] then return found end
  found[path] = true
  for target in read(path):gmatch('#%s*include%s*"([^"]+)"') do
    closure(target, digest, found)
    closure("bindings/include/" .. target, digest, found)
  end
  return found
end

local function key_of(path, digest, common)
  local lines = {}
  for involved in pairs(closure(path, digest, {})) do
    lines[#lines + 1] = digest[involved] .. "  " .. involved
  end
  table.sort(lines)
  return common .. table.concat(lines, "\n") .. "\n"
end

local files, sources, settings = {}, {}, {}
for file in io.lines() do
  files[#files + 1] = file
  if file:match("%.cpp$") then sources[#sources + 1] = file end
  if file:match("%.clang%-tidy$") or file:match("%.lua$") then settings[#settings + 1] = file end
end
table.sort(settings)

local digest = digests(files)
local version = assert(io.popen("clang-tidy --version | grep version")):read("*a")
local common = version
for _, file in ipairs(settings) do common = common .. digest[file] .. "  " .. file .. "\n" end

os.execute("mkdir -p " .. quote(cache))
local stale, size, stamp = {}, {}, {}
for _, source in ipairs(sources) do
  local key = key_of(source, digest, common)
  stamp[source] = cache .. "/" .. source:gsub("/", "_")
  if read(stamp[source] .. ".ok") ~= key then
    write(stamp[source] .. ".key", key)
    size[source] = #read(source)
    stale[#stale + 1] = source
  end
end
if #stale == 0 then os.exit(0) end

-- Runs one shell command for each item, `jobs` at a time, the largest first.
local function run(work)
  table.sort(work, function(a, b) return a.size > b.size end)
  local list, commands = os.tmpname(), {}
  for i, item in ipairs(work) do commands[i] = item.command .. "\0" end
  write(list, table.concat(commands))
  os.execute(("xargs -0 -r -n 1 -P %d sh -c < %s"):format(jobs, quote(list)))
  os.remove(list)
end

-- The compile commands without -Werror: clang-tidy's own settings decide which warnings are errors.
local commands = (read(build .. "/compile_commands.json") or ""):gsub(" %-Werror%f[%s]", "")
write(cache .. "/compile_commands.json", commands)

-- source -> its compile flags, as shell words. A source of a program that the build does not include (a bench, a fuzz
-- target) gets the flags of the first source in its folder's top folder.
local function compile_flags()
  local flags, root = {}, io.popen("pwd -P"):read("*l") .. "/"
  for command, file in commands:gmatch('"command": "(.-)",%s*"file": "(.-)"') do
    if file:sub(1, #root) == root then
      flags[file:sub(#root + 1)] = command:gsub("\\(.)", "%1"):gsub("^%S+", ""):gsub(" %-o %S+ %-c .*", "")
    end
  end
  local first = {}
  for _, source in ipairs(sources) do
    local top = source:match("^[^/]+/")
    if flags[source] and top and not first[top] then first[top] = flags[source] end
  end
  for _, source in ipairs(sources) do flags[source] = flags[source] or first[source:match("^[^/]+/")] end
  return flags
end

-- Returns the folder with the settings for the file: "", or a path with a slash at its end.
local function settings_folder(path)
  local longest = ""
  for _, file in ipairs(settings) do
    local folder = file:match("^(.*/)%.clang%-tidy$") or ""
    if #folder > #longest and path:sub(1, #folder) == folder then longest = folder end
  end
  return longest
end

local top, batch_count = cache .. "/batches/", 0

-- Functions that each program of a batch may define.
local entries = { "main", "LLVMFuzzerTestOneInput" }

-- Writes a batch as one source, in a folder with the same settings.
local function batch_of(paths, flags)
  local lines, bytes, folder = {}, 0, settings_folder(paths[1])
  for i, path in ipairs(paths) do
    local text = ('#line 1 "%s"\n%s'):format(path, read(path))
    for _, name in ipairs(entries) do
      if text:find("\n[%w\" ]*int " .. name .. "%(") then
        text = ("#define %s %s_%d\n%s\n#undef %s\n"):format(name, name, i, text, name)
      end
    end
    lines[i] = text
    bytes = bytes + size[path]
  end
  batch_count = batch_count + 1
  local file = top .. folder .. batch_count .. ".cpp"
  write(file, table.concat(lines))
  local command = "clang-tidy --quiet FILE -- FLAGS >FILE.log 2>&1 && touch FILE.clean"
  return { paths = paths, file = file, size = bytes,
    command = command:gsub("%u%u%u+", { FILE = quote(file), FLAGS = flags[paths[1] ] }) }
end

-- Checks batches, then the halves of unclean batches. Marks the sources of a clean batch as clean.
local function check_batches()
  os.execute("rm -rf " .. quote(top))
  for _, file in ipairs(settings) do
    if file:match("%.clang%-tidy$") then
      os.execute("mkdir -p " .. quote((top .. file):match("^.*/")))
      write(top .. file, read(file))
    end
  end
  local flags = compile_flags()
  local lists = require("batches")(stale, flags, settings_folder, batch_limit)
  while #lists > 0 do
    local work, halves = {}, {}
    for _, paths in ipairs(lists) do
      if #paths > 1 then work[#work + 1] = batch_of(paths, flags) end
    end
    run(work)
    for _, batch in ipairs(work) do
      if not read(batch.file .. ".clean") then
        local middle = math.floor(#batch.paths / 2)
        halves[#halves + 1] = { unpack(batch.paths, 1, middle) }
        halves[#halves + 1] = { unpack(batch.paths, middle + 1) }
      else
        for _, path in ipairs(batch.paths) do os.rename(stamp[path] .. ".key", stamp[path] .. ".ok") end
      end
    end
    lists = halves
  end
end

if #stale > 4 * jobs then check_batches() end

-- Runs one process a file; the key becomes the stamp of a clean file.
local work = {}
for _, source in ipairs(stale) do
  if read(stamp[source] .. ".key") then
    local command = 'clang-tidy --quiet -p CACHE SOURCE >STAMP.log 2>&1 && mv STAMP.key STAMP.ok && exit; '
      .. 'grep -v -e "warnings generated" -e "^Suppressed " -e "^Use -header-filter" -e "warnings and .* generated" -e "^Error while processing" STAMP.log'
    local words = { CACHE = quote(cache), SOURCE = quote(source), STAMP = quote(stamp[source]) }
    work[#work + 1] = { size = size[source], source = source, command = command:gsub("%u%u%u+", words) }
  end
end
run(work)
for _, item in ipairs(work) do
  if read(stamp[item.source] .. ".key") then os.exit(1) end
end
