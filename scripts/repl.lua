-- actorhost repl [--attach [RUN]] [-n N] [-e CHUNK] [-f FILE]: a console, attached to a run or with its own
-- cluster.
local actor = require("actor")
local attach = require("actor.inspect.attach")
local command = require("actor.c.command")
local commands = require("actor.console.commands")
local control = require("actor.c.control")
local chunk = require("actor.console.chunk")
local flags = require("actor.flags")
local line_editor = require("actor.c.line_editor")
local own_cluster = require("actor.c.own_cluster")
local session_of = require("actor.console.session")
local terminal = require("actor.console.terminal")
local text = require("actor.inspect.text")

local list = {
  { name = "nproc-per-node", short = "n", value = "N|auto", help = "nodes of the console's own cluster (2)" },
  { name = "isolate", help = "each node is a process" },
  { name = "servers", value = "S", help = "parameter-server shards of the cluster" },
  { name = "seed", value = "N", help = "of the cluster" },
  { name = "checkpoint", value = "DIR", help = "where checkpoints of its param.run are written" },
  { name = "resume", value = "DIR", help = "checkpoints from which it continues" },
  { name = "execute", short = "e", value = "CHUNK", many = true, help = "run this chunk or :command and leave; may be given again" },
  { name = "file", short = "f", value = "FILE", many = true, help = "run this file as one chunk and leave" },
  { name = "on", value = "RANK|all", help = "where chunks run; attached to a run: 0, else all nodes together" },
  { name = "print", value = "first|all", default = "first", help = "all: the output of every node that runs a chunk together" },
  { name = "json", help = "one JSON object for each chunk or command, on a line each" },
  { name = "read-only", help = "observe only: proves the reading token, with which the run refuses every change and chunk" },
  { name = "help", help = "this page" },
}
for i, flag in ipairs(attach.flags) do table.insert(list, i, flag) end

local usage = [[
usage: actorhost repl [flags]

A console: Lua typed at a prompt runs on the nodes of a run, and :commands show its state (:help lists them). With
--attach the console uses a live run, without an address a run of this machine; each node runs the chunk by itself, at
its next engine call. Without --attach it starts its own cluster, whose nodes run each chunk together: pipelines,
collectives and param.run work in it. Standard input other than a terminal is read line by line. With -e, -f and
standard input the exit code is 1 after an error.
]]

local most_history = 10000
local start_seconds = 30

-- Reads a line after a prompt on standard error: standard output would buffer the prompt until a newline.
local function prompt_user(prompt)
  io.stderr:write(prompt)
  return io.read("*l")
end

-- Lets the user choose one of several runs of this machine; nil without a choice.
local function chosen_run()
  local runs = control.find()
  if not runs or #runs < 2 then return nil end
  for i, run in ipairs(runs) do
    print(("%3d  %s  process %d, for %s, %s"):format(i, run.job, run.pid, text.seconds(math.max(0, os.time() - run.started)), run.url))
  end
  return runs[tonumber(prompt_user("attach to which one? ") or "")]
end

local function attached(values, interactive)
  if values.attach == "" then
    local run = interactive and chosen_run()
    if run then
      values.attach = run.url
      values["token-file"] = values["token-file"] or run.token_file
      values.insecure = values.insecure or run.insecure
    end
  end
  local connection, run = attach.attach(values, { read_only = values["read-only"] })
  if not connection then return nil, run end
  return connection, nil, run.url
end

