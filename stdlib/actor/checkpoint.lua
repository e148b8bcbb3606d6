--- Checkpoints for jobs that hold their own state: collective jobs, averaging, plain loops. `--checkpoint DIR` names
--- the folder; `--resume` continues from the newest checkpoint. Without these flags `save` costs next to nothing and
--- `load` returns nil. The files have the format of the parameter server's checkpoints (npz and JSON). A checkpoint
--- appears in the folder only when it is complete. When SIGTERM ends a run (`--grace`), the next `save` of each keeper
--- writes regardless of its interval, and then the run ends. A folder belongs to one run at a time: a second run is
--- refused.
---
---     local keeper = actor.checkpoint.new { steps = 100 }
---     local state = keeper:load() or { step = 0, x = tensor.zeros { n } }
---     while state.step < 10000 do
---       state.x, state.step = improved(state.x), state.step + 1
---       keeper:save(state)
---     end
---
--- `load` gives every rank the state of rank 0, for any number of ranks. With `ranks = "all"` each rank saves and loads
--- its own state. `load` then raises an error if the number of ranks has changed; `load { parts = true }` instead gives
--- every rank the states of all ranks.
local check = require("actor.check")
local node = require("actor.c.node")
local util = require("actor.util")
local c = require("actor.c.checkpoint")

---@class actor.CheckpointOptions
---@field name? string default "state"; a job with several checkpoints gives each its own name
---@field ranks? "first"|"all" the saved states: of rank 0 (default), for a state equal on all ranks, or of each rank
---@field steps? integer save at every `steps`-th call
---@field seconds? number seconds between two saves; default 30 unless `steps` is given
---@field dir? string the folder if --checkpoint is absent; without both, `save` writes nothing
---@field keep? integer number of retained checkpoints, default 3

---@class actor.Checkpoint
---@field private name string
---@field private ranks "first"|"all"
---@field private steps? integer
---@field private seconds? number
---@field private keep integer
---@field private dir? string
---@field private calls integer calls of `save`, including those before a resume
---@field private registered? boolean SIGTERM waits for its next save
---@field private last number time of the last save
local Checkpoint = check.class("checkpoint:", "steps", "seconds", "dir", "registered")

local M = {}

local kinds = { name = "string?", ranks = "string?", steps = "number?", seconds = "number?", dir = "string?", keep = "number?" }

---Makes a keeper of checkpoints. It decides when to save and finds the newest checkpoint.
---```lua
---local keeper = actor.checkpoint.new { steps = 10 } -- the folder is --checkpoint DIR; without it nothing is written
---local state = keeper:load() or { step = 0 } -- the newest checkpoint in a run with --resume DIR
---for step = state.step + 1, 30 do
---  state.step = step -- ... a step of the job
---  keeper:save(state)
---end
---keeper:finish()
---print(state.step)  --> 30
---```
---@param options? actor.CheckpointOptions
---@return actor.Checkpoint
function M.new(options)
  local fn = "checkpoint.new"
  options = check.optional_options(options, kinds, fn)
  local name = options.name or "state"
  if not name:find("^[%w_-]+$") or name == "checkpoint" then
    check.fail("bad argument 'name' to %s: expected letters, digits, - and _, other than 'checkpoint', which is the parameter server's; got '%s'",
      fn, name)
  end
  check.one_of(options.ranks or "first", { "first", "all" }, "ranks", fn)
  if options.steps then check.integer(options.steps, "steps", fn, 1, 2 ^ 53) end
  if options.seconds then check.number(options.seconds, "seconds", fn, 0) end
  check.integer(options.keep or 3, "keep", fn, 1, 2 ^ 31 - 1)
  local seconds = options.seconds or (not options.steps and 30 or nil)
  node.honour("checkpoint")
  local dir = node.flags().checkpoint or options.dir
  if dir and node.rank == 0 then c.lock(dir, name) end
  return setmetatable({
    name = name, ranks = options.ranks or "first", steps = options.steps, seconds = seconds, keep = options.keep or 3,
    dir = dir, calls = 0, last = require("actor").now(),
  }, Checkpoint)
end

-- ---- in this VM, for engines with all state in one place ----

---Counts a call and returns whether a save is due: by the interval, or because of SIGTERM. For engines that call
---`write`; `save` calls this itself.
---@return boolean
function Checkpoint:due()
  self.calls = self.calls + 1
  if not self.dir then return false end
  if not self.registered and (node.rank == 0 or node.role == "server") then
    c.keep(self.name) -- SIGTERM waits for its next save
    self.registered = true
  end
  if (self.steps and self.calls % self.steps == 0) or c.pressing() then return true end
  return self.seconds ~= nil and require("actor").now() - self.last >= self.seconds
end

---Declares that no further save follows, so that SIGTERM does not wait for one.
---```lua
---local keeper = actor.checkpoint.new { name = "done" }
---keeper:finish()
---```
function Checkpoint:finish()
  if self.registered then c.drop(self.name) end
  self.registered = false
end

