--- Lua values as bytes and back: the encoding of the engines' messages. Values that can travel are numbers, strings,
--- booleans, nil, 64-bit integers, tensors and tables of these. Cycles, functions, userdata and metatables cannot
--- travel.
local check = require("actor.check")
local core = require("actor.c.codec")

---@class actor.codec
local M = {}

---Encodes a value. Raises for a value that cannot travel, with its path: "value.layers[3].activation is a function".
---```lua
---local bytes = actor.codec.encode { 1, "two", x = true }
---print(actor.codec.decode(bytes)[2])  --> two
---```
---@param value any
---@return string bytes
---@return any[]|nil tensors the tensors of the value in order, nil when it has none: `decode` needs them beside the bytes
function M.encode(value) return core.encode(value) end

---Decodes bytes from `encode`. Safe for bytes of any origin.
---```lua
---local bytes, tensors = actor.codec.encode { w = actor.tensor.ones(2) }
---print(actor.codec.decode(bytes, tensors).w)  --> tensor([1., 1.], float32)
---```
---@param bytes string
---@param tensors? any[] as encode returned them
---@return any value nil, message, "bad_data" when the bytes are no encoding
---@return string? message
---@return string? code
function M.decode(bytes, tensors) return core.decode(bytes, tensors) end

---Hashes a value to 16 hexadecimal digits (XXH64). Equal values have equal hashes in every VM and on every machine,
---regardless of the order of `pairs`.
---```lua
---print(actor.codec.hash("a") == actor.codec.hash("b"))  --> false
---```
---@param value any
---@return string
function M.hash(value) return core.hash(value) end

---Registers the tensor type with the codec. The module that implements tensors calls it once.
---@param hooks { is: (fun(value: any): boolean), encode?: (fun(tensor: any): any), decode?: (fun(item: any): any), hash?: (fun(tensor: any): string) }
---`is` receives cdata, userdata and tables with a metatable. `encode` returns the item for the list of tensors
---(default: the tensor itself); `decode` makes a tensor from that item. `hash` returns a text, equal for equal tensors.
function M.register_tensor(hooks)
  check.options(hooks, {
    is = "function", encode = "function?", decode = "function?", hash = "function?",
  }, "codec.register_tensor")
  core.register_tensor(hooks)
end

return M
