--- Alternatives compared over seeds: the module of examples/mnist_barriers.lua.
local comparison = dofile(source_dir .. "/examples/models/comparison.lua")
local xml = require("plot_xml")

-- Runs of three names with three seeds, not in order; each of bsp's is 1 below ssp:4's, whatever the seed does.
local function runs_of(seeds)
  local runs = {}
  for _, seed in ipairs(seeds) do
    for name, more in pairs { bsp = 0, ["ssp:4"] = 1, ["pssp:2:4"] = 10 * (seed % 2) } do
      runs[#runs + 1] = { name = name, seed = seed, steps = 100 * seed + more, curve = { seed, 3 * seed + more } }
    end
  end
  table.sort(runs, function(a, b) return a.name < b.name end)
  return runs
end

local steps = { text = "steps", of = function(run) return run.steps end }
local curve = {
  text = "curve",
  of = function(run, at)
    if at then return run.curve[at] end
    return run.curve
  end,
}
local ranks = { text = "ranks", of = function(run) return { run.steps - 5, run.steps, run.steps + 20 } end }

test("a table has a line for each alternative, with means and intervals below their titles", function()
  local lines = {}
  for line in (comparison.new(runs_of { 3, 1, 2 }):table { steps, curve } .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
  equal(#lines, 4)
  equal(lines[1], "           steps                     curve")
  -- 4.303 is Student's t for 0.975 with 2 degrees of freedom; the standard deviations are 100 and 2.
  equal(lines[2], "bsp        200.00 [-48.41, 448.41]   4.00 [-0.97, 8.97]")
  equal(lines[4], "ssp:4      201.00 [-47.41, 449.41]   4.50 [-0.47, 9.47]")
end)

test("a difference is paired by seed, which cancels the effect of a seed on both", function()
  local found = comparison.new(runs_of { 3, 1, 2 })
  local m = found:difference(steps, "ssp:4", "bsp")
  equal({ m.mean, m.low, m.high, m.n, m.verdict }, { 1, 1, 1, 3, "holds" })
  equal(found:difference(steps, "bsp", "ssp:4").verdict, "does not hold")
  m = found:difference(steps, "pssp:2:4", "bsp") -- 10, 0, 10
  near(m.mean, 20 / 3, 1e-12)
  near(m.low, 20 / 3 - 4.302652729749 * math.sqrt(100 / 3) / math.sqrt(3), 1e-9)
  equal(m.verdict, "undecided")
  equal(found:difference(steps, "bsp", "bsp").verdict, "undecided")
end)

test("a single seed has no interval, and its verdict is for this run only", function()
  local found = comparison.new(runs_of { 2 })
  equal(found:difference(steps, "ssp:4", "bsp").verdict, "holds in this run")
  equal(found:difference(steps, "bsp", "ssp:4").verdict, "does not hold in this run")
  equal(found:difference(steps, "bsp", "pssp:2:4").verdict, "does not hold in this run")
  matches(found:table { steps }, "bsp        200.00\n", true)
end)

test("a claim is checked for each pair, for rules of any parameters, and omitted without a pair", function()
  local found = comparison.new(runs_of { 1, 2 })
  equal(found:claims {
    { "bsp is slow", steps, more = { "asp", "pssp", "ssp" }, less = { "bsp" } },
    { "asp is fast", steps, more = { "asp" }, less = { "bsp" } },
  }, {
    "claims: 2 pairs are tested, each with an interval of 97.5 %, so that all together have 95 %",
    -- 25.45 is Student's t for 0.9875 with 1 degree of freedom; the mean 5 has a standard error of 5.
    "bsp is slow (steps):", "    pssp:2:4 above bsp by 5.00 [-122.26, 132.26]: undecided",
    "    ssp:4 above bsp by 1.00 [1.00, 1.00]: holds",
  })
  equal(comparison.new(runs_of { 2 }):claims { { "bsp is slow", steps, more = { "ssp" }, less = { "bsp" } } },
    { "bsp is slow (steps):", "    ssp:4 above bsp by 1.00: holds in this run" })
end)

-- The corners of each band over two points, in pixels downwards: {left top, right top, right bottom, left bottom}.
local function bands(svg)
  xml.read(svg)
  local out = {}
  for path in svg:gmatch('class="band" d="(M0 [^"]+)"') do
    out[#out + 1] = {}
    for y in path:gmatch("[ML][%d.]+ ([-%d.]+)") do table.insert(out[#out], tonumber(y)) end
    equal(#out[#out], 4)
  end
  return out
end

test("lines have bands: intervals, or the minimum and maximum over the runs", function()
  local found, y = comparison.new(runs_of { 1, 2, 3 }), { min = 0, max = 400 }
  local svg = found:lines { measure = curve, points = { 1, 2 } }
  for _, name in ipairs { ">bsp<", ">ssp:4<", ">pssp:2:4<" } do matches(svg, name, true) end
  local bsp, _, ssp = unpack(bands(svg))
  near((bsp[3] - bsp[2]) / (bsp[4] - bsp[1]), 3, 0.01) -- of 3, 6, 9 beside 1, 2, 3
  near(bsp[1], ssp[1], 0.01)
  matches(svg, "bands: 95 % intervals over the seeds", true)
  bsp, _, ssp = unpack(bands(found:lines { measure = ranks, points = { 1, 2 }, band = "range", y = y }))
  near((bsp[4] - bsp[1]) / (bsp[1] - ssp[1]), 25, 1) -- ssp:4's is 1 step higher
  local single = comparison.new(runs_of { 1 })
  svg = single:lines { measure = curve, points = { 1, 2 }, notes = { "of one seed" } }
  equal(bands(svg), {})
  equal({ svg:find("bands:", 1, true) or 0, svg:find("of one seed", 1, true) ~= nil }, { 0, true })
  equal(#bands(single:lines { measure = ranks, points = { 1, 2 }, band = "range" }), 3)
end)
