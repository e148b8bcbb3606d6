--- Rows of which only the given values are stored, as `data.libsvm` reads them with `sparse = true`. `data.batch` makes
--- dense tensors of some of them.
local M = {}

---@class actor.data.SparseRows
---@field n integer rows
---@field width integer columns
---@field starts actor.Tensor int64 {n + 1}: row r has the values starts[r] .. starts[r + 1] - 1
---@field columns actor.Tensor int64: the column of each value, from 1, rising within a row
---@field values actor.Tensor float32 or float64
local SparseRows = {}
SparseRows.__index = SparseRows

function SparseRows.__tostring(rows)
  return ("sparse rows(%d x %d, %d values, %s)"):format(rows.n, rows.width, rows.values.size, rows.values.dtype)
end

---Makes rows of their parts, without a check or a copy.
---@param parts {n: integer, width: integer, starts: actor.Tensor, columns: actor.Tensor, values: actor.Tensor}
---@return actor.data.SparseRows
function M.new(parts) return setmetatable(parts, SparseRows) end

---@param value any
---@return boolean
function M.is(value) return getmetatable(value) == SparseRows end

return M
