-- actorhost launch --hosts a,b:2,c [flags] job.lua [args]: runs a job on several hosts over ssh. A far side on each
-- host (stdlib/actor/launch/far_side.lua) receives the job's files, starts the job, and ends it with this process.
local actor = require("actor")
local command = require("actor.c.command")
local far_side = require("actor.launch.far_side")
local flags = require("actor.flags")
local host_list = require("actor.launch.host_list")
local job_files = require("actor.launch.job_files")
local launch = require("actor.c.launch")
local remote = require("actor.launch.remote")
local text = require("actor.inspect.text")
local util = require("actor.util")

local list = {
  { name = "hosts", value = "LIST", help = "hosts with commas between them: a,b:2,ada@c; :2 is the number of nodes there" },
  { name = "hostfile", value = "FILE", help = "a host per line, as `b slots=2 port=2222` or `b:2`; # begins a comment" },
  { name = "program", value = "PATH", help = "actorhost on the hosts (this program's path, or else actorhost in PATH)" },
  { name = "ssh", value = "COMMAND", default = "ssh", help = "reaches a host: \"ssh -p 2222 -i key\"; it gets the host and a command" },
  { name = "copy", value = "PATH", many = true, help = "copies a further file or folder from below the script's folder; may be given again" },
  { name = "cwd", value = "DIR", help = "working folder of the job on the hosts (the present folder, or else the home folder there)" },
  { name = "env", value = "NAME[=VALUE]", many = true, help = "sets a variable of the job's environment; without a value, to the present value" },
  { name = "dry-run", help = "only print what would be done" },
  { name = "help", help = "this page" },
}

local usage = [[
usage: actorhost launch --hosts a,b:2,c [flags] job.lua [args...]

Runs a job on several hosts, over ssh. The first host is the coordinator. The script, the modules that it requires, the
files of --barrier and --merge and the token are copied to each host for the time of the run; data files are not. Each line of output
has its host in front. Ctrl-C interrupts the job on all hosts; a second Ctrl-C kills it. The exit code is the largest of
all hosts. A host without a number of nodes has -n nodes, or one per core. The flags of `actorhost job.lua` may stand
among these flags; paths in them, except for --barrier, --merge and --token-file, are paths on the hosts.
]]

local here = launch.here()

local function report(form, ...) command.err("actorhost launch: " .. form:format(...)) end

-- --- the command line ---

local function own_flag(word)
  local name = word:match("^%-%-([^=]+)")
  name = name and name:gsub("_", "-")
  for _, flag in ipairs(list) do
    if flag.name == name then return flag end
  end
end

