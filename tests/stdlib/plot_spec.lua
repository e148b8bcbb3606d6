--- Charts: well-formed XML, uncut words, distinguishable colours.
local plot = require("actor.plot")
local theme = require("actor.plot.theme")
local text = require("actor.plot.text")
local rng = require("actor.rng")
local xml = require("plot_xml")

local nan, inf = 0 / 0, 1 / 0

-- The document's nodes, after the checks that apply to every figure.
local function read(svg)
  local root, all = xml.read(svg)
  equal({ root.name, root.attributes.xmlns, root.attributes.role }, { "svg", "http://www.w3.org/2000/svg", "img" })
  equal({ root.children[1].name, root.children[2].name }, { "title", "desc" })
  assert(root.attributes.viewBox == "0 0 " .. root.attributes.width .. " " .. root.attributes.height)
  for _, node in ipairs(all) do
    assert(node.name ~= "script" and node.name ~= "image" and node.name ~= "use", node.name)
    for key, value in pairs(node.attributes) do
      assert(key ~= "href" and key ~= "id" and not key:find("^on"), key)
      for _, bad in ipairs({ "nan", "inf", "url" }) do
        assert(not value:find(bad), node.name .. "." .. key .. ": " .. value)
      end
    end
  end
  assert(not svg:find("@import") and not svg:find("url%("))
  return root, all
end

local function has(all, words)
  for _, line in ipairs(xml.texts(all)) do
    if line:find(words, 1, true) then return true end
  end
  return false
end

local font_sizes = { title = 16.5, sub = 12.5, note = 11 }

-- Checks that every word is inside the figure, by the layout's assumed widths.
local function nothing_cut(root, all)
  local width, height = tonumber(root.attributes.width), tonumber(root.attributes.height)
  for _, node in ipairs(xml.named(all, "text")) do
    local a = node.attributes
    local x, y, wide = tonumber(a.x), tonumber(a.y), text.width(node.text, font_sizes[a.class] or 12)
    local left = a["text-anchor"] == "end" and x - wide or a["text-anchor"] == "middle" and x - wide / 2 or x
    if a.transform then
      left, wide = x - wide * 0.77, wide * 0.77
    elseif a.class == "note" and a["text-anchor"] == "middle" then
      left = math.max(left, 0) -- the value on a bar: relative to the plot
    end
    assert(left >= -0.5 and left + wide <= width + 0.5 and y > 0 and y < height + 0.5,
      ("'%s' from %g to %g at %g, figure %g x %g"):format(node.text, left, left + wide, y, width, height))
  end
end

local function some_series(count, points)
  local random, out = rng(scratch_seed), {}
  for i = 1, count do
    local x, y = {}, {}
    for k = 1, points do x[k], y[k] = k, i + random:normal() end
    out[i] = { name = "series " .. i, x = x, y = y }
  end
  return out
end

test("a figure of any number of series has each name, and no word is cut", function()
  for _, count in ipairs({ 0, 1, 2, 7, 8, 12, 15, 25, 60 }) do
    local root, all = read(plot.line({ title = "t", subtitle = "s", x = { label = "x", unit = "s" }, y = { label = "y" },
      series = some_series(count, 9) }))
    for i = 1, count do assert(has(all, "series " .. i), i) end
    nothing_cut(root, all)
  end
end)

