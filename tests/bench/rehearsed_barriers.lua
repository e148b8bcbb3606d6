-- Trains MNIST in rehearsals with 200 simulated workers under five barriers, beside the simulator's steps for the same
-- work times. Draws the accuracy against virtual time.
-- Usage: actorhost -n 1 --seed 1 tests/bench/rehearsed_barriers.lua [--seconds 200] [--hosts 20] [--per_host 10]
--   [--repeats 3] [--svg FILE]. The seeds are SEED, SEED + 1, ...; the figure is that of SEED.
local actor = require "actor"

assert(actor.size == 1, "run this job with -n 1")
local options = actor.options {
  seconds = 200, hosts = 20, per_host = 10, repeats = 3, work = "1+exp(1)", batch = 16, svg = "accuracy.svg",
}
local workers = options.hosts * options.per_host
local program = assert(io.open("/proc/self/cmdline")):read("*a"):match("^%Z+")
local rules = { "bsp", "ssp:4", "asp", "pbsp:10", "pssp:10:4" }

-- Mean, spread (standard deviation) and quantiles of the workers' steps in all runs.
local function figures(steps)
  table.sort(steps)
  local mean, squares = 0, 0
  for _, n in ipairs(steps) do mean = mean + n / #steps end
  for _, n in ipairs(steps) do squares = squares + (n - mean) ^ 2 / #steps end
  local function quantile(q) return steps[math.max(1, math.ceil(q * #steps))] end
  return { mean, math.sqrt(squares), quantile(0.05), quantile(0.5), quantile(0.95) }
end

-- Rehearses under the rule: adds the steps of each worker to the list. Returns the accuracy at the ends of epochs.
local function rehearsed(rule, seed, steps)
  local command = "%s rehearse --seed %d --hosts %d -n %d --compute 0 --inject 'delay=%s' --barrier %s --seconds %g "
    .. "--virtual-seconds %g examples/mnist_ps.lua --batch %d --epochs 1000 2>&1"
  local pipe = assert(io.popen(command:format(program, seed, options.hosts, options.per_host, options.work, rule,
    options.seconds, 2 * options.seconds + 100, options.batch)))
  local text = pipe:read("*a")
  pipe:close()
  local list = text:match("steps of each worker: ([%d ]+)")
  if not list then error("the rehearsal failed:\n" .. text) end
  local curve = { name = rule, x = {}, y = {} }
  for n in list:gmatch("%d+") do steps[#steps + 1] = tonumber(n) end
  for seconds, accuracy in text:gmatch("epoch %d+, ([%d.]+) s: .- ([%d.]+) %%") do
    curve.x[#curve.x + 1], curve.y[#curve.y + 1] = tonumber(seconds), tonumber(accuracy)
  end
  curve.x[#curve.x + 1], curve.y[#curve.y + 1] = options.seconds, tonumber(text:match("test accuracy: ([%d.]+) %%"))
  return curve
end

local function simulated(rule, seed, steps)
  local result = actor.sim.run {
    barrier = rule, nodes = workers, time = options.seconds, work = options.work, seed = seed,
  }
  for _, n in ipairs(result.steps) do steps[#steps + 1] = n end
end

print(("%d workers, %g virtual seconds, work %s"):format(workers, options.seconds, options.work))
print "rule          mean  spread    5 %   50 %   95 %   of the rehearsal, and of the simulator"
local curves = {}
for i, rule in ipairs(rules) do
  local ours, theirs = {}, {}
  for k = 0, options.repeats - 1 do
    local curve = rehearsed(rule, actor.seed + k, ours)
    curves[i] = curves[i] or curve
  end
  for k = 0, 10 * options.repeats - 1 do simulated(rule, actor.seed + k, theirs) end
  ours, theirs = figures(ours), figures(theirs)
  print(("%-10s  %6.2f %7.2f %6d %6d %6d"):format(rule, unpack(ours)))
  print(("%-10s  %6.2f %7.2f %6d %6d %6d"):format("", unpack(theirs)))
  print(("%-10s  %+.1f %%, accuracy %.2f %%"):format("", 100 * (ours[1] / theirs[1] - 1), curves[i].y[#curves[i].y]))
end
assert(actor.plot.save(options.svg, actor.plot.line {
  title = "Accuracy against virtual time",
  subtitle = ("%d rehearsed workers, work %s, batches of %d"):format(workers, options.work, options.batch),
  x = { label = "time", unit = "s" }, y = { label = "accuracy", unit = "%" }, series = curves,
}))
