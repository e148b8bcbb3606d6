--- The callbacks of a user's own job as a model. The script runs up to param.run, which passes schedule, push, pull and
--- the other callbacks; the simulation then calls them for its nodes. One script serves all nodes, so they share the
--- state that push retains between calls. The barrier is the simulation's, not the job's. Code after param.run does not
--- run.
---
--- The loss is a mean over the pushes merged since the previous evaluation: of the numbers under the key "loss", or
--- without these, of the length of the updates.
local check = require("actor.check")
local stores = require("actor.sim.models.store")

-- --- substitutes for a node ---

local function nothing() end

-- actor.c.node and actor.c.param, with the functions that actor.events and actor.param use before a run begins.
local function new_node(setup)
  local node = {
    id = 0, rank = 0, size = setup.nodes, role = "worker", seed = setup.seed, epoch = 1, shard = nil,
    status = nothing, sleep = nothing, honour = nothing,
  }
  function node.flags() return { seconds = setup.time, progress = false } end
  function node.status_columns() return 0 end
  function node.enter_action(kind) return coroutine.yield(kind) end
  function node.refresh()
    local change = node.change
    node.change = nil
    return change
  end
  function node.find_source(path)
    local file, message = io.open(path, "rb")
    if not file then return nil, message end
    local text = file:read("*a")
    file:close()
    return text, path
  end
  return node
end

local function new_engine(store)
  return {
    get = function(key) return store:get(key) end,
    set = function(key, value) store:set(key, value) end,
    keys = function() return store:keys() end,
  }
end

-- Loads new instances of actor.param and actor.events on these two modules instead of the host's.
local function load_upon(node, engine)
  local given = { ["actor.c.node"] = node, ["actor.c.param"] = engine }
  local before = {}
  for _, name in ipairs { "actor.c.node", "actor.c.param", "actor.events", "actor.param" } do
    before[name] = package.loaded[name] or false
    package.loaded[name] = given[name]
  end
  local fine, param = pcall(require, "actor.param")
  local events = package.loaded["actor.events"]
  for name, module in pairs(before) do package.loaded[name] = module or nil end
  if not fine then error(param, 0) end
  return param, events
end

-- --- the script's environment ---

local silent_progress = {
  new = function()
    return { update = nothing, finish = nothing }
  end,
}

local function refusing(module)
  return setmetatable({}, {
    __index = function(_, name)
      return function()
        check.fail("a simulated job has no actor.%s.%s: only the callbacks of param.run are driven", module, name)
      end
    end,
  })
end

local identity = { id = true, rank = true, size = true, role = true, seed = true, epoch = true, shard = true }

local function new_actor(arguments, node, param, events)
  local actor = require("actor")
  local own = {
    args = arguments, param = param, events = events, progress = silent_progress,
    collective = refusing("collective"),
    on_membership = events.on_membership, on_error = events.on_error,
  }
  function own.options(defaults, args)
    return require("actor.options")(defaults, args or arguments)
  end
  return setmetatable({}, {
    __index = function(_, name)
      if identity[name] then return node[name] end
      local value = own[name]
      if value ~= nil then return value end
      local fine, module = pcall(function() return actor[name] end)
      if fine then return module end
      if tostring(module):find("actor%.c%.") then
        check.fail("a simulated job has no actor.%s: only the callbacks of param.run are driven", name)
      end
      error(module, 0)
    end,
  })
end

-- The job's `require`: modules are beside the script and use its environment.
local function new_require(path, env, actor)
  local loaded = { actor = actor }
  local folder = path:match("^(.*/)") or ""
  local function load_beside(name)
    for _, ending in ipairs { ".lua", "/init.lua" } do
      local file = folder .. name:gsub("%.", "/") .. ending
      local chunk, message = loadfile(file, "t", env)
      if chunk then return chunk end
      if not message:find("cannot open") then error(message, 0) end
    end
  end
  return function(name)
    if loaded[name] == nil and type(name) == "string" then
      local own = name:match("^actor%.(%w+)$")
      local chunk = not own and load_beside(name)
      if own then
        loaded[name] = actor[own]
      elseif chunk then
        local value = chunk(name)
        loaded[name] = value == nil and true or value
      end
    end
    if loaded[name] == nil then return require(name) end
    return loaded[name]
  end
end

local function new_environment(path, actor)
  local env = setmetatable({}, { __index = _G })
  env.require = new_require(path, env, actor)
  -- The output of a hundred nodes would hide the table on standard output.
  function env.print(...)
    local texts = {}
    for i = 1, select("#", ...) do texts[i] = tostring((select(i, ...))) end
    actor.log.info("%s", table.concat(texts, "\t"))
  end
  return env
