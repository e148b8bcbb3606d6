--- The part of `actorhost launch` that runs on a host: it receives the job's files through its standard input, starts
--- the job, and ends the job when its input ends, because the connection is then lost or `launch` has ended.
local actor = require("actor")
local codec = require("actor.codec")
local files = require("actor.c.files")
local launch = require("actor.c.launch")

local M = {}

---The first line of the far side, followed by its version.
M.greeting = "actorhost-launch "

---@class actor.launch.Request
---@field files actor.launch.File[]
---@field words string[] flags of the job
---@field rules table<string, string> the flags --barrier and --merge with a file: "barrier/FILE.lua:NAME"
---@field script string "job/SCRIPT"
---@field arguments string[] of the job
---@field variables table<string, string> of the environment
---@field folder string working folder of the job, if the host has it
---@field token string empty: the job has --insecure
---@field grace number seconds from SIGTERM until the job is killed

---Encodes a request for the far side's input.
---@param request actor.launch.Request
---@return string
function M.encode(request)
  local bytes = codec.encode(request)
  return ("%d\n%s"):format(#bytes, bytes)
end

-- Returns the request and the input after it; nil if the input ends before.
local function await_request()
  local parts, got, size = {}, 0, nil
  while not size or got < size do
    local what, _, more = launch.next(1)
    if what == "input" then
      if more == "" then return nil end
      parts[#parts + 1], got = more, got + #more
      local digits = not size and table.concat(parts):match("^(%d+)\n")
      if digits then size = #digits + 1 + tonumber(digits) end
    end
  end
  local text = table.concat(parts)
  return codec.decode(text:sub(text:find("\n", 1, true) + 1, size)), text:sub(size + 1)
end

-- Writes the job's files and its token; returns the folder.
local function written(request)
  local folder = assert(launch.folder(request.token))
  for _, file in ipairs(request.files) do
    local path = folder .. "/" .. file.name
    assert(files.make_directory(path:match("^(.*)/[^/]*$")))
    assert(files.replace(path, file.text))
  end
  return folder
end

local function start(request, folder)
  local words = { "run" }
  for _, word in ipairs(request.words) do words[#words + 1] = word end
  if request.token ~= "" then
    words[#words + 1] = "--token-file"
    words[#words + 1] = folder .. "/token"
  end
  for flag, file in pairs(request.rules) do
    words[#words + 1] = flag
    words[#words + 1] = folder .. "/" .. file
  end
  words[#words + 1] = folder .. "/" .. request.script
  for _, word in ipairs(request.arguments) do words[#words + 1] = word end
  local there = io.open(request.folder .. "/.")
  local program = { words = words, variables = request.variables, folder = request.folder }
  if there then
    there:close()
  else
    program.folder = os.getenv("HOME") or "/"
    io.stderr:write(("this host has no folder %s, so the job runs in %s\n"):format(request.folder, program.folder))
  end
  return launch.start(program)
end

-- Seconds after a signal until the job is killed: the time that a job takes to stop.
local stop_seconds = 10

-- Waits for the job's end. `text` is the input after the request.
local function follow(job, text, request)
  local kill_at
  local function stop(signal, seconds)
    launch.signal(job, signal)
    kill_at = math.min(kill_at or math.huge, actor.now() + seconds)
  end
  while true do
    local what, number, value = launch.next(0.2)
    if what == "end" and number == job then return value end
    if what == "input" and value == "" then
      stop("TERM", request.grace + stop_seconds)
    elseif what == "input" then
      text = text .. value
    end
    for word in text:gmatch("([^\n]*)\n") do
      if word == "interrupt" then stop("INT", stop_seconds) end
      if word == "terminate" then stop("TERM", request.grace + stop_seconds) end
      if word == "kill" then launch.signal(job, "KILL") end
    end
    text = text:match("[^\n]*$")
    local pressed, terminated = launch.signals()
    if pressed > 0 then stop("INT", stop_seconds) end
    if terminated and not kill_at then stop("TERM", request.grace + stop_seconds) end
    if kill_at and actor.now() >= kill_at then launch.signal(job, "KILL") end
  end
end

---Runs the far side.
---@return integer the job's exit code
function M.run()
  launch.signals()
  launch.watch_input()
  io.stdout:write(M.greeting, actor.version, "\n")
  io.stdout:flush()
  local request, text = await_request()
  if not request then return 3 end -- the other side has ended
  local fine, result = pcall(written, request)
  if not fine then
    io.stderr:write("actorhost launch: the job's files cannot be written: ", tostring(result), "\n")
    return 3
  end
  local job, why = start(request, result)
  if not job then
    io.stderr:write("actorhost launch: ", why, "\n")
    return 3
  end
  return follow(job, text, request)
end

return M
