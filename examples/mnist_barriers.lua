-- How barrier rules compare when workers are delayed: a convolutional net learns MNIST on the parameter server under
-- each rule, and every push comes after a delay that is drawn from Gamma(1, --delay) seconds. Run it with
--     actorhost -n 6 examples/mnist_barriers.lua
-- It writes CSV and figures into --out, and says which claims about the rules hold. The defaults take 11 minutes on
-- two cores that are otherwise idle. --push delta: a worker trains with an optimiser of its own and
-- pushes the difference of the weights; --push gradient: the server has the optimiser. Commas divide the rules of
-- --barriers (actorhost's own --barrier would be the rule of all runs). All ranks have to be on one machine, by whose
-- clock steps are told.
local actor = require "actor"
local co, data, optim, param, plot = actor.collective, actor.data, actor.optim, actor.param, actor.plot
local mean = require("actor.sim.summary").mean
local cnn = require "models.cnn"

local opt = actor.options {
  data = "", barriers = "bsp,ssp:4,asp,pbsp:2,pssp:2:4", seconds = 40, updates = 96, marks = 8, seeds = 3, delay = 1,
  batch = 32, lr = 0.05, sample = 1000, push = "delta", out = "barriers", small = false,
}
if opt.push ~= "delta" and opt.push ~= "gradient" then
  error("--push is delta or gradient; got '" .. opt.push .. "'", 0)
end
local set
if opt.small then
  set = { train = data.digits { n = 600 }, test = data.digits { n = 200, first = 601 }, source = "few digits" }
else
  set = data.mnist(opt.data ~= "" and opt.data or nil)
end
local images, labels = set.test:batch(data.range(1, math.min(opt.sample, set.test.n)))
local rules = {}
for rule in opt.barriers:gmatch("[^,]+") do rules[#rules + 1] = rule end
local bar = actor.progress.new { total = #rules * opt.seeds * opt.seconds, label = "training" }

-- The next images of a worker and the delay of its push depend on seed, rank and step only: all rules get the same.
local function draw(seed, step) return actor.rng(seed, actor.rank * 2 ^ 32 + step) end

local function batch(rng)
  local positions = {}
  for i = 1, opt.batch do positions[i] = rng:int(1, set.train.n) end
  return set.train:batch(positions)
end

-- How a worker turns weights into an update, and how the server merges that. Both are SGD with momentum, but with
-- deltas each worker has a momentum of its own. The updates of all workers add up, so each has a part of the rate.
local function pushing(net)
  local sgd = optim.sgd { lr = opt.lr / actor.size, momentum = 0.5 }
  if opt.push == "gradient" then return function() return net.flat_grads end, sgd end
  local function delta(weights)
    sgd:step({ net.flat_params }, { net.flat_grads })
    return net.flat_params - weights
  end
  return delta, optim.add()
end

-- Trains under one rule; gives {accuracy = {{by, mark, seconds, updates, accuracy}, ...}, steps = {{seconds, ...} of
-- each rank}}. Measuring accuracy does not hold up the workers: while they train, server 0 only copies its weights at
-- fixed times and at fixed numbers of updates (in `stop`, so at the first push behind a mark), and the ranks share the
-- copies out when the training is over.
local function train(number, rule, seed)
  collectgarbage() -- the net of the last run
  local net, weights, marks, at = cnn(seed, actor.rank or 0, opt.small), "weights" .. number, {}, {}
  local update, merge = pushing(net)
  local next_mark = { seconds = 1, updates = 1 }
  if actor.role == "worker" then co.barrier() end
  local began = actor.now()
  param.run {
    init = function() return { [weights] = net.flat_params } end,
    schedule_local = function() return { weights } end,
    push = function(_, entries)
      local rng, value = draw(seed, #at), entries[1][2]
      net.flat_params:copy_(value)
      net:loss(batch(rng))
      local pushed = update(value)
      if opt.delay > 0 then actor.sleep(rng:gamma(1, opt.delay)) end
      at[#at + 1] = actor.now() - began
      return { { weights, pushed } }
    end,
    pull = merge,
    barrier = rule, seconds = false, checkpoint = false,
    stop = function(ctx)
      local found = {}
      for by, k in actor.pairs(next_mark) do
        while k <= opt.marks and ctx[by] >= opt[by] * k / opt.marks do
          found[#found + 1] = { by = by, mark = opt[by] * k / opt.marks, seconds = ctx.seconds, updates = ctx.updates }
          k = k + 1
        end
        next_mark[by] = k
      end
      if #found > 0 then
        local copy = ("copy%d of %s"):format(#marks + 1, weights)
        param.set(copy, (param.get(weights)))
        marks[#marks + 1] = { copy = copy, found = found }
      end
      bar:update((number - 1 + math.min(1, ctx.seconds / opt.seconds)) * opt.seconds, rule .. ", seed " .. seed)
      local over = next_mark.seconds > opt.marks and next_mark.updates > opt.marks
      if over then param.set("marks of " .. weights, marks) end
      return over
    end,
  }
  if actor.role ~= "worker" then return end -- the server goes on to the next run
  local mine = {}
  for i, mark in ipairs(param.get("marks of " .. weights)) do
    if i % actor.size == actor.rank then
      net.flat_params:copy_((param.get(mark.copy))) -- the means of the first layer are those of this rank's images
      local accuracy = net:accuracy(images, labels)
      for _, found in ipairs(mark.found) do
        found.accuracy = accuracy
        mine[#mine + 1] = found
      end
      param.set(mark.copy, nil)
    end
  end
  local parts = co.allgather { accuracy = mine, steps = at }
  if actor.rank == 0 then param.set(weights, nil) end
  local out = { rule = rule, seed = seed, accuracy = {}, steps = {} }
  for rank = 1, parts.n do
    out.steps[rank] = parts[rank].steps
    for _, found in ipairs(parts[rank].accuracy) do out.accuracy[#out.accuracy + 1] = found end
  end
  table.sort(out.accuracy, function(a, b)
    if a.by ~= b.by then return a.by < b.by end
    return a.mark < b.mark
  end)
  return out
end

print(("data: %s; %d workers, seeds %s to %s, %s pushed"):format(set.source, actor.size, actor.seed,
  actor.seed + opt.seeds - 1, opt.push))
local runs, number = {}, 0
for s = 1, opt.seeds do
  for _, rule in ipairs(rules) do
    number = number + 1
    runs[number] = train(number, rule, actor.seed + s - 1)
  end
end
bar:finish()
if actor.rank ~= 0 then return end

-- ---- What came out ----

-- One number of each run under a rule, in the order of seeds.
local function values_of(rule, measure)
  local values = {}
  for _, run in ipairs(runs) do
    if run.rule == rule then values[#values + 1] = measure(run) end
  end
  return values
end

local function completed(times, seconds)
  local count = 0
  for _, at in ipairs(times) do count = count + (at <= seconds and 1 or 0) end
  return count
end

local function steps_at(seconds, choose)
  return function(run)
    local least, most, sum = math.huge, 0, 0
    for _, times in ipairs(run.steps) do
      local n = completed(times, seconds)
      least, most, sum = math.min(least, n), math.max(most, n), sum + n
    end
    return choose == "least" and least or choose == "most" and most or sum / #run.steps
  end
end

local function accuracy_at(by, mark)
  return function(run)
    for _, found in ipairs(run.accuracy) do
      if found.by == by and found.mark == mark then return 100 * found.accuracy end
    end
  end
end

-- The mean over all marks is that of the whole curve, and varies less than one of its points.
local function over_marks(by)
  return function(run)
    local sum = 0
    for k = 1, opt.marks do sum = sum + accuracy_at(by, opt[by] * k / opt.marks)(run) end
    return sum / opt.marks
  end
end

local measures = {
  { name = "steps", of = steps_at(opt.seconds), text = ("steps of a worker in %g s"):format(opt.seconds) },
  { name = "updates", of = over_marks("updates"), text = ("accuracy %%, over %g updates"):format(opt.updates) },
  { name = "seconds", of = over_marks("seconds"), text = ("accuracy %%, over %g s"):format(opt.seconds) },
}

local function described(values)
  local m = mean(values)
  return ("%.2f [%.2f, %.2f]"):format(m.mean, m.low, m.high), m
end

print(("means of %d seeds and their 95 %% intervals"):format(opt.seeds))
print(("%-10s  %-26s  %-28s  %s"):format("", measures[1].text, measures[2].text, measures[3].text))
for _, rule in ipairs(rules) do
  local cells = {}
  for i, measure in ipairs(measures) do cells[i] = described(values_of(rule, measure.of)) end
  print(("%-10s  %-26s  %-28s  %s"):format(rule, cells[1], cells[2], cells[3]))
end

-- What the chapter on barriers says: each rule of `more` has more of something than each of `less`.
local claims = {
  { "asp and pssp make progress fastest", "steps", more = { "asp", "pssp" }, less = { "pbsp", "ssp", "bsp" } },
  { "bsp makes progress slowest", "steps", more = { "asp", "pssp", "pbsp", "ssp" }, less = { "bsp" } },
  { "bsp learns most from an update", "updates", more = { "bsp" }, less = { "ssp", "pbsp", "pssp", "asp" } },
  { "asp learns least from an update", "updates", more = { "bsp", "ssp", "pbsp", "pssp" }, less = { "asp" } },
  { "pbsp and pssp learn most in a time", "seconds", more = { "pbsp", "pssp" }, less = { "bsp", "ssp", "asp" } },
}

local function of_kind(kinds)
  local found = {}
  for _, kind in ipairs(kinds) do
    for _, rule in ipairs(rules) do
      if rule:match("^%a+") == kind then found[#found + 1] = rule end
    end
  end
  return found
end

-- The difference is taken seed by seed, since all rules have the same delays and the same first weights.
local function compared(measure, more, less)
  local differences, others = values_of(more, measure), values_of(less, measure)
  for i, other in ipairs(others) do differences[i] = differences[i] - other end
  local text, m = described(differences)
  local verdict = m.low > 0 and "holds" or m.high < 0 and "does not hold" or "undecided"
  if m.n < 2 then verdict = m.mean > 0 and "holds in this run" or "does not hold in this run" end
  return ("    %s above %s by %s: %s"):format(more, less, text, verdict)
end

for _, claim in ipairs(claims) do
  local lines, measure = {}, nil
  for _, one in ipairs(measures) do measure = one.name == claim[2] and one or measure end
  for _, more in ipairs(of_kind(claim.more)) do
    for _, less in ipairs(of_kind(claim.less)) do
      lines[#lines + 1] = compared(measure.of, more, less)
    end
  end
  if #lines > 0 then print(("%s (%s):\n%s"):format(claim[1], measure.text, table.concat(lines, "\n"))) end
end

-- ---- Files ----

os.execute(("mkdir -p '%s'"):format(opt.out:gsub("'", "'\\''")))

local function write_rows(name, rows)
  local file = assert(io.open(opt.out .. "/" .. name, "w"))
  assert(file:write(table.concat(rows, "\n"), "\n"))
  assert(file:close())
end

local accuracy, steps = { "barrier,seed,by,mark,seconds,updates,accuracy" }, { "barrier,seed,rank,step,seconds" }
for _, run in ipairs(runs) do
  for _, f in ipairs(run.accuracy) do
    accuracy[#accuracy + 1] = ("%s,%s,%s,%g,%.3f,%d,%.4f"):format(run.rule, run.seed, f.by, f.mark, f.seconds,
      f.updates, f.accuracy)
  end
  for rank, times in ipairs(run.steps) do
    for step, at in ipairs(times) do
      steps[#steps + 1] = ("%s,%s,%d,%d,%.3f"):format(run.rule, run.seed, rank - 1, step, at)
    end
  end
end
write_rows("accuracy.csv", accuracy)
write_rows("steps.csv", steps)

-- A line for each rule over `points`; point(rule, x) gives the mean and the ends of the band.
local function figure(name, title, x, y, points, point, note)
  local series = {}
  for i, rule in ipairs(rules) do
    local one = { name = rule, x = points, y = {}, low = {}, high = {} }
    for k, at in ipairs(points) do one.y[k], one.low[k], one.high[k] = point(rule, at) end
    series[i] = one
  end
  local svg = plot.line {
    title = title, subtitle = ("%d workers, delays from Gamma(1, %g s), %d seeds; %s pushed"):format(actor.size,
      opt.delay, opt.seeds, opt.push),
    x = { label = x, min = 0 }, y = y, series = series, notes = { note },
  }
  assert(plot.save(("%s/%s.svg"):format(opt.out, name), svg))
  local done, message, code = plot.png(("%s/%s.png"):format(opt.out, name), svg)
  if not done then (code == "unavailable" and print or error)(message) end
end

local function marks_of(by)
  local points = {}
  for k = 1, opt.marks do points[k] = opt[by] * k / opt.marks end
  return points
end

local function accuracy_figure(by, x)
  local y = { label = "test accuracy, %", min = 0, max = 100 }
  figure("accuracy_" .. by, "Accuracy against " .. by, x, y, marks_of(by), function(rule, at)
    local m = mean(values_of(rule, accuracy_at(by, at)))
    return m.mean, math.max(0, m.low), math.min(100, m.high)
  end, "bands: 95 % intervals over the seeds, between 0 and 100")
end

accuracy_figure("updates", "updates merged")
accuracy_figure("seconds", "seconds")
local completed_axis = { label = "steps completed", min = 0 }
figure("steps", "Progress of the workers", "seconds", completed_axis, marks_of("seconds"), function(rule, at)
  return mean(values_of(rule, steps_at(at))).mean, mean(values_of(rule, steps_at(at, "least"))).mean,
    mean(values_of(rule, steps_at(at, "most"))).mean
end, "bands: from the slowest worker to the fastest")
print("figures and numbers: " .. opt.out)