-- Divides the words into the flags of launch, the flags of the job, and the job's arguments. Returns nil, message
-- without a job.
local function divided(words)
  local own, rest = {}, {}
  local i = 1
  while i <= #words do
    local word = words[i]
    local flag = own_flag(word)
    if flag then
      own[#own + 1] = word
      if flag.value and not word:find("=", 1, true) then
        i = i + 1
        own[#own + 1] = words[i]
      end
    else
      rest[#rest + 1] = word
      local job = not word:find("^%-") and launch.job(rest)
      if job and job.script == word then
        rest[#rest] = nil
        return own, rest, job, { unpack(words, i + 1) }
      end
    end
    i = i + 1
  end
  local _, why = launch.job(rest)
  return own, nil, why or "no job given"
end

-- The words without the flags of these names ("-n", "--token-file") and their values.
local function without(words, names)
  local out, i = {}, 1
  while i <= #words do
    local bare = words[i]:gsub("_", "-")
    local found = false
    for _, name in ipairs(names) do
      if bare == name then
        i, found = i + 1, true
      elseif #name == 2 and bare:find("^%" .. name .. "%w") or bare:sub(1, #name + 1) == name .. "=" then
        found = true
      end
    end
    if not found then out[#out + 1] = words[i] end
    i = i + 1
  end
  return out
end

local function variables_of(given)
  local out = {}
  for _, entry in ipairs(given or {}) do
    local name, value = entry:match("^([%a_][%w_]*)=(.*)$")
    name = name or entry:match("^[%a_][%w_]*$")
    if not name then return nil, ("--env wants NAME=VALUE or NAME, got '%s'"):format(entry) end
    value = value or os.getenv(name)
    if not value then return nil, ("--env %s: there is no variable %s here"):format(entry, name) end
    out[name] = value
  end
  return out
end

local function is_loopback(name) return name == "localhost" or name:find("^127%.") ~= nil or name == "::1" end

-- The hosts, or nil, message.
local function hosts_of(values)
  if values.hosts and values.hostfile then return nil, "--hosts and --hostfile exclude each other" end
  if values.hostfile then return host_list.file(values.hostfile) end
  if not values.hosts then return nil, "no hosts: give --hosts a,b:2,c or --hostfile FILE" end
  return host_list.list(values.hosts)
end

-- --- programs ---

-- Runs a program to its end and returns its output.
local function output_of(path, words)
  local number = launch.start { path = path, words = words, piped = true }
  local output = ""
  while number do
    local what, of, value = launch.next(1)
    if what == "output" and of == number then output = output .. value end
    if what == "end" and of == number then return output end
  end
  return output
end

-- The address of the first host for the other hosts: ssh may know the host by another name.
local function address_of(shell, host)
  if shell[1]:match("[^/]*$") ~= "ssh" then return host.name end
  local words = { unpack(shell, 2) }
  words[#words + 1] = "-G"
  words[#words + 1] = host.target
  return ("\n" .. output_of(shell[1], words)):match("\nhostname (%S+)") or host.name
end

-- --- the plan ---

-- Collects what each host gets; nil, message after an error of the user.
local function plan_of(values, job, words, arguments)
  local hosts, wrong = hosts_of(values)
  if not hosts then return nil, wrong end
  if job.hosts or job.rank then return nil, "launch counts the hosts itself: leave out --nnodes and --node-rank" end
  local shell, mistake = remote.words(values.ssh)
  if not shell or not shell[1] then return nil, "--ssh: " .. (mistake or "the command is empty") end
  local variables, unknown = variables_of(values.env)
  if not variables then return nil, unknown end
  local rule_files, rule_words, given = {}, {}, {}
  for _, flag in ipairs { "barrier", "merge" } do
    local path, name = (job[flag] or ""):match("^(.-%.lua)(:?[%w_]*)$")
    if path then
      rule_files[flag], given[#given + 1] = path, "--" .. flag
      rule_words["--" .. flag] = ("%s/%s%s"):format(flag, path:match("[^/]*$"), name)
    end
  end
  local files, why = job_files.collect(job.script, values.copy or {}, rule_files)
  if not files then return nil, why end
  local token, refused = "", nil
  if not job.insecure then token, refused = launch.token(job.token_file) end
  if not token then return nil, refused end
  local first = hosts[1]
  if #hosts > 1 and not job.endpoint and is_loopback(first.name) then
    for _, host in ipairs(hosts) do
      if not is_loopback(host.name) then
        return nil, ("host %s cannot reach the first host as '%s': give the first host by its name or address"):format(host.label, first.name)
      end
    end
  end
  local kept = without(words, util.joined({ "--token-file", "-n", "--nproc-per-node", "--nproc" }, given))
  local address = #hosts > 1 and not job.endpoint and address_of(shell, first) or first.name
  local plan = { hosts = hosts, shell = shell, start_timeout = job.start_timeout, files = files }
  for rank, host in ipairs(hosts) do
    local nodes = host.slots and tostring(host.slots) or job.nodes
    host.words = remote.command(shell, host, values.program, here.program)
    host.request = {
      files = files, words = kept, rules = rule_words, script = files[1].name,
      arguments = arguments, folder = values.cwd or here.folder, token = token, grace = job.grace,
      variables = util.merged(variables, {
        ACTORHOST_LAUNCH_RANK = tostring(rank - 1), ACTORHOST_LAUNCH_SIZE = tostring(#hosts),
        ACTORHOST_LAUNCH_ID = here.id, ACTORHOST_LAUNCH_HOST = address,
        ACTORHOST_NPROC_PER_NODE = nodes or "", ACTORHOST_RDZV_ENDPOINT = "", ACTORHOST_RDZV_ID = "",
      }),
    }
  end
  return plan
end

local function show_plan(plan)
  local names, bytes = {}, 0
  for i, file in ipairs(plan.files) do
    names[i], bytes = file.name, bytes + #file.text
  end
  print(("copies to a private folder of each host: %s (%s)"):format(table.concat(names, ", "), text.bytes(bytes)))
  for _, host in ipairs(plan.hosts) do
    local request = host.request
    local rules = {}
    for flag, file in util.pairs(request.rules) do rules = util.joined(rules, { flag, file }) end
    local words = util.joined({ "actorhost" }, request.words, rules, { request.script }, request.arguments)
    print(("\nhost %s: %s"):format(host.label, remote.line(host.words)))
    print(("  in %s: %s"):format(request.folder, remote.line(words)))
    local variables = {}
    for variable, value in util.pairs(request.variables) do
      if value ~= "" then variables[#variables + 1] = variable .. "=" .. remote.quoted(value) end
    end
    print("  with " .. table.concat(variables, " "))
  end
end

-- --- the run ---

local Run = {}
Run.__index = Run

local most_line = 2 ^ 20   -- bytes; a longer line is shown in parts
local other_failures = 10  -- seconds to wait for further failures after the first
local kill_seconds = 2     -- seconds for the hosts to kill the job

-- Shows the complete lines of a host's output.
local function show_lines(host, stream, more, all)
  local rest = host[stream] .. more
  for line in rest:gmatch("([^\n]*)\n") do
    if stream == "output" then print(host.label .. ": " .. line) else command.err(host.label .. ": " .. line) end
  end
  rest = rest:match("[^\n]*$")
  if rest ~= "" and (all or #rest > most_line) then
    if stream == "output" then print(host.label .. ": " .. rest) else command.err(host.label .. ": " .. rest) end
    rest = ""
  end
  host[stream] = rest
end

-- Why a host has ended before its far side has greeted.
local function reason_of(host, code)
  local lines = host.error:gsub("%s+$", "")
  local last = lines:match("[^\n]*$"):gsub("\r", ""):gsub("%.$", "")
  if code == 127 or code == 126 then
    return ("it has no program %s%s; install actorhost there, or give its path there with --program"):format(
      host.program or here.program, host.program and "" or " and no actorhost in PATH")
  end
  if code == 255 then
    return ("it cannot be reached: %s; `%s` must work without a question"):format(last ~= "" and last or "ssh gives no reason",
      remote.line(util.joined(host.shell, { host.target, "true" })))
  end
  return ("its actorhost has ended with exit code %d%s"):format(code, last ~= "" and ": " .. last or "; is it the same version?")
end

function Run:fail(host, why)
  if host.phase == "ready" then self.ready = self.ready - 1 end
  host.phase = "failed"
  self.failures[#self.failures + 1] = ("host %s: %s"):format(host.label, why)
  self.give_up = math.min(self.give_up, actor.now() + other_failures)
end

-- Takes the first line of the far side; lines before it are of the host's login.
function Run:greet(host, more)
  host.output = host.output .. more
  local version, rest = ("\n" .. host.output):match("\n" .. far_side.greeting:gsub("%-", "%%-") .. "([^\n]*)\n(.*)$")
  if not version then return end
  host.output = rest
  if version ~= actor.version then
    return self:fail(host, ("it has actorhost %s, this host has %s: install the same version, or give its path with --program"):format(
      version, actor.version))
  end
  host.phase, host.error = "ready", ""
  self.ready = self.ready + 1
end

function Run:ended(host, code)
  self.left = self.left - 1
  if host.phase == "starting" or host.phase == "ready" then return self:fail(host, reason_of(host, code)) end
  if host.phase ~= "running" then return end
  show_lines(host, "output", "", true)
  local last = host.last_error or ""
  show_lines(host, "error", "", true)
  host.phase = "ended"
  if code == 255 then
    self.lines[#self.lines + 1] = ("the connection to host %s is lost%s"):format(host.label, last ~= "" and ": " .. last or "")
    code = 3
  elseif code ~= 0 and not self.interrupted and not self.terminated then
    self.lines[#self.lines + 1] = ("host %s has ended with exit code %d"):format(host.label, code)
  end
  self.worst = math.max(self.worst, code)
end

function Run:take(what, number, value)
  local host = self.by_program[number]
  if not host then return end
  if what == "end" then
    self:ended(host, value)
  elseif what == "error" and host.phase ~= "running" then
    host.error = (host.error .. value):sub(-10000)
  elseif what == "output" and host.phase == "starting" then
    self:greet(host, value)
  elseif host.phase == "running" then
    if what == "error" then host.last_error = (value:gsub("%s+$", ""):match("[^\n]*$")) end
    show_lines(host, what, value)
  end
end

function Run:send_all(words)
  for _, host in ipairs(self.hosts) do
    if host.phase == "running" then launch.send(host.number, words) end
  end
end

function Run:kill_all()
  for _, host in ipairs(self.hosts) do launch.signal(host.number, "KILL") end
end

-- Handles Ctrl-C and SIGTERM; true: the run is over.
function Run:check_signals()
  local pressed, terminated = launch.signals()
  if pressed > 0 then
    self.presses = self.presses + pressed
    self.interrupted = true
    if not self.started then return true end
    if self.presses == pressed then
      self:send_all("interrupt\n")
      report("interrupting the job on %d hosts; Ctrl-C again kills it", self.left)
    end
    if self.presses > 1 then
      self:send_all("kill\n")
      self.kill_at = math.min(self.kill_at, actor.now() + kill_seconds)
    end
  end
  if terminated and not self.terminated then
    self.terminated = true
    if not self.started then return true end
    self:send_all("terminate\n")
  end
  return actor.now() >= self.kill_at
end

function Run:start(plan)
  for _, host in ipairs(self.hosts) do
    local number, why = launch.start { path = host.words[1], words = { unpack(host.words, 2) }, piped = true }
    if not number then return nil, why end
    host.number, host.phase, host.output, host.error, host.shell = number, "starting", "", "", plan.shell
    self.by_program[number] = host
  end
  return true
end

-- Gives the job to all hosts once each of them is ready.
function Run:begin()
  self.started = true
  for _, host in ipairs(self.hosts) do
    host.phase = "running"
    launch.send(host.number, far_side.encode(host.request))
    local rest = host.output
    host.output = ""
    show_lines(host, "output", rest)
  end
end

-- Fails if hosts are not ready in time.
function Run:check_start(plan)
  if #self.failures == 0 and actor.now() >= self.give_up then
    for _, host in ipairs(self.hosts) do
      if host.phase == "starting" then
        self:fail(host, ("it has not replied within %s (--start-timeout)"):format(text.seconds(plan.start_timeout)))
      end
    end
  end
  return #self.failures > 0 and (actor.now() >= self.give_up or self.ready + #self.failures == #self.hosts)
end

local function run_plan(plan)
  local run = setmetatable({
    hosts = plan.hosts, by_program = {}, left = #plan.hosts, ready = 0, failures = {}, lines = {}, worst = 0, presses = 0,
    give_up = actor.now() + plan.start_timeout, kill_at = math.huge,
  }, Run)
  launch.signals()
  local fine, why = run:start(plan)
  if not fine then
    report("%s", why)
    return 3
  end
  while run.left > 0 do
    local what, number, value = launch.next(0.1)
    if what then run:take(what, number, value) end
    if run:check_signals() then break end
    if not run.started and run.ready == #run.hosts then run:begin() end
    if not run.started and run:check_start(plan) then break end
  end
  run:kill_all()
  for _, line in ipairs(#run.failures > 0 and run.failures or run.lines) do report("%s", line) end
  if #run.failures > 0 then report("the job has not started") end
  if run.interrupted then return 130 end
  if #run.failures > 0 then return 3 end
  return run.terminated and math.max(run.worst, 143) or run.worst
end

local function main()
  if actor.args[1] == "--far-side" then return far_side.run() end
  local own, words, job, arguments = divided(actor.args)
  actor.args = own
  local values, rest, fail = flags.command("launch", list, usage)
  if not values then return rest end
  if not words then return fail(2, job) end
  local plan, wrong = plan_of(values, job, words, arguments)
  if not plan then return fail(2, wrong) end
  for _, host in ipairs(plan.hosts) do host.program = values.program end
  if values["dry-run"] then
    show_plan(plan)
    return 0
  end
  return run_plan(plan)
end

return main()
