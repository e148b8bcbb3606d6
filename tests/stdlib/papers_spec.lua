--- Published experiments: the papers' files, the runs, and the verdicts.
local decentralised = require("actor.reproduce.decentralised")
local lockstep = require("actor.reproduce.lockstep")
local models = require("actor.reproduce.models")
local new_rng = require("actor.rng")
local page = require("actor.reproduce.page")
local reproduce = require("actor.reproduce")
local util = require("actor.util")
local verdict = require("actor.reproduce.verdict")

local tiny = 0.03

local function found(runs, name)
  for _, run in ipairs(runs) do
    if run.name == name then return run end
  end
end

test("each file of a paper says what was read, what runs here, and what is claimed of which runs", function()
  for _, name in ipairs(reproduce.names) do
    local paper = reproduce.paper(name)
    for _, field in ipairs { "title", "authors", "venue", "read", "setting", "here" } do
      equal({ name, field, type(paper[field]) }, { name, field, "string" })
    end
    local runs, names = paper.runs(tiny), {}
    for _, run in ipairs(runs) do
      equal({ name, run.name, names[run.name] }, { name, run.name, nil })
      names[run.name] = true
    end
    holds(#paper.claims, ">", 0)
    for _, claim in ipairs(paper.claims) do
      equal({ type(claim.text), type(claim.place) }, { "string", "string" })
      if not claim.untested then
        local against = type(claim.against) == "number" or names[claim.against] or false
        equal({ claim.text, names[claim.of], against }, { claim.text, true, true })
        equal(type(reproduce.measures[claim.measure]), "string")
        equal((claim.wants == "as") == (claim.within ~= nil) and (claim.wants == "as" or claim.wants == "less" or claim.wants == "greater"), true)
      end
    end
    for _, figure in ipairs(paper.published or {}) do equal(figure.here ~= nil or names[figure.run] == true, true) end
  end
end)

test("each run of each paper gives the measures of its claims", function()
  for i, name in ipairs(reproduce.names) do
    local paper = reproduce.paper(name)
    if spec_mode == "normal" or i % 9 == 2 then
      local runs, rows = paper.runs(tiny), {}
      for _, claim in ipairs(paper.claims) do
        for _, of in ipairs { claim.of, type(claim.against) == "string" and claim.against or nil } do
          local run = found(runs, of)
          rows[of] = rows[of] or reproduce.execute {
            index = 1, paper = name, run = of, seed = 1, scale = tiny, rate = run.rates and run.rates[1],
          }
          equal(type((reproduce.measure(rows[of], claim.measure, paper.target))), "number")
        end
      end
    end
  end
end)

test("a claim is reproduced if the whole interval is on its side", function()
  local low, high = { 1, 1.1, 0.9, 1.05 }, { 2, 2.3, 1.9, 2 }
  equal(verdict.judge(low, high, { wants = "less" }, 0.95).verdict, "reproduced")
  equal(verdict.judge(low, high, { wants = "greater" }, 0.95).verdict, "not reproduced")
  equal(verdict.judge(high, low, { wants = "greater" }, 0.95).verdict, "reproduced")
  equal(verdict.judge(low, { 1.2, 0.9, 1, 1 }, { wants = "less" }, 0.95).verdict, "undecided")
  equal(verdict.judge(low, low, { wants = "as", within = 0.1 }, 0.95).verdict, "reproduced")
  equal(verdict.judge(high, low, { wants = "as", within = 0.1 }, 0.95).verdict, "not reproduced")
  equal(verdict.judge({ 1 }, { 2 }, { wants = "less" }, 0.95).verdict, "undecided")
  equal(verdict.judge({}, {}, { wants = "less" }, 0.95).verdict, "undecided")
  near(verdict.judge({ 1, 1 }, { 2, 2 }, { wants = "less" }, 0.95).ratio, 0.5, 1e-12)
end)

test("an interval is the geometric mean with Student's t, wider for more claims", function()
  local judged = verdict.judge({ 1, 2, 4 }, { 1, 1, 1 }, { wants = "less" }, 0.95)
  near(judged.ratio, 2, 1e-12)
  near(math.log(judged.high), math.log(2) + 4.302652730 * math.log(2) / math.sqrt(3), 1e-6)
  near(verdict.confidence(50), 0.999, 1e-12)
  holds(verdict.judge({ 1, 2, 4 }, { 1, 1, 1 }, { wants = "less" }, verdict.confidence(50)).high, ">", judged.high)
end)

test("a diverged run counts as the largest value", function()
  local judged = verdict.judge({ 1, 1, 1 }, { 0 / 0, math.huge, 0 / 0 }, { wants = "less" }, 0.95)
  equal(judged.verdict, "reproduced")
end)

test("the time to a target is interpolated, and a run that misses it says so", function()
  local row = { x = { 0, 10, 20 }, updates = { 0, 5, 9 }, loss = { 4, 2, 1 }, accuracy = { 0, 0.5, 0.7 }, values = { steps = 3 } }
  equal({ reproduce.measure(row, "to_target", 0.75) }, { 5, true })
  equal({ reproduce.measure(row, "updates", 0.375) }, { 7, true })
  equal({ reproduce.measure(row, "to_target", 0.1) }, { 20, false })
  local at, reached = reproduce.measure(row, "to_target", { accuracy = 0.6 })
  near(at, 15, 1e-9)
  equal({ reached, (reproduce.measure(row, "steps")), (reproduce.measure(row, "loss")) }, { true, 3, 1 })
  near((reproduce.measure(row, "error")), 0.3, 1e-12)
  raises(function() reproduce.measure(row, "xyzzy") end, "no measure 'xyzzy'")
end)

-- A report without functions.
local function plain(report)
  local out = {}
  for i, paper in ipairs(report.papers) do out[i] = { paper.name, paper.claims, paper.published, paper.runs } end
  return out
end

test("the same seed gives the same report, another seed another", function()
  local function run(seed) return plain(reproduce.run({ "ssp", "hop" }, { seeds = 2, seed = seed, scale = 0.1 })) end
  local first = run(1)
  equal(run(1), first)
  equal(run(2)[1][2][1].of_mean ~= first[1][2][1].of_mean, true)
end)

test("the page has each claim with its verdict, the figures and the command", function()
  local report = reproduce.run({ "ssp", "aw_psp" }, { seeds = 2, scale = 0.1 })
  local dir = os.tmpname()
  os.remove(dir)
  equal(page.begin(dir), true)
  equal(page.write(dir, report, { jobs = 1, quiet = true }), true)
  local html = util.read(dir .. "/index.html")
  for _, part in ipairs {
    "converges faster than fully synchronous training", "not tested", "ssp-loss.svg", "actorhost reproduce --repeat 2 --seed 1 ssp", "undecided",
  } do
    matches(html, part, true)
  end
  matches(util.read(dir .. "/ssp-loss.svg"), "^<svg")
  for _, file in ipairs { "index.html", "ssp-loss.svg", "aw_psp-loss.svg" } do os.remove(dir .. "/" .. file) end
  os.remove(dir)
end)

test("an unknown paper is an error with a suggestion", function()
  raises(function() reproduce.paper("ringmastr") end, "no paper 'ringmastr'; did you mean ringmaster")
end)

test("the quadratic has the loss 0 at the common centre, and centres of nodes around it", function()
  local model = models.quadratic { dims = 3, spread = 1, noise = 0, condition = 1 }
  local params = model.init(new_rng(1), { nodes = 4, seed = 1, time = 1 })
  for _ = 1, 60 do
    local mean = { 0, 0, 0 }
    for id = 0, 3 do
      local gradient = model.gradient(params, id, 0, new_rng(2))
      for d = 1, 3 do mean[d] = mean[d] + gradient[d] / 4 end
    end
    model.apply(params, mean, 0.5)
  end
  near(model.loss(params), 0, 1e-20)
end)

test("local steps make the difference of the values from begin to end", function()
  local plain_model = models.quadratic { dims = 1, noise = 0, condition = 1 }
  local model = models.local_steps(plain_model, 3, 0.5)
  local params = model.init(new_rng(1), { nodes = 1, seed = 1, time = 1 })
  local update = model.gradient(params, 0, 0, new_rng(2))
  near(params[1], 0, 0)
  local loss = model.loss(params)
  model.apply(params, update, 1)
  near(model.loss(params), loss / 64, 1e-12)
end)

local function decentral(options)
  options.model = models.quadratic { dims = 2, noise = 0, condition = 1 }
  options.time, options.seed, options.rate, options.points = options.time or 20, 1, 0.1, 20
  return decentralised.run(options)
end

test("decentralised training under all-reduce waits for the slowest, and in pairs it does not", function()
  local all = decentral { nodes = 4, rule = "all", slow = 1, factor = 10 }
  local pairs_ = decentral { nodes = 4, rule = "pairs", degree = 2, slow = 1, factor = 10 }
  holds(pairs_.values.steps, ">", 3 * all.values.steps)
  local loss = decentral { nodes = 4, rule = "all", time = 40 }.loss
  for k = 2, #loss do holds(loss[k], "<=", loss[k - 1]) end
end)

test("a backup worker and a bound on the staleness let a decentralised worker go on", function()
  local plain_run = decentral { nodes = 8, rule = "neighbours", degree = 4, random = 0.2, factor = 8, time = 60 }
  local backup = decentral { nodes = 8, rule = "neighbours", degree = 4, random = 0.2, factor = 8, time = 60, backup = 1 }
  local bound = decentral { nodes = 8, rule = "neighbours", degree = 4, random = 0.2, factor = 8, time = 60, bound = 3 }
  holds(backup.values.steps, ">", plain_run.values.steps)
  holds(bound.values.steps, ">", plain_run.values.steps)
end)

test("workers in lockstep draw other images, the same for a seed", function()
  local one, two = lockstep.new { workers = 2, seed = 1 }, lockstep.new { workers = 2, seed = 1 }
  local first, second = one:gradient(0):clone(), one:gradient(1):clone()
  equal(two:gradient(0):totable(), first:totable())
  holds((first - second):norm(), ">", 0)
end)
