--- A console attached to a run: sends chunks to nodes, waits for what comes back, and shows it. It runs in the process of
--- `actorhost repl`.
local chunk = require("actor.console.chunk")
local json = require("actor.console.json")
local now = require("actor").now
local text = require("actor.inspect.text")
local util = require("actor.util")

local M = {}

---@class actor.console.Session
---@field connection table of actor.c.control
---@field target integer[]|"all"|"spmd"|string[] where chunks run: ranks, all workers each on its own, all together, {"server 0"}
---@field mode "table"|"lua"|"json" how values are shown
---@field json? boolean results as JSON lines
---@field print_all? boolean what all nodes print that run a chunk together; otherwise, as in a job, the first one's
---@field terminal? boolean somebody looks on
---@field ended? table how the run has ended: its last news
---@field failed boolean whether any chunk or command has failed
local Session = {}
Session.__index = Session

local poll = 0.05      -- seconds between two looks for Ctrl-C
local overdue = 2      -- seconds after Ctrl-C in which a chunk has to end; after that it is left to its nodes
local patience = 0.3   -- seconds after which a chunk that has not begun is explained

-- What an exit code says about the way in which a run has ended, by the code of its error; 3 for others.
local exit_codes = { script = 1, full = 1, bad_data = 1, mismatch = 1, unsupported = 1, bad_argument = 1, interrupted = 130, io = 4 }

---@param fields table connection, run, target, show (prints lines), fail (prints an error), status (a passing line, or ""),
---  interrupts (how often Ctrl-C was pressed since it was called last)
---@return actor.console.Session
function M.new(fields)
  fields.mode, fields.count, fields.failed, fields.rules = fields.json and "json" or fields.mode or "table", 0, false, {}
  return setmetatable(fields, Session)
end

---The state of the run; what is wrong is told.
---@param sections? string[]
---@return table? state
function Session:state(sections)
  local state, why, code = self.connection:state(sections or {})
  if state then
    self.last = state
    return state
  end
  self:lost(why, code)
end

-- The connection has failed: what it says last tells how the run has ended.
function Session:lost(why, code)
  if code ~= "peer_lost" or self.ended then return self:wrong(why) end
  while not self.ended do
    local news = self.connection:next(0)
    if not news then break end
    self:hear(news)
  end
  self.ended = self.ended or { ok = false, code = "peer_lost", message = why }
end

---How the run has ended, for the one who was attached, and the exit code.
---@return string
---@return integer
function Session:epilogue()
  local ended = self.ended
  if ended.ok then return "the run has ended: done", 0 end
  return "the run has ended: " .. ended.message, exit_codes[ended.code] or 3
end

---Shows an error; the session goes on.
function Session:wrong(message)
  self.failed = true
  self.fail(message)
end

---Sends a command that changes the run.
---@param command table
---@return table? answer
---@return string? message
function Session:control(command)
  local answer, why, code = self.connection:control(command)
  if not answer then
    if code == "peer_lost" then self:lost(why, code) end
    return nil, why, code
  end
  if answer.ok == false then return nil, answer.message, answer.code end
  return answer
end

---Finds a node by what somebody types: "3" or "rank 3", "server 0", a worker that was lost by its name.
---@return table? row of the state
function Session:node(word)
  local state = self:state()
  if not state then return nil end
  local name = word:find("^%d+$") and "rank " .. word or word
  for _, node in ipairs(state.nodes) do
    if node.name == name then return node end
  end
  self:wrong(("there is no %s; :nodes lists those that there are"):format(name))
end

-- The nodes of a target as the run wants them.
function Session:nodes_of(target)
  if type(target) == "string" then return target end
  local nodes = {}
  for i, word in ipairs(target) do
    if word == "server 0" then
      nodes[i] = word
    else
      local node = self:node(tostring(word))
      if not node then return nil end
      nodes[i] = node.id
    end
  end
  return nodes
end

---@return string where chunks run, for the prompt
function Session:place(target)
  target = target or self.target
  if target == "spmd" or target == "all" then return "all" end
  return type(target[1]) == "number" and "rank " .. target[1] or target[1]
end

---Takes news of the run that belong to no chunk that is waited for.
---@return boolean whether the run has ended
function Session:hear(news)
  if news.event == "ended" then self.ended = news end
  return self.ended ~= nil
end

-- What the console's own cluster says, line by line.
function Session:cluster_says()
  local said = self.own and self.own:output() or ""
  return (said:gsub("\n$", ""))
end

-- Shows it while a chunk runs; what is no JSON goes where errors go.
function Session:tell_cluster()
  local said = self:cluster_says()
  if said ~= "" then (self.json and self.fail or self.show)(said) end
end

---What has come while nobody waited for anything.
---@return string lines
---@return boolean whether the run has ended
function Session:idle()
  local news, why, code = self.connection:next(0)
  if news then self:hear(news) end
  if why then self:lost(why, code) end
  return self:cluster_says(), self.ended ~= nil
end

-- --- what chunks give ---

local Gathered = {}
Gathered.__index = Gathered

