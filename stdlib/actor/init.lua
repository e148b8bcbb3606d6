--- The standard library. `actor.NAME` requires the module "actor.NAME" at its first use; the members below always
--- exist. A node's identity (rank, size, id, role, epoch, seed) and its events (on_membership, on_error) come from the
--- host: each use reads the current value, since membership changes. Outside a node, using them is an error.
local check = require("actor.check")
local core = require("actor.c.core")
local clock = require("actor.ffi")("core")
local spelling = require("actor.c.names")
local util = require("actor.util")

---@class actor
---@field args string[] the words after the script on the command line; args[0] is the script's path, nil on machines without it
---@field version string of actorhost
---@field average actor.average
---@field barrier actor.barrier
---@field codec actor.codec
---@field collective actor.collective
---@field data actor.data
---@field filter actor.filter
---@field help actor.help
---@field log actor.log
---@field mapreduce actor.mapreduce
---@field merge actor.merge
---@field nn actor.nn
---@field optim actor.optim
---@field param actor.param
---@field peer actor.peer
---@field plot actor.plot
---@field progress actor.progress
---@field program actor.program
---@field psp actor.psp
---@field sim actor.sim
---@field tensor actor.tensor
---@field text actor.text
---@field trace actor.trace
---@field options fun(defaults: table<string|integer, string|number|boolean|actor.options.Flag>, args?: string[]): table<string|integer, any> a job's own flags
---@field rank integer|nil this worker's place among the live workers, from 0; nil on a server
---@field size integer number of live workers
---@field id integer|nil this worker's permanent number, never used by another worker; nil on a server
---@field role "worker"|"server" role of this node
---@field shard integer|nil a server's number, from 0; nil on a worker
---@field epoch integer number of the membership, which grows with each change
---@field seed integer of the run, the same on every node
---@field on_membership fun(fn: fun(change: actor.MembershipChange)) calls `fn` when workers join or are lost; see actor.events
---@field on_error fun(fn: fun(message: string)) calls `fn` when the run fails; see actor.events
---@field rehearsal actor.rehearsal
---@field rng fun(seed: number, stream?: number): actor.Rng a generator of random numbers
local M = { version = core.version, pairs = util.pairs }

local node

local function the_node(name)
  if not node then
    if not package.preload["actor.c.node"] then
      check.fail("actor.%s: this Lua state is not a node of a cluster", name)
    end
    node = require("actor.c.node")
    require("actor.c.collective") -- records the ranks, so that the first collective reports a later loss
  end
  return node
end

---Hashes a value to 16 hexadecimal digits, the same in every VM and on every machine; see actor.codec.
---```lua
---print(actor.hash { 1, 2, 3 } == actor.hash { 1, 2, 3 })  --> true
---```
---@param value any
---@return string
function M.hash(value) return require("actor.c.codec").hash(value) end

---Waits for the given seconds. Ends early when the run ends.
---```lua
---actor.sleep(0.01)
---```
---@param seconds number
function M.sleep(seconds) the_node("sleep").sleep(seconds) end

---Returns the time of the run's clock, in seconds. Only differences mean something: its zero is arbitrary.
---```lua
---local began = actor.now()
---print(actor.now() - began < 10)  --> true
---```
---@return number
function M.now() return clock.now(clock.clock) end

local series -- the FFI table
local tracks = {} -- by name
local series_left_out = false -- whether the limit of names is exceeded

local function track_of(name)
  check.arg(name, "string", "name", "actor.report")
  if not series then
    the_node("report")
    series = require("actor.ffi")("series")
  end
  local track = series.track(series.node, name, #name)
  if track < 0 then
    if not series_left_out then
      require("actor.log").warn("actor.report: there are 64 series already, '%s' is left out, and further ones", name)
    end
    series_left_out = true
    return false
  end
  tracks[name] = track
  return track
end

---Reports a number of the job, such as its loss, to the run's observers. Each `name` is a series with the points of
---every node. A call costs about a tenth of a microsecond. A process retains about 500 points of a series: in a longer
---series every second, fourth, ... point, and always the newest. It retains 64 series; further series are dropped with
---one warning. An infinite value or NaN is shown as a gap.
---```lua
---for step = 1, 3 do actor.report("loss", 1 / step, step) end -- a curve on the page, in :stats and /metrics
---```
---@param name string
---@param value number
---@param step? number step of the value, at least 0; default: a count of the reports, from 1
function M.report(name, value, step)
  if type(value) ~= "number" then check.arg(value, "number", "value", "actor.report") end
  if step ~= nil and type(step) ~= "number" then check.arg(step, "number", "step", "actor.report") end
  local track = tracks[name]
  if track == nil then track = track_of(name) end
  if track then series.add(series.node, track, step or -1, value) end
end

local show_limits = { depth = "number?", entries = "number?", width = "number?", bytes = "number?" }

---Returns a value as text of bounded size. The text of a table shows its contents and the tables in it; a table inside
---itself is not shown again, and `__tostring` of a table replaces this text. Inside a table, texts have quotes, and a
---tensor has its shape, its type and at most 8 elements. A function has its file and line. `print` shows tables in the
---same way, with lower limits.
---```lua
---print(actor.show { name = "a", shape = { 28, 28 } })  --> { name = "a", shape = { 28, 28 } }
---```
---@param value any
---@param limits? {depth?: integer, entries?: integer, width?: integer, bytes?: integer} depth: tables within tables,
---default 5; entries: of each table, default 100; width: columns of a line, default 100; bytes: of the text, default
---16384
---@return string
function M.show(value, limits)
  limits = check.optional_options(limits, show_limits, "actor.show")
  for name, limit in pairs(limits) do check.integer(limit, name, "actor.show", 1) end
  return require("actor.console.format").value(value, "table", util.merged(limits))
end

local identity = { rank = true, size = true, id = true, role = true, epoch = true, seed = true, shard = true }
local events = { on_membership = true, on_error = true }

local function member(_, name)
  if name == "args" then
    rawset(M, "args", core.args) -- the host warns of arguments if the script has not read them
    return core.args
  end
  if identity[name] then return the_node(name)[name] end
  if events[name] then return the_node(name) and require("actor.events")[name] end
  local found, module = pcall(require, "actor." .. name)
  if found then
    rawset(M, name, module)
    return module
  end
  if module:find("module 'actor." .. name .. "' not found", 1, true) then
    local names = {}
    for _, some in ipairs { M, identity, events, { args = true } } do
      for key in pairs(some) do names[#names + 1] = key end
    end
    for module in pairs(core.library()) do names[#names + 1] = module:match("^actor%.([^.]+)$") end
    spelling.unknown("actor.", name, names)
  end
  error(module, 0)
end

return setmetatable(M, {
  __index = function(t, name)
    if type(name) ~= "string" then check.fail("there is no actor[%s]", tostring(name)) end
    return member(t, name)
  end,
})
