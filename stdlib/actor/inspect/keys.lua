--- The keys of the parameter server.
local text = require("actor.inspect.text")

local M = {}

local function shape_text(key)
  if not key.shape then return "" end
  return #key.shape == 0 and "scalar" or table.concat(key.shape, "x")
end

---Selects the keys that match a pattern: text with `*` and `?`, or a part of the name.
---@param state table with keys
---@param pattern? string
---@return table[] keys in the order of their names
function M.select(state, pattern)
  local found = {}
  local wild = pattern and pattern:find("[*?]") and
    "^" .. pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$"
  for _, key in ipairs(state.keys or {}) do
    local name = tostring(key.key)
    if not pattern or (wild and name:find(wild)) or (not wild and name:find(pattern, 1, true)) then found[#found + 1] = key end
  end
  table.sort(found, function(a, b) return tostring(a.key) < tostring(b.key) end)
  return found
end

---@param state table with nodes and keys
---@param pattern? string
---@param before? table an earlier state, for updates a second
---@return string
function M.table(state, pattern, before)
  local keys = M.select(state, pattern)
  if #keys == 0 then
    return pattern and ("no key fits '%s'"):format(pattern) or "the parameter server has no keys; :get KEY shows those of peers"
  end
  local earlier, seconds = {}, before and state.run.t - before.run.t or state.run.t
  for _, key in ipairs(before and before.keys or {}) do earlier[key.key] = key.updates end
  local rows = {}
  for i, key in ipairs(keys) do
    local rate = key.updates and seconds > 0 and (key.updates - (earlier[key.key] or 0)) / seconds
    rows[i] = { tostring(key.key), shape_text(key), key.dtype or "", key.bytes and text.bytes(key.bytes) or "",
      tostring(key.version or ""), key.shard and ("server %d"):format(key.shard) or "", rate and ("%.1f"):format(rate) or "" }
  end
  return text.columns({ "key", "shape", "type", ">bytes", ">version", "owner", before and ">updates/s" or ">updates/s so far" }, rows)
end

return M
