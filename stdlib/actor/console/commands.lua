--- The commands of the console, such as `:nodes`. Each shows a part of the run's state or changes the run.
local barrier = require("actor.inspect.barrier")
local control = require("actor.c.control")
local files = require("actor.c.files")
local json = require("actor.console.json")
local keys = require("actor.inspect.keys")
local links = require("actor.inspect.links")
local log = require("actor.inspect.log")
local nodes = require("actor.inspect.nodes")
local rates = require("actor.inspect.rates")
local spelling = require("actor.c.names")
local stages = require("actor.inspect.stages")
local steps = require("actor.inspect.steps")
local text = require("actor.inspect.text")
local timeline = require("actor.inspect.timeline")
local util = require("actor.util")

local M = {}

---@class actor.console.Command
---@field name string
---@field arguments string as in the help
---@field summary string
---@field run fun(session: actor.console.Session, rest: string): string?, any the shown text, and the same as data; nil after an error
---@field words? fun(session: actor.console.Session, before: string): string[] completions of its arguments

---@type actor.console.Command[]
M.list = {}

local function add(name, arguments, summary, run, words)
  M.list[#M.list + 1] = { name = name, arguments = arguments, summary = summary, run = run, words = words }
end

local function node_words(session)
  local words = { "all" }
  for _, node in ipairs(session.last and session.last.nodes or {}) do
    words[#words + 1] = node.rank and tostring(node.rank) or node.role == "server" and node.name or nil
  end
  return words
end

local function key_words(session)
  local state, words = session:state { "keys" }, {}
  for i, key in ipairs(state and state.keys or {}) do words[i] = tostring(key.key) end
  return words
end

-- Adds a command that shows sections of the state.
local function add_view(name, arguments, summary, sections, show, words)
  add(name, arguments, summary, function(session, rest)
    local state = session:state(sections)
    if not state then return nil end
    return show(state, rest ~= "" and rest or nil, session), setmetatable(state[sections[1] or "nodes"] or {}, json.array)
  end, words)
end

add_view("nodes", "[SORT]", "the activity of each node, its duration and the share of waiting; SORT: " .. table.concat(nodes.orders(), ", "), {},
  function(state, order, session)
    local known = {}
    for _, each in ipairs(nodes.orders()) do known[each] = true end
    if order and not known[order] then
      session:show_error((":nodes sorts by %s%s"):format(table.concat(nodes.orders(), ", "), spelling.suggestion(order, nodes.orders())))
      return nil
    end
    return nodes.headline(state) .. "\n" .. nodes.table(state, order)
  end, nodes.orders)

add_view("steps", "", "steps of the workers, as bars", {}, steps.table)

-- --- the barrier rule and the merge rule ---

-- Makes a rule from a text: a file, file.lua:name, or a spec.
local function rule_of(word)
  local path, name = word:match("^(.-%.lua):?([%w_]*)$")
  if not path then return { spec = word, text = word } end
  local source, why = util.read(path)
  if not source then return nil, why end
  return { spec = "", source = source, name = name ~= "" and path .. ":" .. name or path, text = word }
end

-- Sets the rule and returns the text of the previous rule; nil after an error, which it shows.
local function swap(session, what, rule)
  local reply, why = session:control { op = what, spec = rule.spec, source = rule.source, name = rule.name }
  if reply then return reply.before or "?" end
  if why then session:show_error(why) end
end

-- Adds the command :WHAT, which shows and replaces a rule. `noun`: "the barrier"; `example`: a rule's text.
local function add_rule(what, noun, library, example, summary, show)
  local function done(text, before)
    return ("%s is %s; it was %s"):format(noun, text, before), { [what] = text, before = before }
  end
  add(what, "[set SPEC|FILE.lua[:NAME] | undo]", summary, function(session, rest)
    local verb, word = rest:match("^(%a*)%s*(.-)$")
    local earlier = session.rules[what] or {} -- the rules before the present rule of this session, the present rule last
    session.rules[what] = earlier
    if verb == "" then
      local state = session:state { "barrier" }
      if state then return show(state), state.barrier or {} end
    elseif verb == "set" and word ~= "" then
      local rule, why = rule_of(word)
      if not rule then return session:show_error(why) end
      local before = swap(session, what, rule)
      if not before then return nil end
      if #earlier == 0 then earlier[1] = { spec = before, text = before } end
      earlier[#earlier + 1] = rule
      return done(rule.text, before)
    elseif verb == "undo" and word == "" then
      local rule = earlier[#earlier - 1]
      if not rule then return session:show_error(("this session has set no %s to undo"):format(noun:gsub("^the ", ""))) end
      local before = swap(session, what, rule)
      if not before then return nil end
      earlier[#earlier] = nil
      return done(rule.text .. " again", before)
    else
      session:show_error((":%s shows the rule; :%s set %s, :%s set rule.lua, :%s undo change it"):format(what, what, example,
        what, what))
    end
  end, function(_, before)
    if not before:find("^set%s") then return { "set ", "undo" } end
    local words = {}
    for _, rule in ipairs(library.list()) do words[#words + 1] = "set " .. rule.name end
    for _, path in ipairs(M.paths(before:match("^set%s+(.*)$"))) do words[#words + 1] = "set " .. path end
    return words
  end)
end

add_rule("barrier", "the barrier", require("actor.barrier"), "pssp:10:4",
  "the rule and the waiting workers, with cause and time; sets another rule, live; restores the previous rule", barrier.table)
add_rule("merge", "the merge rule", require("actor.merge"), "drop:2",
  "the rule and its decisions about pushes; sets another rule, live; restores the previous rule", barrier.merges)

-- --- the parameter server ---

add_view("keys", "[PATTERN]", "keys of the parameter server: shape, version, owner, updates a second; * and ? are wildcards", { "keys" },
  function(state, pattern, session)
    local shown = keys.table(state, pattern, session.keys_before)
    session.keys_before = state
    return shown
  end, key_words)

local get_chunk = [[local key = %s
local values = { (package.loaded["actor.peer"] or require("actor.param")).get(key) }
if values[1] == nil then error("there is no key '" .. key .. "'; :keys lists the parameter server's", 0) end
return unpack(values)]]

add("get", "KEY", "a key's value where chunks run, from peer.get in a job of peers, otherwise from param.get", function(session, rest)
  if rest == "" then return session:show_error(":get wants a key; :keys lists them") end
  local key = tonumber(rest) and rest or ("%q"):format(rest)
  session:chunk(get_chunk:format(key), { name = "=get" })
end, key_words)

-- --- the cluster ---

add_view("peers", "", "the links between processes: bytes, frames, queues", { "links" }, links.table)

add("jobs", "", "the runs of this machine", function(session)
  local runs, why = control.find()
  if not runs then return session:show_error(why) end
  local rows = {}
  for i, run in ipairs(runs) do
    rows[i] = { run.url == session.url and "*" or "", run.job, run.id or "", tostring(run.pid),
      text.seconds(math.max(0, os.time() - run.started)), run.url }
  end
  if #rows == 0 then return "no run of yours is in progress on this machine", {} end
  return text.columns({ "", "job", "id", ">process", ">for", "attach to" }, rows), runs
end)

add_view("stages", "", "map-reduce stages and their completed tasks", { "stages" }, stages.table)

add_view("log", "[RANK]", "the newest lines of the log, of one node or of all", { "log", "members" }, function(state, name)
  return log.table(state, name and (name:find("^%d+$") and "rank " .. name or name))
end, node_words)

-- Waits, and polls for Ctrl-C meanwhile.
local function sleep(session, seconds)
  local actor = require("actor")
  local until_then = actor.now() + seconds
  while actor.now() < until_then do
    local notice, why, code = session.connection:next(math.min(0.05, seconds))
    if notice and session:handle_event(notice) then return false end
    if why then
      session:handle_disconnect(why, code)
      return false
    end
    if session.interrupts() > 0 then return false end
  end
  return true
end

add("stats", "[-i SECONDS] [-c LINES]", "steps, updates, bytes and waiting of each interval, until Ctrl-C", function(session, rest)
  local every = tonumber(rest:match("%-i%s*([%d.]+)")) or 1
  local lines = tonumber(rest:match("%-c%s*(%d+)")) or (session.terminal and math.huge or 1)
  if rest:gsub("%-[ic]%s*[%d.]+", ""):find("%S") or every < 0.05 then
    return session:show_error(":stats takes -i SECONDS (at least 0.05) and -c LINES")
  end
  session.interrupts()
  local before, shown = session:state(), {}
  for i = 1, lines do
    if not before or not sleep(session, every) then break end
    local now = session:state()
    if not now then break end
    local line = rates.line(now, before)
    before, shown[i] = now, line
    if not session.json then session.show(i == 1 and rates.head .. "\n" .. line or line) end
  end
  if session.json then return rates.head .. "\n" .. table.concat(shown, "\n"), shown end
end)

-- Polls for `seconds`, or until Ctrl-C.
local function traced(session, seconds)
  local line = timeline.new()
  session.interrupts()
  local left = seconds
  repeat
    local state = session:state { "trace" }
    if not state then return nil end
    timeline.add(line, state)
    left = seconds - (line.to - line.from)
  until left <= 0 or not sleep(session, math.min(left, timeline.every))
  return line
end

add("trace", "[SECONDS [FILE.json]]", "a timeline of the nodes over SECONDS, default 1; with a file, as a Chrome trace",
  function(session, rest)
    local seconds, path = rest:match("^(%S*)%s*(.-)$")
    seconds = seconds == "" and 1 or tonumber(seconds)
    if not seconds or not (seconds > 0 and seconds <= 3600) then
      return session:show_error(":trace wants seconds, at most 3600, and optionally a file: :trace 5 run.json")
    end
    if path ~= "" then
      local fine, why = files.writable(path)
      if not fine then return session:show_error(why) end
    end
    local line = traced(session, seconds)
    if not line then return nil end
    local more = line.left_out > 0 and ("\n%d more spans were too frequent and are left out"):format(line.left_out) or ""
    if path == "" then
      local shown, data = timeline.picture(line)
      return shown .. more, data
    end
    local events, spans = timeline.chrome(line)
    local written, why = files.replace(path, events)
    if not written then return session:show_error(why) end
    return ("%d spans of %s are in %s%s"):format(spans, text.seconds(line.to - line.from), path, more),
      { file = path, spans = spans, left_out = line.left_out }
  end,
  function(_, before)
    local seconds, start = before:match("^(%S+%s+)(.*)$")
    local words = {}
    for i, path in ipairs(seconds and M.paths(start) or {}) do words[i] = seconds .. path end
    return words
  end)

-- --- target of chunks, format of values ---

-- The target for a word; nil if there is no such node.
local function target_of(session, word)
  if word == "all" then return session.own and "spmd" or "all" end
  local node = session:node(word)
  if not node then return nil end
  return { node.rank or node.name }
end

add("on", "RANK|all [CHUNK]", "runs a chunk elsewhere; without one, all later chunks", function(session, rest)
  local word, source = rest:match("^(server %d+)%s*(.*)$")
  if not word then word, source = rest:match("^(%S+)%s*(.*)$") end
  if not word then return session:show_error(":on wants a rank, a server or all, and a chunk") end
  local target = target_of(session, word)
  if not target then return nil end
  if source ~= "" then
    session:chunk(source, { target = target })
    return nil
  end
  session.target = target
  return ("chunks run on %s"):format(session:place() == "all" and "all workers" or session:place()), {}
end, node_words)

---Runs a file of this machine as one chunk.
---@param session actor.console.Session
---@param path string
---@return boolean fine
function M.load(session, path)
  local source, why = util.read(path)
  if not source then return session:refuse(why, session.count + 1) end
  return session:chunk(source:gsub("^#[^\n]*", ""), { name = "@" .. path })
end

add("load", "FILE", "runs a file of this machine as one chunk", function(session, rest)
  if rest == "" then return session:show_error(":load wants a file") end
  M.load(session, rest)
end, function(_, before) return M.paths(before) end)

add("set", "output table|lua|json", "how values are shown", function(session, rest)
  local mode = rest:match("^output%s+(%a+)$")
  if mode ~= "table" and mode ~= "lua" and mode ~= "json" then
    return session:show_error(":set output table, :set output lua or :set output json")
  end
  if session.json then return session:show_error("with --json values are shown as json") end
  session.mode = mode
  return ("values are shown as %s"):format(mode), {}
end, function() return { "output table", "output lua", "output json" } end)

-- --- commands that change the run ---

-- Sends a command and returns a text about its effect.
local function change(session, command, describe)
  local reply, why = session:control(command)
  if not reply then
    if not session.ended then session:show_error(why) end
    return nil
  end
  return describe(reply), reply
end

add("kill", "RANK", "ends the process of this node, as if its machine had failed", function(session, rest)
  if rest == "" then return session:show_error(":kill wants a rank") end
  local node = session:node(rest)
  if not node then return nil end
  return change(session, { op = "kill", id = node.id }, function(reply)
    return "killed " .. table.concat(reply.killed or { node.name }, ", ")
  end)
end, node_words)

add("pause", "", "workers stop at their next engine call", function(session)
  return change(session, { op = "pause" }, function() return "the run is paused; :go lets it go on" end)
end)

add("go", "", "resumes a paused run", function(session)
  return change(session, { op = "go" }, function() return "the run goes on" end)
end)

add("checkpoint", "", "writes a checkpoint now", function(session)
  return change(session, { op = "checkpoint" }, function(reply) return reply.message or "a checkpoint is written" end)
end)

add("help", "[NAME]", "this list; help for a command or a function", function(session, rest)
  local help = require("actor.console.help")
  if rest == "" then return help.overview(), {} end
  local about, why = help.about(rest)
  if not about then return session:show_error(why) end
  return about, {}
end, function(_, before)
  local words = {}
  for i, command in ipairs(M.list) do words[i] = ":" .. command.name end
  if before:sub(1, 1) == ":" then return words end
  local help = require("actor.help")
  for _, topic in ipairs(help.topics()) do
    words[#words + 1] = topic.name
    if before:sub(1, #topic.name) == topic.name then
      for _, name in ipairs(help.contents("actor." .. topic.name)) do words[#words + 1] = name end
    end
  end
  return words
end)

add("quit", "", "leaves the console; an attached run continues", function(session)
  session.left = true
end)

---@param name string
---@return actor.console.Command?
function M.find(name)
  for _, command in ipairs(M.list) do
    if command.name == name then return command end
  end
end

---Runs a line that begins with a colon. Shows errors instead of raising them.
---@param session actor.console.Session
---@param line string
function M.run(session, line)
  local name, rest = line:match("^%s*:(%S*)%s*(.-)%s*$")
  local command = M.find(name)
  local failed_before = session.failed
  session.failed = false
  local shown, data, why
  if not command then
    local names = {}
    for i, each in ipairs(M.list) do names[i] = each.name end
    why = ("there is no command :%s%s; :help lists them"):format(name, spelling.suggestion(name, names, ":"))
  else
    local fail, chunks = session.fail, session.count
    if session.json then session.fail = function(message) why = message end end
    local fine, a, b = xpcall(command.run, debug.traceback, session, rest)
    session.fail = fail
    if fine then shown, data = a, b else why = a end
    if session.json and session.count > chunks and not why then return end -- the chunk has shown its result
  end
  if session.json then
    session.failed = session.failed or why ~= nil
    session.show(json.encode { command = ":" .. name, ok = not session.failed, error = why, text = shown, data = data })
  elseif not command or why then
    session:show_error(why)
  elseif shown then
    session.show(shown)
  end
  session.failed = session.failed or failed_before
end

---Lists the files and folders whose paths begin with `start`.
---@param start string
---@return string[]
function M.paths(start)
  local folder = start:match("^(.*/)[^/]*$") or ""
  local found = {}
  for _, name in ipairs(files.list(folder == "" and "." or folder)) do
    local path = folder .. name
    if path:sub(1, #start) == start then found[#found + 1] = path end
  end
  return found
end

---Lists the completions of a command.
---@param session actor.console.Session
---@param before string the line up to the cursor, ":bar"
---@return string word
---@return string[] words
function M.complete(session, before)
  local name, rest = before:match("^:(%S+)%s+(.*)$")
  local list, start = {}, before
  if name then
    local command = M.find(name)
    if name == "on" and rest:find("^%S+%s") and not rest:find("^server %d*$") then return before, {}, rest:match("^%S+%s+(.*)$") end
    start = rest
    for _, word in ipairs(command and command.words and command.words(session, rest) or {}) do list[#list + 1] = word end
  else
    for i, command in ipairs(M.list) do list[i] = ":" .. command.name .. (command.arguments ~= "" and " " or "") end
  end
  local words = {}
  for _, word in ipairs(list) do
    if word:sub(1, #start) == start then words[#words + 1] = word end
  end
  table.sort(words)
  return start, words
end

return M
