--- PowerSGD: the mean of all workers' gradients by two small all-reduces instead of a large one. A gradient of (rows,
--- columns) is approximated by a product of (rows, rank) and (rank, columns); the rest is kept on the worker and added
--- to its next gradient (error feedback). Source: Vogels, Karimireddy, Jaggi, PowerSGD, NeurIPS 2019, and the authors'
--- code.
local check = require("actor.check")
local tensor = require("actor.tensor")

---@class actor.PowerSgd
---@field rank integer
---@field private states table<any, {error: actor.Tensor, right: actor.Tensor}>
---@field private sent number bytes
---@field private whole number bytes
---@field size? integer number of workers, if they are not the nodes of this run (actor.reproduce simulates workers)
---@field allreduce? fun(t: actor.Tensor): actor.Tensor the sum over these workers
local PowerSgd = check.class("powersgd:")

local epsilon = 1e-8

-- Makes the columns orthonormal, in place (Gram-Schmidt).
local function orthogonalise(p)
  local columns = p.shape[2]
  for i = 1, columns do
    local column = p:narrow(2, i, 1)
    column:mul_(1 / (column:norm() + epsilon))
    if i < columns then
      local rest = p:narrow(2, i + 1, columns - i)
      rest:sub_(column:matmul(column:transpose():matmul(rest)))
    end
  end
end

local function bytes_of(t) return t.size * (t.dtype == "float64" and 8 or 4) end

local function reduced(self, t)
  self.sent = self.sent + bytes_of(t)
  if self.allreduce then return self.allreduce(t) end
  return require("actor.collective").allreduce(t)
end

---Returns the mean of a tensor over all workers, approximately for a tensor of two or more dimensions that gets smaller
---by it. Every worker makes the call, with the same key. The first dimension has the rows.
---```lua nodes=2
---local filter = actor.filter.powersgd { rank = 1 }
---local gradient = actor.tensor.full({ 20, 30 }, actor.rank) -- of rank 1, so nothing is lost
---print(("%.3f"):format(filter:mean(gradient, "w"):mean()))  --> 0.500
---```
---@param t actor.Tensor
---@param key any each tensor that is sent repeatedly has its own
---@return actor.Tensor
function PowerSgd:mean(t, key)
  if not tensor.is_tensor(t) then check.wrong("t", "powersgd:mean", "a tensor", t) end
  if key == nil then check.wrong("key", "powersgd:mean", "a key", key) end
  local size = self.size or require("actor").size
  self.whole = self.whole + bytes_of(t)
  local rows = t.ndim > 1 and t.shape[1] or 1
  local columns = rows > 0 and t.size / rows or 0
  local rank = math.min(self.rank, rows, columns)
  if t.ndim < 2 or rank * (rows + columns) >= rows * columns then return reduced(self, t):mul_(1 / size) end
  local state = self.states[key]
  if not state or state.error.shape[1] ~= rows or state.error.shape[2] ~= columns or state.error.dtype ~= t.dtype then
    state = {
      error = tensor.zeros({ rows, columns }, { dtype = t.dtype }),
      right = tensor.normal({ columns, rank }, { seed = self.seed, dtype = t.dtype }),
    }
    self.states[key] = state
  end
  local matrix = t:reshape(rows, columns) + state.error
  local left = reduced(self, matrix:matmul(state.right))
  orthogonalise(left)
  state.right = reduced(self, matrix:transpose():matmul(left)):mul_(1 / size)
  local mean = left:matmul(state.right:transpose())
  state.error = matrix - mean
  return mean:reshape(unpack(t.shape))
end

---Returns the numbers of bytes that a plain all-reduce would have got as its input, and that this filter's all-reduces
---got.
---@return actor.filter.Stats
function PowerSgd:stats()
  return { before = self.whole, after = self.sent, ratio = self.sent == 0 and 1 or self.whole / self.sent }
end

---@param options {rank: integer, seed?: integer}
---@return actor.PowerSgd
return function(options)
  local fn = "filter.powersgd"
  check.options(options, { rank = "number", seed = "number?" }, fn)
  check.integer(options.rank, "rank", fn, 1, 2 ^ 16)
  return setmetatable({ rank = options.rank, seed = options.seed or 1, states = {}, sent = 0, whole = 0 }, PowerSgd)
end
