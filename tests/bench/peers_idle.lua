-- The share of a core that N idle workers of one process use as peers, beside N workers without the peer engine.
-- Usage: luajit tests/bench/peers_idle.lua PROGRAM [N], where PROGRAM is a built actorhost.
local program, n = assert(arg[1], "peers_idle.lua PROGRAM [N]"), tonumber(arg[2] or 64)

local function run(command)
  local pipe = assert(io.popen(command))
  local out = pipe:read("*a")
  pipe:close()
  return out
end

local function write_job(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write('local actor = require "actor"\n', text, "actor.sleep(40)\n")
  file:close()
  return path
end

-- Ticks of a hundredth of a second, user and system time.
local function ticks(pid)
  local file = assert(io.open("/proc/" .. pid .. "/stat"))
  local fields, i = file:read("*a"):match(".*%) (.*)"), 0
  file:close()
  local sum = 0
  for field in fields:gmatch("%S+") do
    i = i + 1
    if i == 12 or i == 13 then sum = sum + tonumber(field) end
  end
  return sum
end

local function idle(text)
  local job = write_job(text)
  local pid = run(string.format("%s -n %d --log-level warn %s > /dev/null 2>&1 & echo $!", program, n, job)):match("%d+")
  run("sleep 15")
  local before = ticks(pid)
  run("sleep 20")
  local share = (ticks(pid) - before) / 20
  while run("kill -0 " .. pid .. " 2>/dev/null && echo alive") ~= "" do run("sleep 0.5") end
  os.remove(job)
  return share
end

local none, peers = idle(""), idle("actor.peer.size_estimate()\n")
print(string.format("%d idle workers: %.2f %% of a core; as peers: %.2f %%", n, none, peers))
