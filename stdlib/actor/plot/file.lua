--- Writing a figure's file: through a temporary file and a rename where the target is or will be a regular file, so that
--- a reader never sees half of it and a failure leaves what was there; in place where it is something else.
local ffi = require("ffi")
local files = require("actor.c.files")

local M = {}

-- struct statx has the same layout on every Linux machine, unlike struct stat; the mode is at byte 28.
ffi.cdef [[
int statx(int folder, const char *path, int flags, unsigned mask, void *out);
int chmod(const char *path, unsigned mode);
int getpid(void);
]]

local at_current_folder, type_and_mode = -100, 3
local buffer = ffi.new("uint8_t[256]")

-- The mode of what a path leads to (type and permissions); nil where nothing is there.
local function mode_of(path)
  if ffi.C.statx(at_current_folder, path, 0, type_and_mode, buffer) ~= 0 then return nil end
  return tonumber(ffi.cast("uint16_t *", buffer + 28)[0])
end

local function failure(path, message)
  message = tostring(message)
  if not message:find(path, 1, true) then message = path .. ": " .. message end
  return nil, message, "unwritable"
end

-- Writes and closes; the first failure's message, or nil.
local function fill(file, bytes)
  local written, message = file:write(bytes)
  local closed, later = file:close()
  if not written then return message end
  if not closed then return later end
end

local function write_in_place(path, bytes)
  local standard = path == "/dev/stdout" and io.stdout or path == "/dev/stderr" and io.stderr
  if standard then -- opening it again would write over what was printed, where it is a file
    local written, message = standard:write(bytes)
    if written then written, message = standard:flush() end
    if not written then return failure(path, message) end
    return true
  end
  local file, message = io.open(path, "wb")
  if not file then return failure(path, message) end
  message = fill(file, bytes)
  if message then return failure(path, message) end
  return true
end

local count = 0

-- Creates a file beside `target` that was not there before.
local function create_beside(target)
  local file, message, name
  for _ = 1, 100 do
    count = count + 1
    name = ("%s.%d-%d.part"):format(target, ffi.C.getpid(), count)
    file, message = io.open(name, "wbx")
    if file then return file, name end
    if not message:find("exists") then break end
  end
  return nil, (message:gsub("^.*%.part: ", "")) -- the reason alone: the user did not ask for that file
end

local function replace(path, target, bytes, mode)
  if mode then -- rename asks for the folder's permission only
    local file, message = io.open(target, "r+b")
    if not file then return failure(path, message) end
    file:close()
  end
  local file, name = create_beside(target)
  if not file then return failure(path, name) end
  local message = fill(file, bytes)
  if not message then
    if mode then ffi.C.chmod(name, mode % 4096) end
    local renamed
    renamed, message = os.rename(name, target)
    if renamed then return true end
  end
  os.remove(name)
  return failure(path, message)
end

---Writes `bytes` to `path`.
---@param path string
---@param bytes string
---@return true? written
---@return string? message
---@return string? code "unwritable"
function M.write(path, bytes)
  local target = files.regular(path) -- behind the links, which a rename would replace
  if not target or path:find("^/dev/std") or path:find("^/dev/fd/") or path:find("^/proc/") then
    return write_in_place(path, bytes)
  end
  return replace(path, target, bytes, mode_of(path))
end

return M
