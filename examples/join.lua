-- Joins two small tables by key in three ways: `actorhost -n 2 examples/join.lua`.
local mr = require "actor.mapreduce"

local names = mr.parallelize { { 1, "Ada" }, { 2, "Grace" }, { 3, "Edsger" } }
local orders = mr.parallelize { { 1, "tea" }, { 3, "chess" }, { 1, "paper" }, { 4, "ink" } }

print("join: what each person ordered")
for _, row in ipairs(names:join(orders):sort_by_key():collect()) do
  local key, name, thing = row[1], row[2][1], row[2][2]
  print(("  %d  %-6s  %s"):format(key, name, thing))
end

print("left_outer_join: also people without orders")
for _, row in ipairs(names:left_outer_join(orders):sort_by_key():collect()) do
  local key, name, thing = row[1], row[2][1], row[2][2]
  print(("  %d  %-6s  %s"):format(key, name, thing or "-"))
end

print("cogroup: all values of each key")
for _, row in ipairs(names:cogroup(orders):sort_by_key():collect()) do
  local key, found_names, things = row[1], row[2][1], row[2][2]
  print(("  %d  %-6s  %s"):format(key, found_names[1] or "?", #things > 0 and table.concat(things, ", ") or "nothing"))
end