test("words are escaped, and wrapped without breaking a word", function()
  local odd = "<a href=\"x\"> & 'b' ]]> \1\255 ümläut 漢字 \240\159\152\128"
  local long = ("word "):rep(60) .. ("unbroken"):rep(40)
  local root, all = read(plot.line({
    title = odd, subtitle = long, x = { label = odd, unit = "<s>" }, y = { label = long, unit = "&" },
    series = { { name = odd, y = { 1, 2 } }, { name = long, y = { 2, 3 } } }, references = { { name = odd, y = { 1 } } },
    notes = { odd, long },
  }))
  nothing_cut(root, all)
  equal(root.children[1].text, (odd:gsub("[\1\255]", "\239\191\189")))
  assert(has(all, "ümläut") and has(all, "漢字"))
  root, all = read(plot.bars({ title = odd, categories = { odd, long, "" }, series = { { name = odd, y = { 1, 2, 3 } } } }))
  nothing_cut(root, all)
  equal(text.escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&apos;")
  equal(text.escape("\192\128 \237\160\128 \244\144\128\128 \226\130"), -- overlong, a surrogate, above the last, cut
    ("x"):rep(2):gsub("x", "\239\191\189") .. " " .. ("\239\191\189"):rep(3) .. " " .. ("\239\191\189"):rep(4) .. " "
    .. ("\239\191\189"):rep(2))
end)

test("the same data gives the same bytes", function()
  local function draw()
    local series = some_series(5, 30)
    series[1].low, series[1].high = series[1].y, series[2].y
    return plot.line({ title = "t", series = series, x = { log = true } })
      .. plot.cdf({ series = { { name = "a", samples = series[1].y } } })
      .. plot.bars({ categories = { "a", "b" }, series = { { y = { 1, 2 } } }, values = true })
  end
  equal(draw(), draw())
end)

test("a non-finite value is a gap, and a note counts the gaps", function()
  local _, all = read(plot.line({ series = { { name = "a", y = { 1, 2, nan, 3, 4, inf, 5 } } } }))
  assert(has(all, "Not shown: 2 points with a value that is not finite (a: 2)."))
  local lines = 0
  for _, node in ipairs(xml.named(all, "path")) do
    local moves = select(2, (node.attributes.d):gsub("M", ""))
    if (node.attributes.class or ""):find("^line") and moves == 2 then lines = lines + 1 end
  end
  equal(lines, 1, "a line of two parts; the last point stands alone")
  _, all = read(plot.line({ x = { log = true }, y = { log = true },
    series = { { name = "a", x = { 0, 1, 10 }, y = { 1, -1, 2 } }, { name = "b", x = { -1 }, y = { nan } } } }))
  assert(has(all, "2 points at or below zero, which a logarithmic axis does not have (a: 2)."))
  assert(has(all, "1 point with a value that is not finite (b: 1)."))
end)

test("empty data, one point and a constant have figures", function()
  for _, svg in ipairs({ plot.line({}), plot.line({ series = {} }), plot.line({ series = { { name = "a", y = {} } } }),
    plot.line({ series = { { y = { nan } } }, x = { log = true }, y = { log = 2 } }), plot.cdf({}),
    plot.cdf({ series = { { name = "a", samples = {} } } }), plot.bars({ categories = {} }),
    plot.bars({ categories = { "a" }, series = { { y = { nan } } } }) }) do
    local root, all = read(svg)
    assert(has(all, "no data"))
    nothing_cut(root, all)
  end
  for _, y in ipairs({ { 3 }, { 3, 3, 3 }, { 0, 0 }, { 1e300, -1e300 }, { 1.7e308, -1.7e308 }, { 5e-324 },
    { 1e-310, 2e-310 } }) do
    local root, all = read(plot.line({ series = { { name = "a", y = y } }, x = { label = "x" } }))
    assert(not has(all, "no data"))
    equal(#xml.named(all, "circle"), #y + 1, "a marker for each point, and one in the legend")
    nothing_cut(root, all)
    local three = { y[1], y[2] or y[1], y[3] or y[1] }
    read(plot.bars({ categories = { "a", "b", "c" }, series = { { y = three } }, values = true }))
    read(plot.cdf({ series = { { samples = y } } }))
  end
end)

-- The coordinates of a path of M, L, H and V.
local function corners(d)
  local out, x, y = {}, nil, nil
  for letter, rest in d:gmatch("([MLHV])([^MLHVZhvz]+)") do
    local first, second = rest:match("^(%S+) ?(%S*)$")
    if letter == "V" then y = tonumber(first) else x = tonumber(first) end
    if second ~= "" then y = tonumber(second) end
    out[#out + 1] = { x, y }
  end
  return out
end

local function path_of(all, class)
  for _, node in ipairs(all) do
    if node.attributes.class == class then return corners(node.attributes.d) end
  end
end

test("points are at the places given by the axes", function()
  local _, all = read(plot.line({ x = { min = 0, max = 10 }, y = { min = 0, max = 100 },
    series = { { x = { 0, 5, 10 }, y = { 0, 25, 100 } } } }))
  local axis, line = path_of(all, "axis"), path_of(all, "line")
  local width, height = axis[3][1] - axis[2][1], axis[2][2] - axis[1][2]
  equal(line[1], { 0, height })
  near(line[2][1], width / 2, 0.01)
  near(line[2][2], height * 0.75, 0.01)
  equal(line[3], { width, 0 })
end)

test("a band is between low and high", function()
  local _, all = read(plot.line({ x = { min = 1, max = 3 }, y = { min = 0, max = 10 },
    series = { { y = { 4, 5, 6 }, low = { 2, nan, 4 }, high = { 6, 7, 8 } } } }))
  equal(path_of(all, "band"), nil, "one point with limits is no band")
  _, all = read(plot.line({ x = { min = 1, max = 2 }, y = { min = 0, max = 10 },
    series = { { y = { 4, 5 }, low = { 2, 3 }, high = { 6, 10 } } } }))
  local band, axis = path_of(all, "band"), path_of(all, "axis")
  local width, height = axis[3][1] - axis[2][1], axis[2][2] - axis[1][2]
  local expected = { { 0, 0.4 }, { 1, 0 }, { 1, 0.7 }, { 0, 0.8 } }
  for i, corner in ipairs(expected) do
    near(band[i][1], corner[1] * width, 0.01)
    near(band[i][2], corner[2] * height, 0.01)
  end
end)

test("a distribution from samples equals the distribution from counts, rises to 1 and keeps its steps", function()
  local samples = { 3, 1, 3, 2, nan, 3 }
  local a = plot.cdf({ x = { min = 0, max = 4 }, series = { { name = "a", samples = samples } } })
  local b = plot.cdf({ x = { min = 0, max = 4 },
    series = { { name = "a", values = { 1, 2, 3, nan, 9 }, counts = { 1, 1, 3, 1, 0 } } } })
  equal(a, b)
  local _, all = read(a)
  assert(has(all, "1 value with a value that is not finite") and has(all, "cumulative share"))
  local line, axis = path_of(all, "line"), path_of(all, "axis")
  local height = axis[2][2] - axis[1][2]
  local shares = {}
  for i, corner in ipairs(line) do shares[i] = math.floor((1 - corner[2] / height) * 1000 + 0.5) / 1000 end
  equal(shares, { 0, 0, 0.2, 0.2, 0.4, 0.4, 1 })
end)

test("bars start at zero, error bars span their limits, references are on their series' bars", function()
  local _, all = read(plot.bars({ categories = { "a", "b" }, y = { min = -10, max = 10 }, values = true,
    series = { { name = "p", y = { 5, -5 }, low = { 4, -6 }, high = { 6, -4 } }, { name = "q", y = { 10, nan } } },
    references = { { name = "published", series = "q", y = { 9, 1 } } } }))
  local axis, bars = path_of(all, "axis"), {}
  local height = axis[2][2] - axis[1][2]
  for _, node in ipairs(xml.named(all, "rect")) do
    if node.attributes.class == "bar" then bars[#bars + 1] = node.attributes end
  end
  near(bars[1].y + 0, height / 4, 0.01)
  near(bars[1].height + 0, height / 4, 0.01)
  near(bars[2].y + 0, height / 2, 0.01)
  near(bars[3].y + 0, 0, 0.01)
  local err = path_of(all, "err")
  near(err[1][2], height * 0.3, 0.01)
  near(err[2][2], height * 0.2, 0.01)
  local ref = path_of(all, "ref")
  near(ref[1][1], bars[3].x + bars[3].width / 2, 0.02)
  assert(has(all, "published") and has(all, "−5") and has(all, "Not shown: 1 bar"))
end)

test("markers on the plot's edge cover no tick label and no key of the legend", function()
  local svg = plot.line {
    series = { { name = "a", x = { 0, 1 }, y = { 100, 0 } } }, references = { { name = "b", x = { 0, 1 }, y = { 100, 0 } } },
  }
  local _, all = read(svg)
  local left, right = math.huge, -math.huge
  for _, mark in ipairs(xml.named(all, "path")) do
    if mark.attributes.class == "grid" then
      for x in mark.attributes.d:gmatch("M([%d.]+) ") do left, right = math.min(left, tonumber(x)), math.max(right, tonumber(x)) end
      for x in mark.attributes.d:gmatch("H([%d.]+)") do right = math.max(right, tonumber(x)) end
    end
  end
  for _, word in ipairs(xml.named(all, "text")) do
    if word.attributes.class == "tick" and word.attributes["text-anchor"] == "end" then
      assert(tonumber(word.attributes.x) <= left - 9, "a label at " .. word.attributes.x .. ", the axis at " .. left)
    end
  end
  for _, key in ipairs(xml.named(all, "path")) do
    local x = (key.attributes.d or ""):match("^M([%d.]+) [%d.]+h26$")
    if x then assert(tonumber(x) >= right + 15, "a key at " .. x .. ", the plot's end at " .. right) end
  end
end)

test("series differ in dash or marker, not in their colour alone", function()
  local _, all = read(plot.line({ series = some_series(24, 3), height = 700 }))
  local seen, count = {}, 0
  for _, group in ipairs(xml.named(all, "g")) do
    local line, marker = group.children[1], group.children[2]
    if marker and (line.attributes.d or ""):find("h26$") then -- a sample of the legend
      local look, origin = line.attributes.class .. marker.name, corners(line.attributes.d)[1]
      for _, corner in ipairs(marker.attributes.d and corners(marker.attributes.d) or {}) do
        look = look .. (" %.1f %.1f"):format(corner[1] - origin[1], corner[2] - origin[2])
      end
      assert(not seen[look], look)
      seen[look], count = true, count + 1
    end
  end
  equal(count, 24)
end)

test("long data is thinned to the visible resolution and keeps its extremes", function()
  local x, y = {}, {}
  for i = 1, 50000 do x[i], y[i] = i, math.sin(i / 100) end
  y[25000] = 50
  local svg = plot.line({ series = { { name = "a", x = x, y = y } }, y = { min = -50, max = 50 } })
  assert(#svg < 120000, #svg)
  local _, all = read(svg)
  local top = math.huge
  for _, corner in ipairs(path_of(all, "line")) do top = math.min(top, corner[2]) end
  near(top, 0, 0.01)
end)

-- --- colours ---

local function linear(hex)
  local out = {}
  for i = 1, 3 do
    local c = tonumber(hex:sub(2 * i, 2 * i + 1), 16) / 255
    out[i] = c <= 0.04045 and c / 12.92 or ((c + 0.055) / 1.055) ^ 2.4
  end
  return out
end

-- Contrast as WCAG defines it, 1 .. 21.
local function contrast(a, b)
  local function luminance(hex)
    local c = linear(hex)
    return 0.2126 * c[1] + 0.7152 * c[2] + 0.0722 * c[3]
  end
  local first, second = luminance(a) + 0.05, luminance(b) + 0.05
  return math.max(first, second) / math.min(first, second)
end

test("colours have contrast on their background", function()
  near(contrast("#000000", "#FFFFFF"), 21, 1e-9)
  for name, scheme in pairs(theme.schemes) do
    for _, colour in ipairs(scheme.series) do
      assert(contrast(colour, scheme.background) >= 3, name .. " " .. colour)
    end
    for _, part in ipairs({ "text", "muted" }) do
      assert(contrast(scheme[part], scheme.background) >= 4.5, name .. " " .. part)
    end
    assert(contrast(scheme.axis, scheme.background) >= 3, name .. " axis")
    assert(contrast(scheme.grid, scheme.background) < 1.5, name .. " grid: fainter than the data")
  end
  equal(#theme.schemes.light.series, #theme.schemes.dark.series)
end)

-- Colours as colour-blind readers see them, in linear RGB (Machado, Oliveira, Fernandes 2009, severity 1).
local sights = {
  normal = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
  protanopia = { { 0.152286, 1.052583, -0.204868 }, { 0.114503, 0.786281, 0.099216 }, { -0.003882, -0.048116, 1.051998 } },
  deuteranopia = { { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 }, { -0.011820, 0.042940, 0.968881 } },
  tritanopia = { { 1.255528, -0.076749, -0.178779 }, { -0.078411, 0.930809, 0.147602 }, { 0.004733, 0.691367, 0.303900 } },
}

local function lab(hex, sight)
  local c, seen = linear(hex), {}
  for i, row in ipairs(sight) do
    seen[i] = math.max(0, math.min(1, row[1] * c[1] + row[2] * c[2] + row[3] * c[3]))
  end
  local function f(t) return t > 0.008856 and t ^ (1 / 3) or 7.787 * t + 16 / 116 end
  local x = f((0.4124 * seen[1] + 0.3576 * seen[2] + 0.1805 * seen[3]) / 0.95047)
  local y = f(0.2126 * seen[1] + 0.7152 * seen[2] + 0.0722 * seen[3])
  local z = f((0.0193 * seen[1] + 0.1192 * seen[2] + 0.9505 * seen[3]) / 1.08883)
  return { 116 * y - 16, 500 * (x - y), 200 * (y - z) }
end

test("colour-blind readers can distinguish the colours", function()
  for scheme_name, scheme in pairs(theme.schemes) do
    for sight_name, sight in pairs(sights) do
      for i = 1, #scheme.series do
        for k = 1, i - 1 do
          local a, b = lab(scheme.series[i], sight), lab(scheme.series[k], sight)
          local apart = math.sqrt((a[1] - b[1]) ^ 2 + (a[2] - b[2]) ^ 2 + (a[3] - b[3]) ^ 2)
          assert(apart >= 11, ("%s, %s: colours %d and %d are %.1f apart"):format(scheme_name, sight_name, k, i, apart))
        end
      end
    end
  end
end)

test("light is the default, dark is a media query, and darkened makes it the default", function()
  local svg = plot.line({ series = { { y = { 1, 2 } } } })
  local light, dark = svg:match("^(.-)@media %(prefers%-color%-scheme:dark%){(.-)}/%*dark")
  for i = 1, theme.colours do
    assert(light:find((".c%d{color:%s}"):format(i, theme.schemes.light.series[i]), 1, true))
    assert(dark:find((".c%d{color:%s}"):format(i, theme.schemes.dark.series[i]), 1, true))
  end
  local darkened = theme.darkened(svg)
  assert(not darkened:find("@media") and darkened:find(theme.schemes.dark.background, 1, true))
  xml.read(darkened)
  equal(theme.darkened("<svg/>"), "<svg/>")
end)

test("wrong arguments are errors at the user's line", function()
  raises(function() plot.line({ titel = "x" }) end, "plot_spec.lua:%d+: unknown option 'titel' to plot.line")
  raises(function() plot.line({ series = { { y = 3 } } }) end, "bad argument 'y' to plot.line: expected table, got number")
  raises(function() plot.line({ series = { { x = { 1 }, y = { 1, 2 } } } }) end,
    "plot_spec.lua:%d+: bad argument 'series%[1%].x' to plot.line: expected 2 numbers as y has, got 1")
  raises(function() plot.line({ series = { { y = { 1, "2" } } } }) end,
    "'series%[1%].y%[2%]' to plot.line: expected a number, got string")
  raises(function() plot.line({ series = { { y = { 1 }, low = { 1 } } } }) end, "low and high go together")
  raises(function() plot.line({ series = { { y = { 1 }, style = "bold" } } }) end,
    "one of 'line', 'step', 'points', got 'bold'")
  raises(function() plot.line({ x = { log = 3 } }) end, "bad argument 'x.log'")
  raises(function() plot.line({ x = { log = true, min = 0 } }) end, "bad argument 'x.min' .* above 0")
  raises(function() plot.line({ y = { min = 2, max = 1 } }) end, "min has to be below max")
  raises(function() plot.line({ y = { min = nan } }) end, "bad argument 'y.min'")
  raises(function() plot.line({ width = 10 }) end, "bad argument 'width' to plot.line")
  raises(function() plot.cdf({ series = { {} } }) end, "plot_spec.lua:%d+: .*either samples or values")
  raises(function() plot.cdf({ series = { { values = { 1 }, counts = { -1 } } } }) end, "'series%[1%].counts%[1%]'")
  raises(function() plot.bars({ categories = { "a" }, series = { { y = { 1, 2 } } } }) end,
    "one for each category, got 2")
  raises(function() plot.bars({ categories = { 1 } }) end, "'categories%[1%]' to plot.bars: expected string")
  raises(function() plot.bars({ categories = {}, references = { { series = "z", y = {} } } }) end, "there is no series 'z'")
end)
