--- Matrix factorisation: recovers a matrix of low rank from its entries. Each node holds a share of the entries and
--- takes a few of them for each step. An update touches only the rows of the two factors for these entries.
local check = require("actor.check")

local kinds = { rows = "number?", columns = "number?", rank = "number?", batch = "number?", noise = "number?" }

local function normals(count, deviation, rng)
  local out = {}
  for i = 1, count do out[i] = deviation * rng:normal() end
  return out
end

---@param options? {rows?: integer, columns?: integer, rank?: integer, batch?: integer, noise?: number} 40 x 40 of rank 3,
---  steps of 20 entries, noise of deviation 0.1
---@return actor.sim.Model
return function(options)
  local fn = "models.factorisation"
  options = check.optional_options(options, kinds, fn)
  local rows, columns, rank = options.rows or 40, options.columns or 40, options.rank or 3
  local batch, noise = options.batch or 20, options.noise or 0.1
  for name, value in pairs { rows = rows, columns = columns, rank = rank, batch = batch } do
    check.integer(value, name, fn, 1, 1e5)
  end
  check.number(noise, "noise", fn, 0)
  local entries, nodes = {}, 1 -- of the whole matrix, row by row

  -- The product of row i and column j (from 0) of factors with `rank` numbers for each.
  local function product(left, right, i, j)
    local sum = 0
    for k = 1, rank do sum = sum + left[i * rank + k] * right[j * rank + k] end
    return sum
  end

  -- The nth entry (from 0) of node `id`.
  local function entry_of(id, n) return (id % nodes + n * nodes) % (rows * columns) end

  return {
    init = function(rng, setup)
      nodes = setup.nodes
      local left, right = normals(rows * rank, 1, rng), normals(columns * rank, 1, rng)
      for e = 0, rows * columns - 1 do
        local j = e % columns
        entries[e] = product(left, right, (e - j) / columns, j) / math.sqrt(rank) + noise * rng:normal()
      end
      return { left = normals(rows * rank, 0.3, rng), right = normals(columns * rank, 0.3, rng) }
    end,
    -- Triples of an entry's row, its column and the product's error, then the two unmodified rows of the factors.
    gradient = function(params, id, _, rng)
      local left, right, update = params.left, params.right, {}
      local held = math.max(1, math.floor(rows * columns / nodes))
      for _ = 1, batch do
        local e = entry_of(id, rng:below(held))
        local j = e % columns
        local i = (e - j) / columns
        local wrong = product(left, right, i, j) - entries[e]
        local one = { i, j }
        for k = 1, rank do
          one[2 + k] = wrong * right[j * rank + k]
          one[2 + rank + k] = wrong * left[i * rank + k]
        end
        update[#update + 1] = one
      end
      return update
    end,
    apply = function(params, update, scale)
      local left, right = params.left, params.right
      for n = 1, #update do
        local one = update[n]
        local i, j = one[1] * rank, one[2] * rank
        for k = 1, rank do
          left[i + k] = left[i + k] - scale * one[2 + k]
          right[j + k] = right[j + k] - scale * one[2 + rank + k]
        end
      end
    end,
    loss = function(params)
      local sum = 0
      for e = 0, rows * columns - 1 do
        local j = e % columns
        local wrong = product(params.left, params.right, (e - j) / columns, j) - entries[e]
        sum = sum + wrong * wrong
      end
      return sum / (rows * columns) / 2
    end,
    rate = function(updates, count) return 1 / count / math.sqrt(1 + updates / (100 * count)) end,
  }
end
