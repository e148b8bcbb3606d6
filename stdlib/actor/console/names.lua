--- The names that a chunk at a prompt sees: the local variables of the script's main chunk that are visible where the
--- script calls the library, then its globals, then `actor` and its modules (`param`, `tensor`, `barrier`, ...), which
--- a script must `require`. An assignment changes such a local variable if there is one, and otherwise a global. The
--- local variables are visible until the chunk ends. After that, a function of the chunk sees only globals.
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

-- The script that the present chunk interrupts: its coroutine, the level of its main chunk there, and the indices of
-- the main chunk's local variables by name. They do not change while the chunk runs.
local script = { slots = {} }

-- Finds the main chunk, which is the outermost function, and its visible variables; of equal names the inner one
-- counts.
local function inspect(interrupted)
  script = { thread = interrupted, slots = {} }
  local level = 0
  while interrupted do
    local info = debug.getinfo(interrupted, level, "S")
    if not info then break end
    if info.what == "main" then script.level = level end
    level = level + 1
  end
  local index = 1
  while script.level do
    local name = debug.getlocal(interrupted, script.level, index)
    if not name then break end
    if name:find("^[%a_]") then script.slots[name] = index end
    index = index + 1
  end
end

---Lists the names of the script's local variables that a chunk sees.
---@return string[]
function M.locals()
  local found = {}
  for name in pairs(script.slots) do found[#found + 1] = name end
  return found
end

---Reads a local variable of the script.
---@param name string
---@return boolean found
---@return any value
function M.read_local(name)
  local index = script.slots[name]
  if not index then return false end
  local _, value = debug.getlocal(script.thread, script.level, index)
  return true, value
end

local environment

local function read(globals, name) return globals[name] end

---Returns the table of these names, for `setfenv`. Each Lua state has one. At the end of the chunk the host calls this
---function without a script, because the indices of local variables are no longer valid.
---@param interrupted? thread the script that the chunk interrupts
---@return table
function M.environment(interrupted)
  inspect(interrupted)
  if environment then return environment end
  local globals, modules = getfenv(0), M.modules()
  environment = setmetatable({}, {
    __index = function(_, name)
      local found, value = M.read_local(name)
      if found then return value end
      value = rawget(globals, name)
      if value ~= nil then return value end
      if modules[name] then return require(modules[name]) end
      local declared, wrong = pcall(read, globals, name) -- globals are strict
      if not declared then check.fail("%s", (tostring(wrong):gsub("^stdlib/[^:]*:%d+: ", ""))) end
    end,
    __newindex = function(_, name, value)
      local index = script.slots[name]
      if index then debug.setlocal(script.thread, script.level, index, value) else rawset(globals, name, value) end
    end,
    __metatable = false,
  })
  return environment
end

return M
