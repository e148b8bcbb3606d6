--- Figures as files: SVG in place or replaced atomically, PNG with librsvg.
local ffi = require("ffi")
local plot = require("actor.plot")
local png = require("actor.plot.png")
local theme = require("actor.plot.theme")
local text_file = require("text_file")

ffi.cdef [[
int mkdir(const char *path, unsigned mode);
int rmdir(const char *path);
int symlink(const char *target, const char *path);
int mkfifo(const char *path, unsigned mode);
]]

-- Calls body(folder) with an empty folder. Afterwards the folder must have no files except those named in `leaves`.
local function in_folder(leaves, body)
  local folder = os.tmpname()
  os.remove(folder)
  assert(ffi.C.mkdir(folder, 448) == 0)
  local fine, message = xpcall(body, debug.traceback, folder)
  for _, name in ipairs(leaves) do os.remove(folder .. "/" .. name) end
  local empty = ffi.C.rmdir(folder) == 0
  if not fine then error(message, 0) end
  assert(empty, "something else was left in " .. folder)
end

test("a figure is saved, and a second save replaces it", function()
  in_folder({ "a.svg" }, function(folder)
    local path = folder .. "/a.svg"
    equal({ plot.save(path, "<svg/>") }, { true })
    equal(text_file.read(path), "<svg/>")
    equal({ plot.save(path, "<svg>2</svg>") }, { true })
    equal(text_file.read(path), "<svg>2</svg>")
  end)
end)

test("a save through a link replaces the file and keeps the link", function()
  in_folder({ "a.svg", "link.svg" }, function(folder)
    plot.save(folder .. "/a.svg", "one")
    assert(ffi.C.symlink("a.svg", folder .. "/link.svg") == 0)
    equal({ plot.save(folder .. "/link.svg", "two") }, { true })
    equal(text_file.read(folder .. "/a.svg"), "two")
  end)
end)

test("a save through a link to a missing file creates the file and keeps the link", function()
  in_folder({ "a.svg", "link.svg", "far.svg", "loop.svg" }, function(folder)
    assert(ffi.C.symlink("a.svg", folder .. "/link.svg") == 0)
    assert(ffi.C.symlink(folder .. "/link.svg", folder .. "/far.svg") == 0)
    assert(ffi.C.symlink("loop.svg", folder .. "/loop.svg") == 0)
    equal({ plot.save(folder .. "/far.svg", "one") }, { true })
    equal(text_file.read(folder .. "/a.svg"), "one")
    equal({ plot.save(folder .. "/link.svg", "two") }, { true })
    equal(text_file.read(folder .. "/a.svg"), "two")
    local saved, message, code = plot.save(folder .. "/loop.svg", "x")
    equal({ saved, code }, { nil, "unwritable" })
    assert(message:find("symbolic links"), message)
  end)
end)

test("a failed write returns the reason", function()
  in_folder({}, function(folder)
    local saved, message, code = plot.save(folder .. "/none/a.svg", "x")
    equal({ saved, code }, { nil, "unwritable" })
    assert(message:find("/none/a.svg: .*No such file or directory"), message)
    saved, message, code = plot.save(folder, "x")
    equal({ saved, code }, { nil, "unwritable" })
    assert(message:find("directory"), message)
  end)
  local saved, message, code = plot.save("/dev/full", ("x"):rep(1e5))
  equal({ saved, code }, { nil, "unwritable" })
  assert(message:find("/dev/full", 1, true) and message:find("space"), message)
end)

test("pipes and devices are written in place", function()
  in_folder({ "pipe" }, function(folder)
    local path = folder .. "/pipe"
    assert(ffi.C.mkfifo(path, 384) == 0)
    local reader = assert(io.open(path, "r+b")) -- open for reading and writing, so that neither end blocks
    equal({ plot.save(path, "through\n") }, { true })
    equal(reader:read("*l"), "through")
    reader:close()
    equal({ plot.save("/dev/null", "x") }, { true })
  end)
end)

test("a saved file has the bytes of the figure", function()
  in_folder({ "a.svg" }, function(folder)
    local svg = plot.line({ series = { { name = "é", y = { 1, 2, 3 } } } })
    assert(plot.save(folder .. "/a.svg", svg))
    equal(text_file.read(folder .. "/a.svg"), svg)
  end)
end)

