--- Every function that saves a file either replaces the whole file or leaves it unchanged.
local ffi = require("ffi")
local files = require("actor.c.files")
local data = require("actor.data")
local nn = require("actor.nn")
local plot = require("actor.plot")
local tensor = require("actor.tensor")
local text_file = require("text_file")

ffi.cdef [[
typedef struct { uint64_t soft, hard; } saved_files_limit;
typedef void (*saved_files_handler)(int);
int setrlimit(int, const saved_files_limit*);
int getrlimit(int, saved_files_limit*);
saved_files_handler signal(int, saved_files_handler);
int mkdir(const char *path, unsigned mode);
int rmdir(const char *path);
int symlink(const char *target, const char *path);
int mkfifo(const char *path, unsigned mode);
int chmod(const char *path, unsigned mode);
int umask(int mode);
]]

local file_size, too_large, ignored = 1, 25, ffi.cast("saved_files_handler", 1)

-- Calls body with a limit, in bytes, on the size of this process's files.
local function with_limit(bytes, body)
  local before, limit = ffi.new("saved_files_limit"), ffi.new("saved_files_limit")
  assert(ffi.C.getrlimit(file_size, before) == 0)
  limit.soft, limit.hard = bytes, before.hard
  local handler = ffi.C.signal(too_large, ignored)
  assert(ffi.C.setrlimit(file_size, limit) == 0)
  local fine, message = xpcall(body, debug.traceback)
  assert(ffi.C.setrlimit(file_size, before) == 0)
  ffi.C.signal(too_large, handler)
  if not fine then error(message, 0) end
end

-- Calls body(folder) with an empty folder. Afterwards the folder must have exactly the files named in `leaves`.
local function in_folder(leaves, body)
  local folder = os.tmpname()
  os.remove(folder)
  assert(ffi.C.mkdir(folder, 448) == 0)
  local fine, message = xpcall(body, debug.traceback, folder)
  local left = files.list(folder)
  table.sort(left)
  for _, name in ipairs(left) do os.remove(folder .. "/" .. name) end
  ffi.C.rmdir(folder)
  if not fine then error(message, 0) end
  equal(left, leaves)
end

local t = tensor.ones { 100, 100 }

-- Functions that write to a path and raise an error if the write fails.
local savers = {
  npy = function(path) tensor.save(path, t) end,
  npz = function(path) tensor.save(path, { a = t, ["größe"] = t }) end,
  data_npy = function(path) data.npy.save(path, t) end,
  data_npz = function(path) data.npz.save(path, { a = t }) end,
  network = function(path) nn.input({ 100 }):linear(100):network({ seed = 1 }):save(path) end,
  figure = function(path)
    local saved, message = plot.save(path, ("<svg/>"):rep(1000))
    if not saved then error(message, 2) end
  end,
}

for name, save in pairs(savers) do
  test(name .. ": a failed save leaves the previous file and no other file", function()
    in_folder({ "saved" }, function(folder)
      local path = folder .. "/saved"
      save(path)
      local good = text_file.read(path)
      holds(#good, ">", 5000)
      for _, bytes in ipairs { 0, 1, 100, 4096 } do
        with_limit(bytes, function() raises(function() save(path) end, "/saved: writing: File too large") end)
        equal(text_file.read(path) == good, true)
      end
      text_file.write(path, "old")
      save(path)
      equal(text_file.read(path) == good, true)
    end)
  end)

  test(name .. ": a failed save creates no file", function()
    in_folder({}, function(folder)
      with_limit(100, function() raises(function() save(folder .. "/new") end, "File too large") end)
      raises(function() save(folder .. "/none/new") end, "/none/new: .*No such file or directory")
      raises(function() save(folder) end, "[Ii]s a directory")
    end)
  end)

  test(name .. ": a save keeps a link, and the permissions of its target", function()
    in_folder({ "far", "link", "saved", "script" }, function(folder)
      assert(ffi.C.symlink("saved", folder .. "/link") == 0)
      assert(ffi.C.symlink(folder .. "/link", folder .. "/far") == 0)
      save(folder .. "/far")
      local good = text_file.read(folder .. "/saved")
      assert(ffi.C.chmod(folder .. "/saved", 384) == 0)
      text_file.write(folder .. "/script", "")
      save(folder .. "/link")
      equal(text_file.read(folder .. "/saved") == good, true)
      equal(io.popen(("stat -c '%%a %%F' %s/saved %s/link"):format(folder, folder)):read("*a"),
        "600 regular file\n777 symbolic link\n")
    end)
  end)

  test(name .. ": a pipe or a device is written in place", function()
    in_folder({ "pipe" }, function(folder)
      raises(function() save("/dev/full") end, "/dev/full: .*No space left on device")
      save("/dev/null")
      save(folder .. "/plain")
      local good = text_file.read(folder .. "/plain")
      os.remove(folder .. "/plain")
      local path = folder .. "/pipe"
      assert(ffi.C.mkfifo(path, 384) == 0)
      local reader = assert(io.open(path, "r+b")) -- open for reading and writing, so that neither end blocks
      if #good < 65536 then
        save(path)
        equal(#reader:read(#good), #good)
      end
      reader:close()
    end)
  end)
end

test("names that an archive cannot store leave the previous file", function()
  in_folder({ "a.npz" }, function(folder)
    local path = folder .. "/a.npz"
    tensor.save(path, { a = t })
    local good = text_file.read(path)
    for _, name in ipairs { "", " x", "/x", "a\nb", "\255", ("x"):rep(2000) } do
      raises(function() tensor.save(path, { a = t, [name] = t }) end, "saved_files_spec.lua:%d+: array name '.*' cannot be stored")
      equal(text_file.read(path) == good, true)
    end
  end)
end)

test("a new file has the permissions allowed by the umask", function()
  in_folder({ "a.npy" }, function(folder)
    local before = ffi.C.umask(18)
    tensor.save(folder .. "/a.npy", t)
    ffi.C.umask(before)
    equal(io.popen("stat -c %a " .. folder .. "/a.npy"):read("*a"), "644\n")
  end)
end)
