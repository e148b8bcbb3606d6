-- The problem that the examples of this folder share: a matrix of low rank of which half of the entries are known, and
-- its two factors are to be found by SGD. Each rank has some of the rows with their known entries and their factors; the
-- factors of the columns are the model, which is trained together. Data and start depend on the seed alone.
local actor = require "actor"

local Problem = {}
Problem.__index = Problem

local M = {}

local function normals(random, count, deviation)
  local out = {}
  for i = 1, count do out[i] = deviation * random:normal() end
  return out
end

-- This rank's part of the problem: options rows, columns, rank (of the matrix), rate (of learning).
function M.new(options)
  local self = setmetatable({ rate = options.rate, rank = options.rank, columns = options.columns }, Problem)
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
  return self
end

-- The columns whose factors this rank makes, in some way that all agree on.
function Problem:own_columns()
  local own = {}
  for column = actor.rank, self.columns - 1, actor.size do own[#own + 1] = column end
  return own
end

-- The factors that a column begins with: a tensor.
function Problem:first_factors(column)
  return actor.tensor(self.start[column], { dtype = "float64" })
end

-- One step of SGD for each entry that this rank knows of the column; changes the column's factors in place.
function Problem:train(column, factors)
  local right = factors:data()
  for _, entry in ipairs(self.known[column]) do
    local left, wrong = entry.left, -entry.value
    for k = 1, self.rank do wrong = wrong + left[k] * right[k - 1] end
    for k = 1, self.rank do
      local old = left[k]
      left[k] = old - self.rate * wrong * right[k - 1]
      right[k - 1] = right[k - 1] - self.rate * wrong * old
    end
  end
end

-- Collective: the root of the mean squared error over the known entries of all ranks. `model` is a table of factors by
-- column, each somewhere.
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
  local total = assert(actor.collective.allreduce(actor.tensor({ sum, self.entries }, { dtype = "float64" })))
  return math.sqrt(total:get(1) / total:get(2))
end

return M