-- --- PNG ---

test("without librsvg the message names the package", function()
  in_folder({}, function(folder)
    for _, loader in ipairs({ function() return ffi.load("there-is-no-such-library") end, function() error("gone") end }) do
      local written, message, code = plot.png(folder .. "/a.png", "<svg/>", { loader = loader })
      equal({ written, code }, { nil, "unavailable" })
      assert(message:find("apt-get install librsvg2-2", 1, true), message)
    end
  end)
end)

-- Returns a function from "#RRGGBB" to the number of pixels of this colour in the drawn figure, and the first pixel's
-- colour.
local function pixels(svg, options)
  return png.drawn(svg, options, function(lib, surface, width, height)
    local data, stride = lib.cairo_image_surface_get_data(surface), lib.cairo_image_surface_get_stride(surface)
    local counts = {}
    for y = 0, height - 1 do
      for x = 0, width - 1 do
        local p = data + y * stride + 4 * x
        local key = p[2] * 65536 + p[1] * 256 + p[0]
        counts[key] = (counts[key] or 0) + 1
      end
    end
    return function(hex) return counts[tonumber(hex:sub(2), 16)] or 0 end, data[2] * 65536 + data[1] * 256 + data[0]
  end)
end

test("a PNG shows the colours of its scheme", function()
  local svg = plot.line({ title = "t", width = 300, height = 200,
    series = { { name = "a", y = { 1, 3 } }, { name = "b", y = { 2, 2 } } } })
  for name, scheme in pairs(theme.schemes) do
    local count, corner, code = pixels(svg, { scheme = name, width = 600 })
    if code == "unavailable" then return assert(corner:find("librsvg2-2", 1, true)) end
    equal(corner, tonumber(scheme.background:sub(2), 16))
    assert(count(scheme.background) > 50000, name)
    for i = 1, 2 do
      local seen = count(scheme.series[i])
      assert(seen > 300, ("%s colour %d: %d pixels"):format(name, i, seen))
    end
    assert(count(scheme.text) > 5, "the title's letters")
  end
end)

test("a PNG has the requested size, or twice the figure's", function()
  in_folder({ "a.png" }, function(folder)
    local path = folder .. "/a.png"
    local svg = plot.bars({ width = 300, height = 200, categories = { "a" }, series = { { y = { 1 } } } })
    for _, case in ipairs({ { nil, 600, 400 }, { 150, 150, 100 } }) do
      local written, message, code = plot.png(path, svg, { width = case[1] })
      if code == "unavailable" then return assert(message:find("librsvg2-2", 1, true)) end
      equal({ written, message }, { true })
      local bytes = text_file.read(path)
      equal(bytes:sub(1, 8), "\137PNG\r\n\26\n")
      local function number(at) return bytes:byte(at + 2) * 256 + bytes:byte(at + 3) end
      equal({ number(17), number(21) }, { case[2], case[3] })
    end
  end)
end)

test("an invalid SVG, an oversized image and a missing folder are errors", function()
  in_folder({}, function(folder)
    local written, message, code = plot.png(folder .. "/a.png", "no svg at all")
    if code == "unavailable" then return assert(message:find("librsvg2-2", 1, true)) end
    equal({ written, code }, { nil, "invalid" })
    local _, _, large = plot.png(folder .. "/a.png", plot.line({ width = 200, height = 10000 }), { width = 30000 })
    equal(large, "invalid")
    local _, text, nowhere = plot.png(folder .. "/none/a.png", plot.line({}))
    equal(nowhere, "unwritable")
    assert(text:find(folder .. "/none/a.png", 1, true))
  end)
  raises(function() plot.png("a.png", "<svg/>", { scheme = "pink" }) end,
    "plot_file_spec.lua:%d+: bad argument 'scheme' to plot.png")
  raises(function() plot.png("a.png", "<svg/>", { width = 0 }) end, "bad argument 'width'")
  raises(function() plot.save(nil, "x") end, "plot_file_spec.lua:%d+: bad argument 'path' to plot.save")
end)
