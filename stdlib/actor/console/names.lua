--- The names that a chunk at a prompt sees: the globals of the node's script, then `actor` and its modules (`param`,
--- `tensor`, `barrier`, ...), which a script must `require`. Assignments change the globals.
local check = require("actor.check")
local core = require("actor.c.core")

local M = {}

---Returns the standard library's modules by their names in scripts: "actor", "param" and so on.
---@return table<string, string> module by name
function M.modules()
  local found = { actor = "actor", mr = "actor.mapreduce" }
  for module in pairs(core.library()) do
    local name = module:match("^actor%.([%a_]+)$")
    if name then found[name] = module end
  end
  return found
end

local environment

local function read(globals, name) return globals[name] end

---Returns the table of these names, for `setfenv`. Each Lua state has one.
---@return table
function M.environment()
  if environment then return environment end
  local globals, modules = getfenv(0), M.modules()
  environment = setmetatable({}, {
    __index = function(_, name)
      local value = rawget(globals, name)
      if value ~= nil then return value end
      if modules[name] then return require(modules[name]) end
      local declared, wrong = pcall(read, globals, name) -- globals are strict
      if not declared then check.fail("%s", (tostring(wrong):gsub("^stdlib/[^:]*:%d+: ", ""))) end
    end,
    __newindex = function(_, name, value) rawset(globals, name, value) end,
    __metatable = false,
  })
  return environment
end

return M
