-- actorhost dashboard --replay FILE.jsonl [ADDR]: the page of a recorded run.
local command = require("actor.c.command")
local dashboard = require("actor.c.dashboard")
local flags = require("actor.flags")

local list = {
  { name = "replay", value = "FILE", help = "a file written by a run's --record FILE.jsonl" },
  { name = "help", help = "this page" },
}

local usage = [[
usage: actorhost dashboard --replay FILE.jsonl [HOST:PORT]

The page of a recorded run, at 127.0.0.1:8787 or the given address. Port 0: any free port.
A live run serves the same page with actorhost --dashboard job.lua.
]]

local values, rest, fail = flags.command("dashboard", list, usage)
if not values then return rest end
if not values.replay then
  return fail(2, "--replay FILE.jsonl names the recording; a live job has its page by actorhost --dashboard job.lua")
end
if #rest > 1 then return fail(2, ("one address is enough, got '%s' and '%s'"):format(rest[1], rest[2])) end
local _, wrong, code = dashboard.replay(values.replay, rest[1] or "127.0.0.1:8787", function(url, states)
  command.err(("%d states of a run are at %s (Ctrl-C ends this)"):format(states, url))
end)
return fail(code == "bad_argument" and 2 or 3, wrong)
