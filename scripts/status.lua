-- actorhost status [--attach [HOST:PORT]] [--json] [--sort COLUMN]: the state of a run, once.
local actor = require("actor")
local attach = require("actor.inspect.attach")
local command = require("actor.c.command")
local flags = require("actor.flags")
local nodes = require("actor.inspect.nodes")
local screen = require("actor.c.screen")

local list = {
  { name = "json", help = "the state as JSON, with every section" },
  { name = "sort", value = "COLUMN", default = "rank", help = table.concat(nodes.orders(), ", ") },
  { name = "help", help = "this page" },
}
for i, flag in ipairs(attach.flags) do table.insert(list, i, flag) end

local sections = { "barrier", "keys", "links", "stages", "members", "log", "series", "histograms" }

local function fail(code, message)
  command.err("actorhost status: " .. message)
  return code
end

local values, rest = flags.parse(list, actor.args)
if not values then return fail(2, rest) end
if values.help then
  print("usage: actorhost status [flags]\n\nThe state of a run: what each node does, since when, and how much it waits.\n")
  print(flags.help(list))
  return 0
end
if #rest > 0 then return fail(2, ("'%s' is not understood; --attach takes the run's address"):format(rest[1])) end
local known = {}
for _, name in ipairs(nodes.orders()) do known[name] = true end
if not known[values.sort] then return fail(2, ("--sort wants one of %s, got '%s'"):format(table.concat(nodes.orders(), ", "), values.sort)) end
local connection, wrong = attach.attach(values, { read_only = true })
if not connection then return fail(3, wrong) end
if values.json then
  local text, why = connection:state_text(sections)
  if not text then return fail(3, why) end
  print(text)
  return 0
end
local state, why = connection:state()
if not state then return fail(3, why) end
print(nodes.headline(state))
print(nodes.table(state, values.sort, { columns = screen.columns() }))
