--- A console attached to a run: sends chunks to nodes, waits for their results, and shows them. Runs in the process of
--- `actorhost repl`.
local chunk = require("actor.console.chunk")
local json = require("actor.console.json")
local now = require("actor").now
local text = require("actor.inspect.text")
local util = require("actor.util")

local M = {}

---@class actor.console.Session
---@field connection table of actor.c.control
---@field target integer[]|"all"|"spmd"|string[] target of chunks: ranks, all workers independently, all together, {"server 0"}
---@field mode "table"|"lua"|"json" format of values
---@field json? boolean results as JSON lines
---@field print_all? boolean show the output of all nodes that run a chunk together; otherwise, as in a job, only the first node's
---@field terminal? boolean whether a user watches
---@field columns? fun(): integer columns of the terminal for values; nil without a terminal
---@field show_output fun(lines: string) prints the output of chunks; default `show`
---@field ended? table the final event of an ended run
---@field failed boolean whether any chunk or command has failed
local Session = {}
Session.__index = Session

local poll = 0.05         -- seconds between two polls for Ctrl-C
local overdue = 2         -- seconds from Ctrl-C until the session abandons a chunk that has not ended
local explain_after = 0.3 -- seconds until the session explains why a chunk has not begun

-- The exit code for each error code of an ended run; 3 for other codes.
local exit_codes = { script = 1, full = 1, bad_data = 1, mismatch = 1, unsupported = 1, bad_argument = 1, interrupted = 130, io = 4 }

---@param fields table connection, run, target, show (prints lines), fail (prints an error), status (a temporary line, or ""),
---  interrupts (number of Ctrl-C presses since its previous call)
---@return actor.console.Session
function M.new(fields)
  fields.show_output = fields.show_output or fields.show
  fields.mode, fields.count, fields.failed, fields.rules = fields.json and "json" or fields.mode or "table", 0, false, {}
  return setmetatable(fields, Session)
end

---Fetches the state of the run; shows an error on failure.
---@param sections? string[]
---@return table? state
function Session:state(sections)
  local state, why, code = self.connection:state(sections or {})
  if state then
    self.last = state
    return state
  end
  self:handle_disconnect(why, code)
end

-- The connection has failed: its last event holds the outcome of the run.
function Session:handle_disconnect(why, code)
  if code ~= "peer_lost" or self.ended then return self:show_error(why) end
  while not self.ended do
    local notice = self.connection:next(0)
    if not notice then break end
    self:handle_event(notice)
  end
  self.ended = self.ended or { ok = false, code = "peer_lost", message = why }
end

---Returns the outcome of the run for the user, and the exit code.
---@return string
---@return integer
function Session:epilogue()
  local ended = self.ended
  if ended.ok then return "the run has ended: done", 0 end
  return "the run has ended: " .. ended.message, exit_codes[ended.code] or 3
end

---Shows an error; the session continues.
function Session:show_error(message)
  self.failed = true
  self.fail(message)
end

---Sends a command that changes the run.
---@param command table
---@return table? reply
---@return string? message
function Session:control(command)
  local reply, why, code = self.connection:control(command)
  if not reply then
    if code == "peer_lost" then self:handle_disconnect(why, code) end
    return nil, why, code
  end
  if reply.ok == false then return nil, reply.message, reply.code end
  return reply
end

---Finds a node by user input: "3" or "rank 3", "server 0", a failed worker's name.
---@return table? row of the state
function Session:node(word)
  local state = self:state()
  if not state then return nil end
  local name = word:find("^%d+$") and "rank " .. word or word
  for _, node in ipairs(state.nodes) do
    if node.name == name then return node end
  end
  self:show_error(("there is no %s; :nodes lists the nodes"):format(name))
end

-- Converts a target into the nodes that the run's interface takes.
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

---@return string the target of chunks, for the prompt
function Session:place(target)
  target = target or self.target
  if target == "spmd" or target == "all" then return "all" end
  return type(target[1]) == "number" and "rank " .. target[1] or target[1]
end

---Takes an event that belongs to no pending chunk.
---@return boolean whether the run has ended
function Session:handle_event(notice)
  if notice.event == "ended" then self.ended = notice end
  return self.ended ~= nil
end

-- The output of the console's own cluster, line by line.
function Session:cluster_output()
  local output = self.own and self.own:output() or ""
  return (output:gsub("\n$", ""))
end

-- Shows that output while a chunk runs; in JSON mode it is sent to the error output.
function Session:show_cluster_output()
  local output = self:cluster_output()
  if output ~= "" then (self.json and self.fail or self.show)(output) end
end

---Takes events that arrived between chunks.
---@return string lines
---@return boolean whether the run has ended
function Session:idle()
  local notice, why, code = self.connection:next(0)
  if notice then self:handle_event(notice) end
  if why then self:handle_disconnect(why, code) end
  return self:cluster_output(), self.ended ~= nil
end

-- --- results of chunks ---

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

