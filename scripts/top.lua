-- actorhost top [--attach [RUN]] [--sort COLUMN] [--every SECONDS]: the state of a run, refreshed.
local attach = require("actor.inspect.attach")
local flags = require("actor.flags")
local nodes = require("actor.inspect.nodes")
local screen = require("actor.c.screen")

local list = {
  { name = "sort", value = table.concat(nodes.orders(), "|"), default = "rank", help = "the order of the nodes" },
  { name = "every", value = "SECONDS", kind = "number", default = 1, help = "between two refreshes" },
  { name = "count", value = "N", kind = "integer", help = "leave after N refreshes" },
  { name = "help", help = "this page" },
}
for i, flag in ipairs(attach.flags) do table.insert(list, i, flag) end

-- The keys on a terminal; the key of the current order reverses it.
local keys = { r = "rank", s = "step", w = "wait", o = "sent", i = "received", u = "queue", m = "memory", t = "state" }
local legend = "q quit  h help  sort: r rank s steps w waits o sent i in u queue m memory t state"
local help = "press a key of the list to sort by that column, and again to reverse the order; q or Ctrl-D leaves"
local leaving = { q = true, Q = true, ["\4"] = true, [""] = true }

local usage = "usage: actorhost top [flags]\n\nThe state of a run, refreshed.\n\nKeys: " .. legend .. "\n      (" .. help .. ")\n"

local function main()
  local values, rest, fail = flags.command("top", list, usage)
  if not values then return rest end
  local order, reverse, foot = values.sort, false, legend
  local unknown = nodes.unknown(rest)
  if unknown then return fail(2, unknown) end
  if not (values.every >= 0.1) then return fail(2, "--every wants at least 0.1 seconds") end
  local connection, wrong = attach.attach(values, { read_only = true })
  if not connection then return fail(3, wrong) end
  local drawn = screen.open()
  local polls = 0
  while true do
    local state, why, code = connection:state()
    if not state then
      screen.close()
      if code == "peer_lost" and polls > 0 then
        print("the run is over")
        return 0
      end
      return fail(3, why)
    end
    polls = polls + 1
    local page = nodes.headline(state) .. "\n" ..
      nodes.table(state, order, { reverse = reverse, columns = screen.columns() })
    if drawn then
      screen.draw(page .. "\n" .. foot)
    else
      print(page)
    end
    if values.count and polls >= values.count then break end
    local key = screen.key(values.every)
    if leaving[key] then break end
    if key == "h" or key == "?" then foot = foot == help and legend or help end
    if keys[key] then
      reverse = keys[key] == order and not reverse
      order = keys[key]
    end
  end
  screen.close()
  return 0
end

return main()