---Writes a checkpoint now; raises on failure.
---@param states table<string, any>[] one state, or with `ranks = "all"` one for each rank
---@return string path
function Checkpoint:write(states)
  local entries, all = {}, self.ranks == "all"
  for rank, state in ipairs(states) do
    for key, value in util.pairs(state) do
      entries[#entries + 1] = { all and ("rank%d.%s"):format(rank - 1, key) or key, value }
    end
  end
  self.last = require("actor").now()
  return c.write(self.dir, self.name, self.keep, entries, self.calls, all and #states or 0)
end

---Reads the newest checkpoint in a resumed run (`--resume`).
---@return table<string, any>[]|nil states
---@return integer? ranks number of ranks with saved states; 0 if only rank 0 saved
function Checkpoint:read()
  local flags = node.flags()
  node.honour("resume")
  if not flags.resume then return nil end
  local values, calls, ranks = c.read(flags.resume ~= "" and flags.resume or flags.checkpoint, self.name)
  if not values then return nil end
  self.calls = calls
  if ranks == 0 then return { values }, 0 end
  local states = {}
  for rank = 1, ranks do states[rank] = {} end
  for key, value in pairs(values) do
    local rank, name = key:match("^rank(%d+)%.(.*)$")
    states[rank + 1][name] = value
  end
  return states, ranks
end

-- ---- for scripts ----

---Saves the state if a save is due: the state of rank 0 or, with `ranks = "all"`, of every rank. With "all" every rank
---makes the call. Returns once the state is on disk. Raises if the checkpoint cannot be written.
---```lua nodes=1
---local keeper = actor.checkpoint.new { name = "saved", steps = 1, dir = "checkpoints" }
---print(keeper:save { step = 1, w = actor.tensor.zeros(2) } ~= nil)  --> true
---keeper:finish()
---```
---@param state table<string, any> values by name: tensors and other values that can travel (actor.codec)
---@return string|nil path of the checkpoint, on rank 0, if one was saved
---@return string? message "gather: rank 2 lost", with `ranks = "all"`: nothing was saved
---@return string? code
function Checkpoint:save(state)
  check.arg(state, "table", "state", "checkpoint:save")
  for key in pairs(state) do
    if type(key) ~= "string" then check.wrong("state", "checkpoint:save", "a table of values by name", state) end
  end
  local due = self:due()
  if self.ranks == "first" then return node.rank == 0 and due and self:write { state } or nil end
  if not self.dir then return nil end
  local collective, message, code = require("actor.collective"), nil, nil
  due, message, code = collective.broadcast(due, 0) -- clocks differ between ranks, and rank 0 receives SIGTERM
  if code then return nil, message, code end
  if not due then return nil end
  local states
  states, message, code = collective.gather(state, 0)
  if code then return nil, message, code end
  return states ~= true and self:write(states) or nil
end

-- Reads on rank 0: the states, and the notice that all ranks receive about them.
local function found_by(self, parts)
  local states, ranks = self:read()
  if not states then return nil, {} end
  local size = node.size
  if self.ranks == "first" and ranks > 0 then
    check.fail("checkpoint:load: '%s' was saved with ranks = 'all', by %d of them", self.name, ranks)
  elseif self.ranks == "all" and ranks == 0 then
    check.fail("checkpoint:load: '%s' was saved with ranks = 'first'", self.name)
  elseif self.ranks == "all" and ranks ~= size and not parts then
    check.fail("checkpoint:load: '%s' was saved by %d ranks and this run has %d; load { parts = true } gives all %d parts to each rank",
      self.name, ranks, size, ranks)
  end
  return states, { calls = self.calls }
end

-- Returns the result of a collective. A failure raises: `load() or new_state` would begin a resumed job anew.
local function received(value, message, code)
  if code then check.fail("checkpoint:load: %s", message) end
  return value
end

---Returns the saved state in a resumed run; nil in a new run. Every worker makes the call, like any collective. With
---`ranks = "all"` each rank gets its own state, so the number of ranks must equal that at the save. Raises if a rank is
---lost before or during the call.
---```lua
---local keeper = actor.checkpoint.new { name = "loaded" }
---print(keeper:load()) -- nil: this run does not resume --> nil
---keeper:finish()
---```
---@param options? {parts?: boolean} with `ranks = "all"`: true gives every rank an array of all ranks' states, rank 0's first, for any number of ranks
---@return table<string, any>|nil state
function Checkpoint:load(options)
  if options ~= nil then check.options(options, { parts = "boolean?" }, "checkpoint:load") end
  local collective, parts = require("actor.collective"), options and options.parts
  local states, about
  if node.rank == 0 then
    local read
    read, states, about = pcall(found_by, self, parts)
    if not read then about = { error = tostring(states):gsub("^[^\n]-:%d+: ", "") } end
  end
  local found = received(collective.broadcast(about, 0))
  if found.error then check.fail("%s", found.error) end
  if not found.calls then return nil end
  self.calls = found.calls
  if self.ranks == "first" then return received(collective.broadcast(states and states[1], 0)) end
  if parts then return received(collective.broadcast(states, 0)) end
  return received(collective.scatter(states, 0))
end

return M
