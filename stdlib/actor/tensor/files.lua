--- Tensors in files: one array in .npy, named arrays in .npz (NumPy), named tensors in .safetensors (PyTorch and
--- others).
local check = require("actor.check")
local base = require("actor.tensor.base")
local util = require("actor.util")
local c = require("actor.c.data")

local M = {}

-- Names and tensors of a table as two arrays, in the order of the names.
local function named(tensors, fn)
  local names, values = {}, {}
  for name, t in util.pairs(tensors) do
    check.arg(name, "string", "name", fn)
    base.arg(t, name, fn)
    names[#names + 1], values[#values + 1] = name, t
  end
  return names, values
end

local function save_safetensors(path, value, metadata, fn)
  if base.is_own(value) then
    check.fail("bad argument 'value' to %s: a .safetensors file has named tensors: { x = t }, got one tensor", fn)
  end
  local names, tensors = named(value, fn)
  local keys, texts = {}, {}
  for key, text in util.pairs(metadata or {}) do
    check.arg(key, "string", "key of metadata", fn)
    check.arg(text, "string", "metadata." .. key, fn)
    keys[#keys + 1], texts[#texts + 1] = key, text
  end
  c.safetensors_save(path, names, tensors, keys, texts)
end

---Writes a file that `load` reads: a tensor as .npy, a table of named tensors as .npz, or as .safetensors if the path
---ends so. An existing file is replaced after the new file is complete; if writing fails, this raises and the old file
---is unchanged. Names are UTF-8, in .npz without control characters.
---
---     tensor.save("x.npy", x)
---     tensor.save("model.npz", { weight = w, bias = b })
---     tensor.save("model.safetensors", { weight = w, bias = b }, { metadata = { author = "me" } })
---```lua nodes=1
---actor.tensor.save("t.npy", actor.tensor.ones(2))
---actor.tensor.save("model_tensors.npz", { weight = actor.tensor.ones(2), bias = actor.tensor.zeros(1) })
---print(actor.tensor.load("t.npy"))  --> tensor([1., 1.], float32)
---```
---@param path string
---@param value actor.Tensor|table<string, actor.Tensor>
---@param options? {metadata?: table<string, string>} metadata: texts of a .safetensors file
function M.save(path, value, options)
  local fn = "tensor.save"
  check.arg(path, "string", "path", fn)
  options = check.optional_options(options, { metadata = "table?" }, fn)
  local single = base.is_own(value)
  if not single and type(value) ~= "table" then check.wrong("value", fn, "a tensor or a table of named tensors", value) end
  if path:find("%.safetensors$") then return save_safetensors(path, value, options.metadata, fn) end
  if options.metadata then check.fail("bad option 'metadata' to %s: only a .safetensors file has metadata", fn) end
  if single then return c.npy_save(path, value) end
  c.npz_save(path, named(value, fn))
end

-- Finds the format by the first bytes, or by the ending of the name if the file is too short.
local function format_of(path)
  local start = c.start_of(path, 9)
  if start:sub(1, 2) == "PK" then return "npz" end
  if start:sub(1, 6) == "\147NUMPY" then return "npy" end
  if start:sub(9) == "{" or path:find("%.safetensors$") then return "safetensors" end
  return "npy"
end

---Reads a file written by `save`, NumPy or PyTorch: a .npy file as a tensor, a .npz or .safetensors file as a table of
---named tensors. The first bytes decide the format, not the name. Elements keep their type, with these exceptions:
---float16 and bfloat16 become float32; int8, int16 and uint16 become int32; uint32 and uint64 become int64. Raises for
---a missing file, for other types of elements, and for a damaged file, with the place of the damage.
---```lua nodes=1
---actor.tensor.save("loaded.npz", { weight = actor.tensor.ones(2) })
---print(actor.tensor.load("loaded.npz").weight)  --> tensor([1., 1.], float32)
---```
---@param path string or a URL: `http://`, `https://`, `s3://` or `file://`
---@return actor.Tensor|table<string, actor.Tensor>
---@return table<string, string>? metadata the texts of a .safetensors file
function M.load(path)
  check.arg(path, "string", "path", "tensor.load")
  local format = format_of(path)
  if format == "npz" then return c.npz_load(path) end
  if format == "safetensors" then return c.safetensors_load(path) end
  return c.npy_load(path)
end

return M