-- Starts a cluster and attaches to it; nil and the output of its process if it has ended instead.
local function started(values)
  local args = { "--no-progress", "--log-level", "warn", "-n", values["nproc-per-node"] or "2" }
  for _, name in ipairs { "servers", "seed", "checkpoint", "resume" } do
    if values[name] then
      args[#args + 1] = "--" .. name
      args[#args + 1] = values[name]
    end
  end
  if values.isolate then args[#args + 1] = "--isolate" end
  local cluster = own_cluster.start(args)
  local deadline = actor.now() + start_seconds
  local output = ""
  while actor.now() < deadline do
    output = output .. cluster:output()
    local code = cluster:ended(0.02)
    if code then return nil, (output .. cluster:output()):gsub("^actorhost: ", ""):gsub("%s+$", ""), code end
    for _, run in ipairs(control.find() or {}) do
      local connection = run.pid == cluster:pid() and control.attach(run.url, { token_file = run.token_file,
        insecure = run.insecure, read_only = values["read-only"] })
      if connection then return connection, cluster, run.url end
    end
  end
  cluster:stop()
  return nil, "the cluster has not started: " .. output, 3
end

-- Waits until all nodes of the console's own cluster accept chunks.
local function ready(session)
  local deadline = actor.now() + start_seconds
  repeat
    local reply, why, code = session:control { op = "chunk", source = "return", name = "=start", mode = "plain", nodes = "spmd" }
    if reply then
      repeat
        local notice = session.connection:next(0.05)
        if notice then session:handle_event(notice) end
      until session.ended or (notice and notice.event == "over" and notice.chunk == reply.chunk) or actor.now() > deadline
      return not session.ended
    end
    if code ~= "unsupported" or session.ended then return false, why end
    session.connection:next(0.02)
  until actor.now() > deadline
  return false, "its nodes have not started"
end

-- Runs standard input as chunks and commands.
local function read_lines(session)
  local pending
  for line in io.lines() do
    if not pending and line:find("^%s*:") then
      commands.run(session, line)
    else
      local source = pending and pending .. "\n" .. line or line
      local loaded, _, open = chunk.load(source)
      pending = not loaded and open and source or nil
      if not pending and source:find("%S") then session:chunk(source) end
    end
    if session.ended or session.detached or session.left then return end
  end
  if pending then session:chunk(pending) end
end

local function run_script(session, values)
  for _, source in ipairs(values.execute or {}) do
    if source:find("^%s*:") then commands.run(session, source) else session:chunk(source) end
    if session.ended or session.detached then return end
  end
  for _, path in ipairs(values.file or {}) do
    if session.ended or session.detached then return end
    commands.load(session, path)
  end
  if not values.execute and not values.file then read_lines(session) end
end

-- A terminal without libedit.
local function plain_editor()
  return {
    read = function(_, prompt)
      local line = prompt_user(prompt)
      if not line then return nil, "end" end
      return line
    end,
    remember = function() return true end,
  }
end

local function history_file()
  local folder = os.getenv("XDG_STATE_HOME")
  if not folder or folder == "" then
    local home = os.getenv("HOME")
    if not home or home == "" then return "" end
    folder = home .. "/.local/state"
  end
  return folder .. "/actorhost/history"
end

local function at_terminal(session)
  local editor, why = line_editor.open(history_file(), most_history)
  if not editor then
    session.fail("the prompt is a plain prompt: " .. why)
    editor = plain_editor()
  end
  local hint = session.own and "" or "; chunks see the script's local variables, its globals and the library"
  session.show(("actorhost %s; :help lists the commands%s"):format(actor.version, hint))
  terminal.run(session, editor)
end

local function columns() return math.max(40, command.status_columns()) end

-- A line of values has an indentation and a comma besides.
local function value_columns() return columns() - 5 end

local function target_of(values)
  local on = values.on
  if on == nil then return values.attach and { 0 } or "spmd" end
  if on == "all" then return values.attach and "all" or "spmd" end
  return { tonumber(on) or on }
end

local function main()
  local values, rest, fail = flags.command("repl", list, usage)
  if not values then return rest end
  if #rest > 0 then return fail(2, ("'%s' is not understood; a job is run by actorhost %s"):format(rest[1], rest[1])) end
  local target = target_of(values)
  local interactive = line_editor.is_terminal() and not values.execute and not values.file
  local connection, cluster, url
  if values.attach then
    connection, cluster, url = attached(values, interactive)
  else
    connection, cluster, url = started(values)
    if not connection then return fail(url, cluster) end
  end
  if not connection then return fail(3, cluster) end
  -- On a terminal no word is broken at the edge; the output of chunks stays as it is.
  local function wrapping(write)
    return interactive and function(words) write(text.wrapped(words, columns())) end or write
  end
  local session = session_of.new {
    connection = connection, own = cluster, url = url, target = target, json = values.json, print_all = values.print == "all",
    terminal = interactive,
    show = wrapping(print), fail = wrapping(command.err), show_output = print, columns = interactive and value_columns or nil, status = interactive and command.status or function(words)
      if words ~= "" then command.err(words) end
    end, interrupts = command.interrupts,
  }
  local fine, why = true, nil
  if cluster and not values["read-only"] then fine, why = ready(session) end
  if not fine and not session.ended then return fail(3, "the cluster does not work: " .. tostring(why)) end
  if session:state() then
    command.interrupts()
    if interactive then at_terminal(session) else run_script(session, values) end
  end
  local code = not interactive and session.failed and 1 or 0
  if session.ended then
    local words, how = session:epilogue()
    if interactive or not session.ended.ok then command.err(words) end
    code = how ~= 0 and how or code
  elseif session.detached then
    command.err(cluster and "interrupted" or "detached; the run continues")
    code = interactive and 0 or 130
  end
  if not session.ended then connection:close() end
  if cluster then cluster:stop() end
  return code
end

return main()
