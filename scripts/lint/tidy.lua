-- clang-tidy over every .cpp whose text, or that of a header of the tree that it includes, has changed since it was
-- last found clean. Usage: luajit tidy.lua BUILD CACHE JOBS < every C++ and settings file, relative to where it runs.
-- CACHE/<file>.ok holds what a clean result rests on: the digests of all files involved, compared as text.

local build, cache, jobs = arg[1], arg[2], tonumber(arg[3])

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

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- path -> digest, by one process for all files.
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

-- Adds `path` and what it includes of the tree, directly and through others, to `found`.
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
local stale = {}
for _, source in ipairs(sources) do
  local stamp = cache .. "/" .. source:gsub("/", "_")
  local key = key_of(source, digest, common)
  if read(stamp .. ".ok") ~= key then
    write(stamp .. ".key", key)
    stale[#stale + 1] = source .. "\0" .. stamp
  end
end
if #stale == 0 then os.exit(0) end

-- One process a file, `jobs` at a time; the key becomes the stamp of a clean file.
local one = 'clang-tidy --quiet -p "$0" "$1" >"$2.log" 2>&1 && mv "$2.key" "$2.ok" && exit 0; '
  .. 'grep -v -e "warnings generated" -e "^Suppressed " -e "^Use -header-filter" -e "warnings and .* generated" -e "^Error while processing" "$2.log"; exit 1'
local list = os.tmpname()
write(list, table.concat(stale, "\0") .. "\0")
local failed = os.execute(("xargs -0 -n 2 -P %d sh -c %s %s < %s"):format(jobs, quote(one), quote(build), quote(list)))
os.remove(list)
os.exit(failed == 0 and 0 or 1)
