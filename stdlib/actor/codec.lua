--- Lua values as bytes and back, as the engines encode what they send. Values that can travel are numbers, strings,
--- booleans, nil, 64-bit integers, tensors and tables of these; not cycles, functions, userdata or metatables.
local check = require("actor.check")
local core = require("actor.c.codec")

---@class actor.codec
local M = {}

---Encodes a value. Raises for what cannot travel, with its path: "value.layers[3].activation is a function".
---@param value any
---@return string bytes
---@return any[]|nil tensors the tensors of the value in order, nil when it has none: `decode` needs them beside the bytes
function M.encode(value)
  return core.encode(value)
end

---Decodes bytes that `encode` has made. Safe for bytes of any origin.
---@param bytes string
---@param tensors? any[] as encode returned them
---@return any value nil, message, "bad_data" when the bytes are no encoding
---@return string? message
---@return string? code
function M.decode(bytes, tensors)
  return core.decode(bytes, tensors)
end

---Hashes a value: 16 hexadecimal digits (XXH64), the same for equal values in every VM and on every machine, whatever
---the order of `pairs`.
---@param value any
---@return string
function M.hash(value)
  return core.hash(value)
end

---Tells the codec what a tensor is. Called once, by the module that implements tensors.
---@param hooks { is: (fun(value: any): boolean), encode?: (fun(tensor: any): any), decode?: (fun(item: any): any), hash?: (fun(tensor: any): string) }
---`is` is asked about cdata, userdata and tables with a metatable. `encode` gives what stands in the list of tensors
---(by default the tensor itself), `decode` makes a tensor of that again. `hash` gives a text that equal tensors share.
function M.register_tensor(hooks)
  check.options(hooks, {
    is = "function", encode = "function?", decode = "function?", hash = "function?",
  }, "codec.register_tensor")
  core.register_tensor(hooks)
end

return M