-- Shows complete lines and retains the unfinished last line.
function Gathered:output(notice)
  local of = self:node(notice.name)
  if self.session.json then
    of.output[#of.output + 1] = notice.text
  elseif not self.first_only or notice.name == "rank 0" then
    local lines, rest = (of.unfinished .. notice.text):match("^(.*\n)([^\n]*)$")
    of.unfinished = rest or of.unfinished .. notice.text
    if lines then self:show_output(notice.name, lines:sub(1, -2)) end
  end
end

function Gathered:show_output(name, lines)
  self.session.show_output(self.many and not self.first_only and labelled(name, lines) or lines)
end

-- Shows unfinished lines.
function Gathered:finish_output()
  for _, name in ipairs(util.sorted_keys(self.nodes)) do
    local of = self.nodes[name]
    if of.unfinished ~= "" then self:show_output(name, of.unfinished) end
  end
end

function Gathered:result(notice)
  self:node(notice.name).result = notice
  self.order[#self.order + 1] = notice.name
end

-- Groups nodes with equal texts: {text=, names=}.
function Gathered:groups(text_of)
  local groups, by_text = {}, {}
  for _, name in ipairs(self.order) do
    local output = text_of(self.nodes[name].result)
    if output then
      local group = by_text[output]
      if not group then
        group = { text = output, names = {} }
        by_text[output], groups[#groups + 1] = group, group
      end
      table.insert(group.names, name)
    end
  end
  return groups
end

function Gathered:succeeded()
  if not self.over then return false end -- the run has ended, or the session has abandoned the chunk
  for _, name in ipairs(self.order) do
    if not self.nodes[name].result.ok then return false end
  end
  return true
end

function Gathered:show_values()
  local session = self.session
  local groups = self:groups(function(notice) return notice.ok and notice.text ~= "" and notice.text or nil end)
  for _, group in ipairs(groups) do
    local all = #group.names == #self.order
    session.show((self.many and not all) and labelled(table.concat(group.names, ", "), group.text) or group.text)
  end
end

local function reason(notice)
  if notice.interrupted then return "interrupted" end
  return notice.error or "failed"
end

function Gathered:show_errors()
  local groups = self:groups(function(notice) return not notice.ok and reason(notice) or nil end)
  for _, group in ipairs(groups) do
    local names = table.concat(group.names, ", ")
    self.session:show_error(self.many and labelled(names, group.text) or group.text)
  end
end

-- Reports the nodes that still run a chunk after Ctrl-C. Without a terminal the session ends.
function Gathered:show_abandoned(names)
  local missing = {}
  for _, name in ipairs(names) do
    local of = self.nodes[name]
    if not (of and of.result) then missing[#missing + 1] = name end
  end
  local form = #missing == 1 and "interrupted, but %s still runs the chunk, in a call that does not return; it runs no other chunk until the call returns"
    or "interrupted, but %s still run the chunk, in calls that do not return; they run no other chunk until the calls return"
  self.abandon_message = form:format(table.concat(missing, ", "))
  if not self.session.json then self.session:show_error(self.abandon_message) end
  self.session.detached = self.session.detached or not self.session.terminal
end

function Gathered:left_out()
  for _, name in ipairs(self.order) do
    local more = self.nodes[name].result.left_out or 0
    if more > 0 then
      self.session.fail(("%s: %s more of its output and results are left out"):format(name, text.bytes(more)))
    end
  end
end

-- Rounds to microseconds.
local function rounded(seconds) return math.floor(seconds * 1e6 + 0.5) / 1e6 end

function Gathered:json_line(number, seconds)
  local results = setmetatable({}, json.array)
  for i, name in ipairs(self.order) do
    local of = self.nodes[name]
    local notice = of.result
    results[i] = { node = name, ok = notice.ok, seconds = rounded(notice.seconds or 0), output = table.concat(of.output) }
    if notice.ok and (notice.left_out or 0) == 0 then
      results[i].values = json.raw(notice.text ~= "" and notice.text or "[]")
    elseif notice.ok then
      results[i].text = notice.text
    else
      results[i].error = reason(notice)
    end
    if (notice.left_out or 0) > 0 then results[i].left_out = notice.left_out end
  end
  local why = not self.over and (self.abandon_message or self.session.ended and "the run has ended" or "left") or nil
  return json.encode { chunk = number, ok = self:succeeded(), error = why, seconds = rounded(seconds), results = results }
end

-- --- chunks ---

-- Explains a missing result: the run is paused, or the node still computes in the script. An SPMD chunk itself makes
-- the node compute, so it has no such explanation. Returns nil without an explanation, and false if the state does not
-- arrive in time.
function Session:explain(wanted, gathered)
  local state = self.connection:state({}, 0.5)
  if not state then return false end
  for _, node in ipairs(state.nodes or {}) do
    local is_target = (wanted == "all" or wanted == "spmd") and node.role == "worker"
    for _, id in ipairs(type(wanted) == "table" and wanted or {}) do
      is_target = is_target or (id == node.id and node.role == "worker") or id == node.name
    end
    local of = gathered.nodes[node.name]
    is_target = is_target and not (of and of.result)
    if is_target and state.run.paused then
      return ("the run is paused; the chunk runs on %s at its next engine call, Ctrl-C gives up"):format(node.name)
    end
    if is_target and wanted ~= "spmd" and node.state == "computing" and node.what ~= "chunk" then
      return ("%s has been computing for %s; the chunk runs at its next engine call, Ctrl-C gives up"):format(node.name,
        text.seconds(node.since or 0))
    end
  end
end

-- On Ctrl-C first interrupts the chunk, then ends the session. A call of a C function (such as a backtracking pattern)
-- cannot be interrupted, so the session abandons a chunk that is still running after `overdue` seconds.
function Session:check_interrupt(id, wait)
  local pressed = self.interrupts()
  if pressed == 0 then return end
  wait.interrupts = (wait.interrupts or 0) + pressed
  if wait.interrupts > 1 then
    self.detached = true
  else
    wait.interrupted = now()
    local _, why = self:control { op = "interrupt", chunk = id }
    if why then self:show_error(why) end
  end
end

-- Waits until a chunk has ended on all its nodes, or is abandoned.
function Session:await(id, nodes, gathered, begun)
  local wait = {}
  while not (self.ended or self.detached or gathered.abandoned) do
    local notice, why, code = self.connection:next(poll)
    if notice and notice.chunk == id then
      if wait.explained_at then self.status("") end
      gathered.over = notice.event == "over"
      if gathered.over then break end
      if gathered[notice.event] then gathered[notice.event](gathered, notice) end
    elseif notice then
      self:handle_event(notice)
    elseif why then
      self:handle_disconnect(why, code)
    else
      self:show_cluster_output()
    end
    self:check_interrupt(id, wait)
    gathered.abandoned = wait.interrupted and now() - wait.interrupted > overdue
    if (nodes ~= "spmd" or not wait.state_came) and now() - begun > (wait.explained_at or 0) + explain_after then
      local words = self:explain(nodes, gathered)
      if words and (self.terminal or not wait.explained) then
        self.status(words)
        wait.explained = true
      end
      wait.state_came = wait.state_came or words ~= false
      wait.explained_at = now() - begun
    end
  end
  if wait.explained_at then self.status("") end
  self:show_cluster_output()
  return now() - begun
end

---Evaluates a chunk on a node for internal use; abandons it after `seconds`.
---@param source string of a chunk that returns a text
---@param seconds number
---@return string?
function Session:query(source, seconds)
  local worker
  for _, node in ipairs(self.last and self.last.nodes or {}) do
    local wanted = type(self.target) == "table" and self.target[1] or 0
    if node.role == "worker" and node.rank == wanted and node.state ~= "computing" then worker = node.id end
  end
  local reply = worker and self:control { op = "chunk", source = source, name = "=completion", mode = "plain", nodes = { worker } }
  local deadline, given = now() + seconds, nil
  while reply and not self.ended do
    local notice, why, code = self.connection:next(math.max(0, deadline - now()))
    if why then
      self:handle_disconnect(why, code)
    elseif not notice then
      self:control { op = "interrupt", chunk = reply.chunk }
      break
    elseif notice.chunk ~= reply.chunk then
      self:handle_event(notice)
    elseif notice.event == "result" then
      given = notice.ok and notice.text or nil
    elseif notice.event == "over" then
      break
    end
  end
  return given
end

---Runs a chunk and shows its results. Shows errors instead of raising them.
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
  local reply, why = self:control { op = "chunk", source = runs, name = name, mode = self.columns and self.mode ~= "json" and ("%s %d"):format(self.mode, self.columns()) or self.mode, nodes = nodes }
  if not reply then return not self.ended and self:refuse(why, self.count) end
  local gathered = setmetatable({ session = self, nodes = {}, order = {}, many = #reply.nodes > 1,
    first_only = nodes == "spmd" and not self.print_all }, Gathered)
  local seconds = self:await(reply.chunk, nodes, gathered, begun)
  if gathered.abandoned then gathered:show_abandoned(reply.nodes) end
  table.sort(gathered.order, function(a, b)
    return #a ~= #b and #a < #b or #a == #b and a < b -- rank 2 before rank 10
  end)
  if self.json then
    self.show(gathered:json_line(self.count, seconds))
    self.failed = self.failed or not gathered:succeeded()
  else
    gathered:finish_output()
    gathered:show_values()
    gathered:show_errors()
    gathered:left_out()
    if self.terminal and not self.detached then self.show(("(%s)"):format(text.seconds(seconds))) end
  end
  return gathered:succeeded() and not self.ended
end

---Shows the error of a chunk that did not run; returns false.
function Session:refuse(message, number)
  if self.json then
    self.failed = true
    self.show(json.encode { chunk = number, ok = false, error = message })
  else
    self:show_error(message)
  end
  return false
end

return M
