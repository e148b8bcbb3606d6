--- Checkpoints of jobs that keep their state themselves: in collective jobs, in averaging, in plain loops. `--checkpoint DIR`
--- says where they go, `--resume` lets the job go on from the newest one; without these flags `save` costs next to nothing
--- and `load` gives nil. The files have the format of the parameter server's checkpoints (npz and JSON). A checkpoint
--- that was not written completely is not there at all. When SIGTERM ends a run (`--grace`) the next `save` of each keeper
--- writes, whatever its turn is, and the run ends then. A folder is one run's: another one that is to use it meanwhile is
--- refused.
---
---     local keeper = actor.checkpoint.new { steps = 100 }
---     local state = keeper:load() or { step = 0, x = tensor.zeros { n } }
---     while state.step < 10000 do
---       state.x, state.step = improved(state.x), state.step + 1
---       keeper:save(state)
---     end
---
--- The state of rank 0 goes to every rank at `load`, whatever the number of ranks is then. With `ranks = "all"` each rank
--- has saved its own and gets that back; in a run of another number of ranks `load` refuses to guess, and with
--- `{ parts = true }` gives all of them to each rank.
local check = require("actor.check")
local node = require("actor.c.node")
local util = require("actor.util")
local c = require("actor.c.checkpoint")

---@class actor.CheckpointOptions
---@field name? string default "state"; a job with several checkpoints gives each its own name
---@field ranks? "first"|"all" which ranks' states are saved: rank 0's (default), for a state that is the same on all, or each rank's
---@field steps? integer save at every `steps`-th call
---@field seconds? number save when so many seconds have passed since the last time; default 30 where `steps` is not given either
---@field dir? string the folder, when --checkpoint is not given; without both nothing is saved
---@field keep? integer how many checkpoints to keep, default 3

---@class actor.Checkpoint
---@field private name string
---@field private ranks "first"|"all"
---@field private steps? integer
---@field private seconds? number
---@field private keep integer
---@field private dir? string
---@field private calls integer of save, those before a resumption too
---@field private kept? boolean SIGTERM waits for its next save
---@field private last number when it saved
local Checkpoint = {}
Checkpoint.__index = Checkpoint
setmetatable(Checkpoint, check.strict("checkpoint:", "steps", "seconds", "dir", "kept"))

local M = {}

local kinds = { name = "string?", ranks = "string?", steps = "number?", seconds = "number?", dir = "string?", keep = "number?" }

---Makes a keeper of checkpoints: it decides when to save, and finds the newest checkpoint again.
---@param options? actor.CheckpointOptions
---@return actor.Checkpoint
function M.new(options)
  local fn = "checkpoint.new"
  options = options or {}
  check.options(options, kinds, fn)
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

-- ---- in this VM, for engines that keep the state in one place ----

---Counts a call, and returns whether it is time to write, which it also is when SIGTERM has come. For engines that call
---`write`; `save` calls this itself.
---@return boolean
function Checkpoint:due()
  self.calls = self.calls + 1
  if not self.dir then return false end
  if not self.kept and (node.rank == 0 or node.role == "server") then
    c.keep(self.name) -- SIGTERM waits for its next save
    self.kept = true
  end
  if (self.steps and self.calls % self.steps == 0) or c.pressing() then return true end
  return self.seconds ~= nil and require("actor").now() - self.last >= self.seconds
end

---Says that no further save will come, so that SIGTERM does not wait for one.
function Checkpoint:finish()
  if self.kept then c.drop(self.name) end
  self.kept = false
end

---Writes a checkpoint now; raises when it cannot.
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

---Reads the newest checkpoint if the run is a resumed one (`--resume`).
---@return table<string, any>[]|nil states
---@return integer? ranks how many ranks have saved their own, 0 when rank 0 alone has saved
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

---Saves the state if it is time to: rank 0's, or with `ranks = "all"` every rank's, in which case all ranks make the
---call together. Returns when the state is on disk. Raises when the checkpoint cannot be written.
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
  due, message, code = collective.broadcast(due, 0) -- ranks have clocks of their own, and rank 0 hears of SIGTERM
  if code then return nil, message, code end
  if not due then return nil end
  local states
  states, message, code = collective.gather(state, 0)
  if code then return nil, message, code end
  return states ~= true and self:write(states) or nil
end

-- What rank 0 has read, and what there is to say about it to all.
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

---Returns the state that the run goes on from, as it was given to `save`; nil when the run begins anew. Every worker
---makes the call, like any collective. With `ranks = "all"` each rank gets its own state, so there have to be as many
---ranks as have saved.
---@param options? {parts?: boolean} with `ranks = "all"`: true gives every rank an array of all ranks' states, rank 0's first, for any number of ranks
---@return table<string, any>|nil state
---@return string? message
---@return string? code
function Checkpoint:load(options)
  if options ~= nil then check.options(options, { parts = "boolean?" }, "checkpoint:load") end
  local collective, parts = require("actor.collective"), options and options.parts
  local states, about
  if node.rank == 0 then
    local read
    read, states, about = pcall(found_by, self, parts)
    if not read then about = { error = tostring(states):gsub("^[^\n]-:%d+: ", "") } end
  end
  local told, message, code = collective.broadcast(about, 0)
  if code then return nil, message, code end
  if told.error then check.fail("%s", told.error) end
  if not told.calls then return nil end
  self.calls = told.calls
  if self.ranks == "first" then return collective.broadcast(states and states[1], 0) end
  if parts then return collective.broadcast(states, 0) end
  return collective.scatter(states, 0)
end

return M