end

-- Runs the script up to param.run, and returns the argument of param.run.
local function run_of(path, arguments, node, store)
  local param, events = load_upon(node, new_engine(store))
  local captured
  local real_run = param.run
  function param.run(run)
    captured = run
    return real_run(run) -- checks the run, and yields where the action would begin
  end
  function param.set_barrier()
    check.fail("a simulated job has no param.set_barrier: the rule is the simulation's")
  end
  local actor = new_actor(arguments, node, param, events)
  local chunk, message = loadfile(path, "t", new_environment(path, actor))
  if not chunk then error(message, 0) end
  local script = coroutine.create(chunk)
  local fine, wrong = coroutine.resume(script, unpack(arguments))
  if not fine then error(wrong, 0) end
  if not captured then check.fail("%s ends without param.run: there is nothing to train", path) end
  return captured, events
end

-- --- driving the callbacks ---

---@class actor.sim.Job
local Job = {}
Job.__index = Job

-- Calls a callback in the role that the engine would use.
function Job:call(what, role, id, ...)
  local node, callback = self.node, self.run[what]
  node.role, node.id, node.rank = role, id or 0, id
  node.shard = role == "server" and 0 or nil
  return callback(...)
end

function Job:expect(value, kind, what)
  if type(value) == kind then return value end
  check.fail("%s: %s returned %s, expected a %s%s", self.path, what, type(value), kind,
    value == nil and " (is a 'return' missing?)" or "")
end

function Job:initialise()
  if not self.run.init then return end
  local values = self:expect(self:call("init", "server", nil, { updates = 0 }), "table", "init")
  for key, value in pairs(values) do
    if self.store.values[key] == nil then self.store:set(key, value) end
  end
end

function Job:check_stop(state)
  if self.stopped or not self.run.stop then return end
  local stop = self:call("stop", "server", nil, {
    step = state:slowest(), updates = state.updates, seconds = state.time, workers = state.nodes,
  })
  self.stopped = self:expect(stop, "boolean", "stop")
end

-- Prepares nodes that start together: calls stop, then schedule for all of them, like the engine.
function Job:prepare(ids, state)
  self.node.size = state.nodes
  self:check_stop(state)
  if self.stopped or not self.run.schedule then return end
  local requesters = {}
  for i, id in ipairs(ids) do requesters[i] = id end
  local tasks = self:expect(self:call("schedule", "server", nil, requesters), "table", "schedule")
  for _, id in ipairs(ids) do self.tasks[id] = tasks[id] end
end

function Job:entries_for(id, step)
  local entries = {}
  if self.run.schedule_local then
    local keys = self:call("schedule_local", "worker", id, { id = id, step = step })
    for i, key in ipairs(self:expect(keys, "table", "schedule_local")) do entries[i] = { key, (self.store:get(key)) } end
    return entries
  end
  local task = self.tasks[id]
  self.tasks[id] = nil
  if not task then return nil end
  for i, entry in ipairs(task) do
    local key, value = entry[1], stores.copy(entry[2])
    if value == nil then value = self.store:get(key) end
    entries[i] = { key, value }
  end
  if self.run.tasks and type(task.task) ~= "number" then
    check.fail("%s: task of worker %d has no number: with tasks= each task is { task = NUMBER, {key, value}, ... }",
      self.path, id)
  end
  return entries, self.run.tasks and task.task
end

-- Returns a node's push; nil if the node rests or the run has ended.
function Job:push(id, step)
  if self.stopped then return nil end
  local entries, number = self:entries_for(id, step)
  if not entries then return nil end
  self.working[id], self.numbers[id] = entries, number
  local updates = self:expect(self:call("push", "worker", id, id, entries), "table", "push")
  local sent = {}
  if self.native then updates = self.run.pull:clip_push(updates) end
  for i, entry in ipairs(updates) do sent[i] = { entry[1], stores.copy(entry[2]) } end
  return { id = id, step = step, entries = sent, task = number }
end

