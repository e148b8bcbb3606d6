--- Alternatives compared over seeds.
local comparison = require("actor.comparison")
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

test("each name runs with each seed, and calls without a run leave no gap", function()
  local calls = {}
  local runs = comparison.runs({ "b", "a" }, 7, 2, function(name, seed, number)
    calls[number] = name .. seed
    return number ~= 2 and { number = number } or nil
  end)
  equal(calls, { "b7", "a7", "b8", "a8" })
  equal(runs, { { name = "b", seed = 7, number = 1 }, { name = "b", seed = 8, number = 3 }, { name = "a", seed = 8, number = 4 } })
end)

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
  raises(function() found:difference(steps, "bps", "bsp") end, "comparison_spec.lua:%d+: .*'bps'; did you mean 'bsp'%?")
end)

test("a single seed has no interval, and its verdict is for this run only", function()
  local found = comparison.new(runs_of { 2 })
  equal(found:difference(steps, "ssp:4", "bsp").verdict, "holds in this run")
  equal(found:difference(steps, "bsp", "ssp:4").verdict, "does not hold in this run")
  equal(found:difference(steps, "bsp", "pssp:2:4").verdict, "does not hold in this run")
end)

test("a claim is checked for each pair, for rules of any parameters, and omitted without a pair", function()
  local found = comparison.new(runs_of { 1, 2 })
  equal(found:claims {
    { "bsp is slow", steps, more = { "asp", "pssp", "ssp" }, less = { "bsp" } },
    { "asp is fast", steps, more = { "asp" }, less = { "bsp" } },
  }, {
    "bsp is slow (steps):", "    pssp:2:4 above bsp by 5.00 [-58.53, 68.53]: undecided",
    "    ssp:4 above bsp by 1.00 [1.00, 1.00]: holds",
  })
end)

test("each alternative needs exactly one run for each seed", function()
  local runs = runs_of { 1, 2 }
  table.remove(runs, 1)
  raises(function() comparison.new(runs) end, "comparison_spec.lua:%d+: comparison.new: bsp has no run with seed %d, which others have")
  runs = runs_of { 1, 2 }
  runs[#runs + 1] = runs[1]
  raises(function() comparison.new(runs) end, "there are two runs of bsp with seed %d")
  raises(function() comparison.new {} end, "there are no runs")
  raises(function() comparison.new { { name = "bsp", seed = 1.5 } } end, "'runs%[1%].seed' to comparison.new: expected an integer, got 1.5")
  raises(function() comparison.new { { seed = 1 } } end, "'runs%[1%].name' to comparison.new: expected string, got nil")
end)

test("an error for a measure without a value names the run", function()
  local found = comparison.new(runs_of { 1, 2 })
  raises(function() found:table { { text = "speed", of = function(run) return run.speed end } } end,
    "comparison_spec.lua:%d+: speed: expected a number or several of the run of bsp with seed 1, got nil")
  raises(function() found:lines { measure = curve, points = { 1, 3 } } end, "curve: .* of bsp with seed 1 at 3, got nil")
  raises(function() found:table { { text = "none", of = function() return {} end } } end, "none: expected a number or several")
  raises(function() found:table { { text = "steps" } } end, "comparison_spec.lua:%d+: bad argument 'of' to a measure: expected function, got nil")
  raises(function() comparison.runs({ "bsp" }, 1, 0, error) end, "'count' to comparison.runs: expected an integer of at least 1, got 0")
end)

test("rows of all runs are in the order of the runs, and missing fields have the run's values", function()
  local found = comparison.new {
    { name = "b", seed = 1, list = { { step = 1, seed = 9 }, { step = 2 } } },
    { name = "a", seed = 1, list = { { { step = 3 } }, {}, { { step = 4 }, { step = 5 } } } }, -- three ranks
  }
  local seen = {}
  for i, row in ipairs(found:rows("list")) do seen[i] = ("%s %d %d"):format(row.name, row.seed, row.step) end
  equal(seen, { "b 9 1", "b 1 2", "a 1 3", "a 1 4", "a 1 5" })
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
  for _, name in ipairs { ">bsp<", ">ssp:4<", ">pssp:2:4<" } do equal(svg:find(name, 1, true) ~= nil, true, name) end
  local bsp, _, ssp = unpack(bands(svg))
  near((bsp[3] - bsp[2]) / (bsp[4] - bsp[1]), 3, 0.01) -- of 3, 6, 9 beside 1, 2, 3
  near(bsp[1], ssp[1], 0.01)
  equal(svg:find("bands: 95 % intervals over the seeds", 1, true) ~= nil, true)
  bsp, _, ssp = unpack(bands(found:lines { measure = ranks, points = { 1, 2 }, band = "range", y = y }))
  near((bsp[4] - bsp[1]) / (bsp[1] - ssp[1]), 25, 1) -- ssp:4's is 1 step higher
  local single = comparison.new(runs_of { 1 })
  svg = single:lines { measure = curve, points = { 1, 2 }, notes = { "of one seed" } }
  equal(bands(svg), {})
  equal({ svg:find("bands:", 1, true) or 0, svg:find("of one seed", 1, true) ~= nil }, { 0, true })
  equal(#bands(single:lines { measure = ranks, points = { 1, 2 }, band = "range" }), 3)
  raises(function() found:lines { measure = curve, points = { 1 }, band = "rnage" } end, "did you mean 'range'%?")
  raises(function() found:lines { measure = curve, points = { 1 }, titel = "t" } end, "unknown option 'titel'")
end)
