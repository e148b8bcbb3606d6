-- For repl_test.cpp and repl_terminal_test.cpp: runs with an attached console. repl.lua JOB [...]
local actor = require("actor")
local is_there = require("meeting").is_there
local jobs = {}

-- Globals that chunks read and change.
left_by_chunks = "nothing"
words = { "first", "second" }

-- Waits in engine calls until the file exists; then prints the value that chunks have left.
function jobs.waiting(file)
  repeat actor.sleep(0.01) until is_there(file)
  if actor.rank == 0 then print("left: " .. left_by_chunks) end
end

-- Computes until the file exists, then waits as above for another file.
function jobs.computing(file, other)
  repeat
    local sum = 0
    for i = 1, 1e6 do sum = sum + i end
  until is_there(file)
  jobs.waiting(other)
end

-- Ends with an error when the file exists.
function jobs.failing(file)
  jobs.waiting(file)
  error("it ends badly")
end

local name = ...
jobs[name](select(2, ...))
