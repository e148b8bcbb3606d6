-- actorhost status [--attach [RUN]] [--json] [--sort COLUMN]: the state of a run, once.
local attach = require("actor.inspect.attach")
local flags = require("actor.flags")
local nodes = require("actor.inspect.nodes")
local screen = require("actor.c.screen")

local list = {
  { name = "json", help = "the state as JSON, with every section" },
  { name = "sort", value = table.concat(nodes.orders(), "|"), default = "rank", help = "the order of the nodes" },
  { name = "help", help = "this page" },
}
for i, flag in ipairs(attach.flags) do table.insert(list, i, flag) end

local sections = { "barrier", "keys", "links", "stages", "members", "log", "series", "histograms" }

local usage = "usage: actorhost status [flags]\n\nThe state of a run: what each node does, since when, and how much it waits.\n"

local values, rest, fail = flags.command("status", list, usage)
if not values then return rest end
local unknown = nodes.unknown(rest)
if unknown then return fail(2, unknown) end
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