function Job:pull(pushes)
  local batch, step = {}, 0
  for _, push in ipairs(pushes) do
    step = math.max(step, push.step + 1)
    for _, entry in ipairs(push.entries) do batch[#batch + 1] = { entry[1], entry[2], push.step + 1, push.id } end
  end
  if #batch == 0 then return end
  local values = self:expect(self:call("pull", "server", nil, batch), "table", "pull")
  for _, entry in ipairs(values) do self.store:set(entry[1], entry[2], step) end
end

local function number_of(value)
  if type(value) == "number" then return value end
  if require("actor.tensor").is_tensor(value) and #value:flatten() == 1 then return value:item() end
end

local function length_of(entries)
  local sum = 0
  for _, entry in ipairs(entries) do
    local value = entry[2]
    if type(value) == "number" then
      sum = sum + value * value
    elseif require("actor.tensor").is_tensor(value) then
      sum = sum + value:dot(value)
    end
  end
  return math.sqrt(sum)
end

-- Settles a push as merged or dropped.
function Job:settle(push, merged)
  self.working[push.id], self.numbers[push.id] = nil, nil
  if push.task then self.run.tasks:done(push.id, push.task, merged) end
end

function Job:note(push)
  self:settle(push, true)
  for _, entry in ipairs(push.entries) do
    local loss = entry[1] == "loss" and number_of(entry[2])
    if loss then
      self.reports_loss = true
      self.losses, self.reported = self.losses + loss, self.reported + 1
    end
  end
  self.lengths, self.merged = self.lengths + length_of(push.entries), self.merged + 1
end

function Job:loss()
  if self.reports_loss and self.reported > 0 then
    self.last = self.losses / self.reported
  elseif not self.reports_loss and self.merged > 0 then
    self.last = self.lengths / self.merged
  end
  self.losses, self.reported, self.lengths, self.merged = 0, 0, 0, 0
  return self.last
end

function Job:merge_one(push, scale)
  self:note(push)
  if self.native then
    for _, entry in ipairs(push.entries) do self.store:update(entry[1], entry[2], push.step, scale) end
  elseif self.run.pull then
    self:pull { push }
  else
    for _, entry in ipairs(push.entries) do self.store:set(entry[1], entry[2], push.step + 1) end
  end
end

-- Makes one native update with the weighted sum, key by key in order of first appearance.
function Job:merge_sum(pushes, scale)
  local keys, sums, clock = {}, {}, 0
  for _, push in ipairs(pushes) do
    self:note(push)
    clock = math.max(clock, push.step)
    for _, entry in ipairs(push.entries) do
      local key, value = entry[1], entry[2]
      if sums[key] then
        sums[key]:axpy_(scale, value)
      else
        keys[#keys + 1], sums[key] = key, stores.scaled(value, scale)
      end
    end
  end
  for _, key in ipairs(keys) do self.store:update(key, sums[key], clock, 1) end
end

function Job:merge_all(pushes, scale)
  if self.native then return self:merge_sum(pushes, scale) end
  if not self.run.pull then
    for _, push in ipairs(pushes) do self:merge_one(push, scale) end
    return
  end
  for _, push in ipairs(pushes) do self:note(push) end
  self:pull(pushes)
end

-- Calls the script's on_membership callbacks.
function Job:changed(state, joined, lost)
  local node = self.node
  node.size, node.epoch = state.nodes, node.epoch + 1
  node.change = { epoch = node.epoch, joined = joined, lost = lost }
  self.events.deliver()
end

function Job:left(id, state)
  local entries, number = self.working[id] or {}, self.numbers[id]
  self.working[id], self.tasks[id], self.numbers[id] = nil, nil, nil
  self:changed(state, {}, { id })
  if number then self.run.tasks:lost(id, number) end
  if self.run.lost then self:call("lost", "server", nil, id, entries) end
end

local function load_job(path, arguments, setup)
  local job = setmetatable({
    path = path, node = new_node(setup), store = stores.new(), tasks = {}, working = {}, numbers = {}, stopped = false,
    losses = 0, reported = 0, lengths = 0, merged = 0, reports_loss = false,
  }, Job)
  job.run, job.events = run_of(path, arguments, job.node, job.store)
  job.native = type(job.run.pull) == "table"
  if job.native then job.store:use(job.run.pull) end
  job:initialise()
  return job
end

---@param path string of the script
---@param arguments? string[] its own command line
---@return actor.sim.Model its parameters are an actor.sim.Job with the values in `store`
return function(path, arguments)
  local job ---@type actor.sim.Job
  return {
    init = function(_, setup)
      job = load_job(path, arguments or {}, setup)
      return job
    end,
    merge = function() return job.run.merge end,
    prepare = function(_, ids, state) job:prepare(ids, state) end,
    gradient = function(_, id, step) return job:push(id, step) end,
    apply = function(_, push, scale) job:merge_one(push, scale) end,
    apply_all = function(_, pushes, scale) job:merge_all(pushes, scale) end,
    dropped = function(push) job:settle(push, false) end,
    loss = function() return job:loss() end,
    joined = function(id, state)
      if state.time > 0 then job:changed(state, { id }, {}) end
    end,
    left = function(id, state) job:left(id, state) end,
  }
end
