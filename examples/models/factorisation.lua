-- The problem shared by the examples of this folder: factorise a matrix of low rank by SGD; half of its entries are
-- known. Each rank has some of the rows, with their known entries and factors. The factors of the columns are the
-- model, which the ranks train together until the error is small. Data and start depend only on the seed.
local actor = require "actor"
local course = require "course"

local Problem = {}
Problem.__index = Problem

local M = {}

M.defaults = {
  rows = 80, columns = 60, rank = 3, rate = 0.1, -- the matrix, and the learning rate
  target = 0.002, epochs = 1000, -- training ends below the target error, or after this many epochs
  straggler = 1, -- rank 0 is slower by this factor
}

local function normals(random, count, deviation)
  local out = {}
  for i = 1, count do out[i] = deviation * random:normal() end
  return out
end

-- This rank's part of the problem; options as in M.defaults.
function M.new(options)
  local self = setmetatable({ options = options, rank = options.rank, columns = options.columns }, Problem)
  local random = actor.rng(actor.seed)
  local left, right, start = {}, {}, {}
  for row = 0, options.rows - 1 do left[row] = normals(random, options.rank, 1) end
  for column = 0, options.columns - 1 do
    right[column] = normals(random, options.rank, 1)
    start[column] = normals(random, options.rank, 0.3)
  end
  self.start, self.known, self.entries = start, {}, 0
  for column = 0, options.columns - 1 do self.known[column] = {} end
  for row = 0, options.rows - 1 do
    local factors = normals(random, options.rank, 0.3)
    for column = 0, options.columns - 1 do
      local value = 0
      for k = 1, options.rank do value = value + left[row][k] * right[column][k] / math.sqrt(options.rank) end
      if random:uniform() < 0.5 and row % actor.size == actor.rank then
        table.insert(self.known[column], { left = factors, value = value })
        self.entries = self.entries + 1
      end
    end
  end
  self.order, self.random = {}, actor.rng(actor.seed, actor.rank)
  for column = 0, options.columns - 1 do self.order[column + 1] = column end
  self.course = course.new { entries = self.entries, target = options.target, epochs = options.epochs }
  return self
end

-- The first factors of a column, followed by its number of updates (0), as a tensor.
function Problem:first_factors(column)
  local values = { unpack(self.start[column]) }
  values[self.rank + 1] = 0
  return actor.tensor(values, { dtype = "float64" })
end

-- A table of the columns, each on one rank.
function Problem:dealt_columns(options)
  local model = actor.collective.table(options)
  for column = actor.rank, self.columns - 1, actor.size do model:set(column, self:first_factors(column)) end
  return model
end

-- A table of all columns, the same on every rank. (The combiner "max" of equal values keeps them.)
function Problem:all_columns()
  local model = actor.collective.table { combiner = "max" }
  for column = 0, self.columns - 1 do model:set(column, self:first_factors(column)) end
  return model
end

-- All columns in a random order of this rank, so few ranks use the same column at a time.
function Problem:shuffled_columns() return self.random:shuffle(self.order) end

-- An update of a column in place: one step of SGD for each entry of the column that this rank knows.
function Problem:train(column, factors)
  self.course:begin_update()
  local right, squares = factors:data(), 0
  local version = right[self.rank]
  for _, entry in ipairs(self.known[column]) do
    local left, wrong = entry.left, -entry.value
    for k = 1, self.rank do wrong = wrong + left[k] * right[k - 1] end
    squares = squares + wrong * wrong
    for k = 1, self.rank do
      local old = left[k]
      left[k] = old - self.options.rate * wrong * right[k - 1]
      right[k - 1] = right[k - 1] - self.options.rate * wrong * old
    end
  end
  right[self.rank] = version + 1
  self.course:end_update(column, version, squares, actor.rank == 0 and self.options.straggler or 1)
end

-- The change that a rank adds to columns trained by all ranks at once: its part of the mean, and all of its updates.
function Problem:part_of_mean(before, after)
  local change = after - before
  change:narrow(1, 1, self.rank):div_(actor.size)
  return change
end

-- Ends an epoch; true when the training is over. See course.lua.
function Problem:epoch_ends(total) return self.course:epoch_ends(total) end

-- Collective: the root of the mean squared error over the known entries of all ranks. `model` is a table of columns,
-- each on some rank.
function Problem:rmse(model)
  local all, sum = assert(model:copy():allgather()), 0
  for column = 0, self.columns - 1 do
    local right = all:get(column):data()
    for _, entry in ipairs(self.known[column]) do
      local wrong = -entry.value
      for k = 1, self.rank do wrong = wrong + entry.left[k] * right[k - 1] end
      sum = sum + wrong * wrong
    end
  end
  return course.root_of_mean(sum, self.entries)
end

-- Collective: trains a new problem. Returns its course (see course.lua), with the final `rmse` and the `model`.
function M.solve(train, options)
  local problem = M.new(options)
  assert(actor.collective.barrier())
  problem.course:start()
  local model = train(problem)
  local outcome = problem.course:finish()
  outcome.rmse, outcome.model = problem:rmse(model), model
  return outcome
end

-- The job of an example: trains with the given flags and prints the result. `more` are the example's own flags.
function M.run(train, more)
  local outcome = M.solve(train, actor.options(actor.util.merged(M.defaults, more or {})))
  for _, point in ipairs(outcome.curve) do print(("epoch %2d  rmse %.4f"):format(point.epochs, point.rmse)) end
  print(("rmse in the end: %.4f"):format(outcome.rmse))
end

return M
