--- Tensors in NumPy's files: one array in .npy, named arrays in .npz.
local check = require("actor.check")
local base = require("actor.tensor.base")
local util = require("actor.util")
local c = require("actor.c.data")

local M = {}

---Writes a tensor as a .npy file, or a table of named tensors as a .npz file, for numpy.load. An existing file is
---replaced after the new file is complete; if writing fails, this raises and the old file is unchanged. Names are UTF-8
---without control characters.
---
---     tensor.save("x.npy", x)
---     tensor.save("model.npz", { weight = w, bias = b })
---@param path string
---@param value actor.Tensor|table<string, actor.Tensor>
function M.save(path, value)
  local fn = "tensor.save"
  check.arg(path, "string", "path", fn)
  if base.is_own(value) then return c.npy_save(path, value) end
  if type(value) ~= "table" then check.wrong("value", fn, "a tensor or a table of named tensors", value) end
  local names, tensors = {}, {}
  for name, t in util.pairs(value) do
    check.arg(name, "string", "name", fn)
    base.arg(t, name, fn)
    names[#names + 1], tensors[#tensors + 1] = name, t
  end
  c.npz_save(path, names, tensors)
end

-- Whether the file begins as a zip archive does; false for a file that cannot be opened.
local function is_archive(path)
  local file = io.open(path, "rb")
  local start = file and file:read(2)
  if file then file:close() end
  return start == "PK"
end

---Reads a file of `save` or NumPy: a tensor from a .npy file, a table of named tensors from a .npz file. The first
---bytes decide the format, not the name. Elements keep their type, except that float16 becomes float32; int8, int16 and
---uint16 become int32; uint32 and uint64 become int64. Raises for a missing file, a damaged file (the error gives file
---and byte) or other element types.
---@param path string
---@return actor.Tensor|table<string, actor.Tensor>
function M.load(path)
  check.arg(path, "string", "path", "tensor.load")
  if is_archive(path) then return c.npz_load(path) end
  return c.npy_load(path)
end

return M