local function labelled(name, lines)
  if lines:find("\n", 1, true) then return name .. ":\n" .. lines end
  return name .. ": " .. lines
end

function Gathered:node(name)
  local of = self.nodes[name] or { output = {}, unfinished = "" }
  self.nodes[name] = of
  return of
end

-- Shows whole lines; what has been written of the last one waits for its end.
function Gathered:output(news)
  local of = self:node(news.name)
  if self.session.json then
    of.output[#of.output + 1] = news.text
  elseif not self.first_only or news.name == "rank 0" then
    local lines, rest = (of.unfinished .. news.text):match("^(.*\n)([^\n]*)$")
    of.unfinished = rest or of.unfinished .. news.text
    if lines then self:show_output(news.name, lines:sub(1, -2)) end
  end
end

function Gathered:show_output(name, lines)
  self.session.show(self.many and not self.first_only and labelled(name, lines) or lines)
end

-- Shows lines that have no end.
function Gathered:finish_output()
  for _, name in ipairs(util.sorted_keys(self.nodes)) do
    local of = self.nodes[name]
    if of.unfinished ~= "" then self:show_output(name, of.unfinished) end
  end
end

function Gathered:result(news)
  self:node(news.name).news = news
  self.order[#self.order + 1] = news.name
end

-- Texts of nodes, those that are the same together: {text=, names=}.
function Gathered:groups(text_of)
  local groups, by_text = {}, {}
  for _, name in ipairs(self.order) do
    local said = text_of(self.nodes[name].news)
    if said then
      local group = by_text[said]
      if not group then
        group = { text = said, names = {} }
        by_text[said], groups[#groups + 1] = group, group
      end
      table.insert(group.names, name)
    end
  end
  return groups
end

function Gathered:fine()
  if not self.over then return false end -- the run has ended, or the chunk was left
  for _, name in ipairs(self.order) do
    if not self.nodes[name].news.ok then return false end
  end
  return true
end

function Gathered:show_values()
  local session = self.session
  local groups = self:groups(function(news) return news.ok and news.text ~= "" and news.text or nil end)
  for _, group in ipairs(groups) do
    local all = #group.names == #self.order
    session.show((self.many and not all) and labelled(table.concat(group.names, ", "), group.text) or group.text)
  end
end

local function reason(news)
  if news.interrupted then return "interrupted" end
  return news.error or "failed"
end

function Gathered:show_errors()
  local groups = self:groups(function(news) return not news.ok and reason(news) or nil end)
  for _, group in ipairs(groups) do
    local names = table.concat(group.names, ", ")
    self.session:wrong(self.many and labelled(names, group.text) or group.text)
  end
end

-- A chunk that has not ended after Ctrl-C: which nodes still run it. Without a terminal the session ends.
function Gathered:show_left(names)
  local missing = {}
  for _, name in ipairs(names) do
    local of = self.nodes[name]
    if not (of and of.news) then missing[#missing + 1] = name end
  end
  local form = #missing == 1 and "interrupted, but %s still runs the chunk, in a call that does not come back; it answers no other chunk until then"
    or "interrupted, but %s still run the chunk, in calls that do not come back; they answer no other chunk until then"
  self.why_left = form:format(table.concat(missing, ", "))
  if not self.session.json then self.session:wrong(self.why_left) end
  self.session.detached = self.session.detached or not self.session.terminal
end

function Gathered:left_out()
  for _, name in ipairs(self.order) do
    local more = self.nodes[name].news.left_out or 0
    if more > 0 then
      self.session.fail(("%s: %s more that it has printed or returned are left out"):format(name, text.bytes(more)))
    end
  end
end

-- Microseconds are enough.
local function rounded(seconds) return math.floor(seconds * 1e6 + 0.5) / 1e6 end

function Gathered:json_line(number, seconds)
  local results = setmetatable({}, json.array)
  for i, name in ipairs(self.order) do
    local of = self.nodes[name]
    local news = of.news
    results[i] = { node = name, ok = news.ok, seconds = rounded(news.seconds or 0), output = table.concat(of.output) }
    if news.ok and (news.left_out or 0) == 0 then
      results[i].values = json.raw(news.text ~= "" and news.text or "[]")
    elseif news.ok then
      results[i].text = news.text
    else
      results[i].error = reason(news)
    end
    if (news.left_out or 0) > 0 then results[i].left_out = news.left_out end
  end
  local why = not self.over and (self.why_left or self.session.ended and "the run has ended" or "left") or nil
  return json.encode { chunk = number, ok = self:fine(), error = why, seconds = rounded(seconds), results = results }
end

-- --- chunks ---

-- Says why nothing has come yet: the run is paused, or the node computes, which a chunk for all makes it do itself.
function Session:explain(wanted)
  local state = self.connection:state({}, 0.5)
  for _, node in ipairs(state and state.nodes or {}) do
    local meant = (wanted == "all" or wanted == "spmd") and node.role == "worker"
    for _, id in ipairs(type(wanted) == "table" and wanted or {}) do
      meant = meant or (id == node.id and node.role == "worker") or id == node.name
    end
    if meant and state.run.paused then
      return ("the run is paused; the chunk runs on %s at its next engine call, Ctrl-C gives up"):format(node.name)
    end
    if meant and wanted ~= "spmd" and node.state == "computing" and node.what ~= "chunk" then
      return ("%s has been computing for %s; the chunk runs at its next engine call, Ctrl-C gives up"):format(node.name,
        text.seconds(node.since or 0))
    end
  end
end

-- Ctrl-C: first the chunk is interrupted, then the session ends. A call of a C function cannot be interrupted (a pattern
-- that backtracks), so a chunk that has not ended after a while is left to its nodes.
function Session:check_interrupt(id, wait)
  local pressed = self.interrupts()
  if pressed == 0 then return end
  wait.interrupts = (wait.interrupts or 0) + pressed
  if wait.interrupts > 1 then
    self.detached = true
  else
    wait.interrupted = now()
    local _, why = self:control { op = "interrupt", chunk = id }
    if why then self:wrong(why) end
  end
end

-- Waits until a chunk is over on all its nodes, or is left.
function Session:await(id, nodes, gathered, begun)
  local wait = {}
  while not (self.ended or self.detached or gathered.left) do
    local news, why, code = self.connection:next(poll)
    if news and news.chunk == id then
      if wait.said then self.status("") end
      gathered.over = news.event == "over"
      if gathered.over then break end
      if gathered[news.event] then gathered[news.event](gathered, news) end
    elseif news then
      self:hear(news)
    elseif why then
      self:lost(why, code)
    else
      self:tell_cluster()
    end
    self:check_interrupt(id, wait)
    gathered.left = wait.interrupted and now() - wait.interrupted > overdue
    if (nodes ~= "spmd" or not wait.said) and now() - begun > (wait.said or 0) + patience and #gathered.order == 0 and next(gathered.nodes) == nil then
      local words = self:explain(nodes)
      if words and (self.terminal or not wait.said) then self.status(words) end
      wait.said = now() - begun
    end
  end
  if wait.said then self.status("") end
  self:tell_cluster()
  return now() - begun
end

---Asks a node for a value in passing: what is not there soon is given up.
---@param source string of a chunk that returns a text
---@param seconds number
---@return string?
function Session:ask(source, seconds)
  local worker
  for _, node in ipairs(self.last and self.last.nodes or {}) do
    local wanted = type(self.target) == "table" and self.target[1] or 0
    if node.role == "worker" and node.rank == wanted and node.state ~= "computing" then worker = node.id end
  end
  local answer = worker and self:control { op = "chunk", source = source, name = "=completion", mode = "plain", nodes = { worker } }
  local deadline, given = now() + seconds, nil
  while answer and not self.ended do
    local news, why, code = self.connection:next(math.max(0, deadline - now()))
    if why then
      self:lost(why, code)
    elseif not news then
      self:control { op = "interrupt", chunk = answer.chunk }
      break
    elseif news.chunk ~= answer.chunk then
      self:hear(news)
    elseif news.event == "result" then
      given = news.ok and news.text or nil
    elseif news.event == "over" then
      break
    end
  end
  return given
end

---Runs a chunk and shows what it gives; errors are shown, never raised.
---@param source string
---@param options? {target?: any, name?: string}
---@return boolean fine
function Session:chunk(source, options)
  options = options or {}
  self.count = self.count + 1
  local name = options.name or "=input " .. self.count
  local target = options.target or self.target
  local loaded, message, _, runs = chunk.load(source, name)
  if not loaded then return self:refuse(message, self.count) end
  local nodes = self:nodes_of(target)
  if not nodes then return false end
  self.interrupts()
  local begun = now()
  local answer, why = self:control { op = "chunk", source = runs, name = name, mode = self.mode, nodes = nodes }
  if not answer then return not self.ended and self:refuse(why, self.count) end
  local gathered = setmetatable({ session = self, nodes = {}, order = {}, many = #answer.nodes > 1,
    first_only = nodes == "spmd" and not self.print_all }, Gathered)
  local seconds = self:await(answer.chunk, nodes, gathered, begun)
  if gathered.left then gathered:show_left(answer.nodes) end
  table.sort(gathered.order, function(a, b)
    return #a ~= #b and #a < #b or #a == #b and a < b -- rank 2 before rank 10
  end)
  if self.json then
    self.show(gathered:json_line(self.count, seconds))
    self.failed = self.failed or not gathered:fine()
  else
    gathered:finish_output()
    gathered:show_values()
    gathered:show_errors()
    gathered:left_out()
    if self.terminal and not self.detached then self.show(("(%s)"):format(text.seconds(seconds))) end
  end
  return gathered:fine() and not self.ended
end

---Shows the error of what was not run; false.
function Session:refuse(message, number)
  if self.json then
    self.failed = true
    self.show(json.encode { chunk = number, ok = false, error = message })
  else
    self:wrong(message)
  end
  return false
end

return M
