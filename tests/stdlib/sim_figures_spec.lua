--- Figures of a sweep, replays of recorded runs, and the page of the experiments.
local sim = require("actor.sim")
local page = require("actor.sim.page")
local xml = require("plot_xml")
local with_file = require("text_file").with

local function rows_of(vary)
  return sim.sweep.run { base = { nodes = 8, time = 12, seed = 1 }, barriers = { "bsp", "asp" }, vary = vary, repeats = 2 }
end

test("every kind of plot is drawn, with a line or bar for each rule", function()
  local single, swept = rows_of(), rows_of { { "nodes", { 4, 8 } } }
  for name, kind in pairs(sim.figures.kinds) do
    if not kind.curve then
      local svg = assert(sim.figures.draw(single, { kind = name, varied = {}, subtitle = "a < b" }))
      xml.read(svg)
      for _, word in ipairs { "bsp", "asp", "a &lt; b" } do matches(svg, word, true) end
    end
    if kind.field then xml.read(assert(sim.figures.draw(swept, { kind = name, varied = { "nodes" } }))) end
  end
  local svg, wrong = sim.figures.draw(single, { kind = "pie", varied = {} })
  equal(svg, nil)
  equal(wrong:find("there is no plot 'pie' (known: ", 1, true), 1)
  svg, wrong = sim.figures.draw(single, { kind = "loss", varied = {} })
  equal(svg, nil)
  matches(wrong, "%-%-train")
end)

