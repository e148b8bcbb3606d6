--- Figures and tables in a folder.
local folder = require("actor.folder")
local plot = require("actor.plot")
local with_file = require("with_file")

local function text_of(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- Calls body(path) with an unused path, and removes the files that body creates there.
local function with_path(names, body)
  local path = os.tmpname()
  os.remove(path)
  local fine, message = xpcall(body, debug.traceback, path)
  for _, name in ipairs(names) do os.remove(path .. name) end
  os.remove(path)
  if not fine then error(message, 0) end
end

test("a folder is created with its parents, for any name, and may exist", function()
  with_path({ "/a 'b'/c $(d)", "/a 'b'" }, function(path)
    equal(folder.new(path .. "/a 'b'/c $(d)").path, path .. "/a 'b'/c $(d)")
    folder.new(path .. "/a 'b'/c $(d)"):csv("t.csv", { "n" }, {})
    equal(text_of(path .. "/a 'b'/c $(d)/t.csv"), "n\n")
    os.remove(path .. "/a 'b'/c $(d)/t.csv")
  end)
end)

test("a failure to create a folder is an error that names the folder", function()
  with_file("", function(path)
    raises(function() folder.new(path .. "/below") end, "folder_spec.lua:%d+: folder.new: .*/below cannot be made: Not a directory")
  end)
end)

test("rows are written with the formats of their columns, and texts are quoted where necessary", function()
  with_path({ "/t.csv" }, function(path)
    folder.new(path):csv("t.csv", { "name", "n", "seconds %.3f", "left" }, {
      { name = "ssp:4", n = 3, seconds = 0.12345, more = 1 }, { name = 'a, "b"', n = 0.1, left = false },
    })
    equal(text_of(path .. "/t.csv"), 'name,n,seconds,left\nssp:4,3,0.123,\n"a, ""b""",0.1,,false\n')
  end)
end)

test("a figure is written as SVG and, with librsvg, as PNG; a failed write is an error", function()
  with_path({ "/f.svg", "/f.png" }, function(path)
    local here, svg = folder.new(path), plot.line { series = { { y = { 1, 2 } } } }
    here:figure("f", svg)
    equal(text_of(path .. "/f.svg"), svg)
    local drawn, _, code = plot.png(path .. "/f.png", svg)
    if drawn then equal(text_of(path .. "/f.png"):sub(2, 4), "PNG") else equal(code, "unavailable") end
    raises(function() here:figure("none/f", svg) end, "folder_spec.lua:%d+: folder:figure: .*none/f.svg")
    raises(function() here:csv("none/t.csv", { "n" }, {}) end, "folder_spec.lua:%d+: folder:csv: .*none/t.csv")
  end)
end)
