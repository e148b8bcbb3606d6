-- The four models of computation on one problem: `actorhost -n 4 examples/models/compare.lua [--to FOLDER]`. Prints the
-- duration, waiting and staleness of each. Writes the error against time and against epochs into the folder, as figures
-- and as CSV. With `--straggler 4` rank 0 is four times slower. All ranks must be on one machine: its clock measures
-- staleness.
local actor = require "actor"
local plot = require "actor.plot"
local factorisation = require "factorisation"

local opt = actor.options {
  rows = 4000, columns = 100, rank = 4, rate = 0.005, target = 0.002, epochs = 1000, straggler = 1, to = "models",
}
opt.way = "allreduce"

local models = {
  { name = "A locking", train = require "locking" },
  { name = "B rotation", train = require "rotation" },
  { name = "C all-reduce", train = require "allreduce" },
  { name = "D no barrier", train = require "async" },
}

print(("%-13s %7s %7s %8s %7s   %s"):format("", "rmse", "epochs", "seconds", "waited", "staleness"))
for _, model in ipairs(models) do
  local o = factorisation.solve(model.train, opt)
  model.outcome = o
  print(("%-13s %7.4f %7d %8.2f %6.0f%%   %.2f, at most %d"):format(model.name, o.rmse, #o.curve, o.seconds, 100 * o.waited,
    o.staleness, o.most_stale))
end

local subtitle = ("matrix of %d x %d, rank %d; %d nodes"):format(opt.rows, opt.columns, opt.rank, actor.size)
if opt.straggler ~= 1 then subtitle = subtitle .. (", one of them %g times slower"):format(opt.straggler) end

local function figure(x, title)
  local series = {}
  for i, model in ipairs(models) do
    series[i] = { name = model.name, x = {}, y = {} }
    for k, point in ipairs(model.outcome.curve) do series[i].x[k], series[i].y[k] = point[x], point.rmse end
  end
  return plot.line {
    title = title, subtitle = subtitle, series = series,
    x = { label = x, min = 0 }, y = { label = "root of the mean squared error", log = true, max = 2 },
  }
end

if actor.rank == 0 then
  local folder = require "folder"(opt.to)
  folder:figure("time", figure("seconds", "Error against time"))
  folder:figure("epochs", figure("epochs", "Error against epochs"))
  local rows, curves = {}, {}
  for i, model in ipairs(models) do
    local o = model.outcome
    rows[i] = actor.util.merged(o, { model = model.name, epochs = #o.curve })
    for _, point in ipairs(o.curve) do
      point.model = model.name
      curves[#curves + 1] = point
    end
  end
  folder:csv("models.csv",
    { "model", "rmse %.6g", "epochs", "seconds %.6f", "waited %.4f", "staleness %.4f", "most_stale" }, rows)
  folder:csv("curves.csv", { "model", "epochs", "seconds %.6f", "rmse %.6g" }, curves)
end
print(("figures and numbers: %s"):format(opt.to))