test("a rule has its given style in each figure, a single run has no interval, and axes may be logarithmic", function()
  local looks = { bsp = 3, asp = 5 }
  local single, swept = rows_of(), rows_of { { "nodes", { 4, 8 } } }
  for _, options in ipairs {
    { kind = "cdf", varied = {} }, { kind = "progress", varied = {} }, { kind = "mean", varied = {} },
    { kind = "mean", varied = { "nodes" } },
  } do
    options.looks = looks
    local svg = assert(sim.figures.draw(#options.varied > 0 and swept or single, options))
    for class, there in pairs { c3 = true, c5 = true, c1 = false, c2 = false } do
      equal(svg:find(('<g class="%s"'):format(class), 1, true) ~= nil, there, options.kind .. class)
    end
  end
  local once = sim.sweep.run {
    base = { nodes = 8, time = 12, seed = 1 }, barriers = { "bsp" }, vary = { { "nodes", { 4, 8 } } }, repeats = 1,
  }
  equal(sim.figures.draw(once, { varied = { "nodes" } }):find('class="band"', 1, true), nil)
  assert(sim.figures.draw(swept, { varied = { "nodes" } }):find('class="band"', 1, true))
  local plain = assert(sim.figures.draw(swept, { varied = { "nodes" } }))
  for _, axis in ipairs { "log_x", "log_y" } do
    local svg = assert(sim.figures.draw(swept, { varied = { "nodes" }, [axis] = true }))
    xml.read(svg)
    equal(svg == plain, false, axis)
  end
end)

test("a rule's own sample size is part of its name", function()
  local rows = {}
  for i, beta in ipairs { 0, 4 } do
    rows[i] = sim.sweep.run { base = { nodes = 8, time = 12, seed = 1 }, barriers = { "pbsp:" .. beta }, repeats = 1 }[1]
    rows[i].series, rows[i].varied = "pbsp:{beta}", { beta = beta }
  end
  local svg = assert(sim.figures.draw(rows, { kind = "cdf", varied = { "beta" } }))
  for _, name in ipairs { ">pbsp:0<", ">pbsp:4<" } do matches(svg, name, true) end
end)

test("a share and a factor of stragglers are numbers on an axis", function()
  equal(sim.figures.number_of("0.05:10x"), 0.05)
  equal(sim.figures.number_of("0.05:10x", "factor"), 10)
  equal(sim.figures.number_of(3), 3)
  equal(sim.figures.number_of("1+exp(1)"), nil)
  equal(sim.figures.number_of("server:4"), nil)
end)

test("a sweep over values without a number is drawn as a cdf, and other kinds are errors", function()
  local vary = { { "work", { "1+exp(1)", "1+exp(2)" } } }
  local rows = rows_of(vary)
  assert(sim.figures.draw(rows, { kind = "cdf", varied = { "work" } }))
  for _, kind in ipairs { "mean", "waiting" } do
    local svg, wrong = sim.figures.draw(rows, { kind = kind, varied = { "work" } })
    equal(svg, nil)
    equal(wrong, ("--plot %s draws against --sweep work, whose values are no numbers ('1+exp(1)'): give --plot cdf, which has a line for each"):format(kind))
    equal(sim.figures.undrawable(kind, { "work" }, vary[1][2]), wrong)
  end
  equal(sim.figures.undrawable("cdf", { "work" }, vary[1][2]), nil)
  equal(sim.figures.undrawable("mean", { "straggler" }, { "0.05:10x", 0.1 }), nil)
  equal(sim.figures.undrawable("mean", {}, {}), nil)
end)

-- --- recorded runs ---

local header = "# actorhost trace 1\n# barrier=%s\n# resample=%s\n# seed=1\n# workers=2\nevent,id,step,time,released,compute\nrun,1,,0.0,,\n"

-- Worker 0 needs 1 s a step. Worker 1 needs 2 s, 0.5 s of them for the network, and joins at 1 s.
local recorded = header:format("asp", "") .. [[
join,0,0,0.0,,
join,1,0,1.0,,
step,0,1,1.0,0.0,1.0
step,0,2,2.0,1.0,1.0
step,1,1,3.0,1.0,1.5
step,0,3,3.0,2.0,1.0
step,0,4,4.0,3.0,1.0
step,1,2,5.0,3.0,1.5
step,0,5,5.0,4.0,1.0
stop,,,5.5,,
]]

test("a replay under the recorded rule reproduces the recorded run", function()
  with_file(recorded, function(path)
    local result = sim.run { barrier = "asp", replay = path }
    equal(result.steps, { 6, 3 })
    equal(result.updates, 7)
    near(result.time, 5.5)
    near(result.busy, 5.5 + 1.5 * 2 + 0.5)
    near(result.network, 1)
    equal(sim.replay.barrier(sim.replay.load(path)), "asp")
  end)
end)

test("a replay under another rule uses the same work", function()
  with_file(recorded, function(path)
    -- From 1 s on, when worker 1 joins at the minimum clock, both run together.
    local result = sim.run { barrier = "bsp", replay = path }
    holds(result.min_step + 1, ">=", result.max_step)
    holds(result.waiting, ">", 1)
  end)
end)

test("a recorded rule is written in the format of the command line", function()
  local function text(barrier, resample)
    local spec
    with_file(header:format(barrier, resample) .. "stop,,,1.0,,\n", function(path)
      spec = sim.replay.barrier(sim.replay.load(path))
    end)
    return spec
  end
  equal(text("pssp(10, 4)", ""), "pssp:10:4")
  equal(text("ssp:4", ""), "ssp:4")
  equal(text("pbsp:3", "sticky"), "pbsp:3@sticky")
end)

test("a trace without a run to replay is an error", function()
  with_file(header:format("asp", "") .. "join,0,0,0.0,,\nstop,,,1.0,,\n", function(path)
    raises(function() sim.run { barrier = "asp", replay = path } end, "no completed step")
    raises(function() sim.run { barrier = "asp", replay = path .. "#2" } end, "no run 2")
  end)
  raises(function() sim.run { barrier = "asp", replay = "/nowhere/trace.csv" } end, "/nowhere/trace.csv")
end)

-- --- the page ---

test("the page is well-formed, escapes texts, and states which published figures are met", function()
  local html = page.html {
    { id = "a", title = "A & B", about = "x < y", parameters = "n = 1", files = { "a.svg", "b.svg" }, csv = "a.csv",
      comparisons = {
        { what = "bsp: mean step", published = 29, mean = 29.9, half = 0.5, n = 10, least = 29.5, most = 30.5 },
        { what = "asp: mean step", published = 101, mean = 105, half = 0.5, n = 10, least = 103, most = 107 },
        { what = "ssp:4: mean step", published = 30, mean = 31.6, half = 1, n = 10, least = 28.9, most = 33.75 },
      } },
  }
  matches(html, "A &amp; B", true)
  matches(html, "x &lt; y", true)
  matches(html, "1 of 3 published figures are met within 3 % or one step, and 1 more is among our single runs;", true)
  matches(html, '<td class="number">28.90 to 33.75</td><td>no, but single runs are</td>', true)
  equal(select(2, html:gsub("<td>no</td>", "")), 1)
end)
