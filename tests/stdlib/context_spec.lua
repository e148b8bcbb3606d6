--- The ctx of the callbacks of param.run and peer.run, and its division of keys among the live workers.
local node = { role = "worker", epoch = 0, ids = {}, rank = 0 }
function node.workers() return node.ids end
package.loaded["actor.c.node"] = node
local callbacks = require("actor.callbacks")

-- A ctx for each of these workers.
local function contexts_of(ids)
  local out = {}
  node.ids, node.role = ids, "worker"
  for i, id in ipairs(ids) do
    node.epoch, node.id, node.rank = node.epoch + 1, id, i - 1 -- a node reads its id and rank once in an epoch
    out[i] = callbacks.context(0)
  end
  return out
end

local function first_ids(n)
  local ids = {}
  for i = 1, n do ids[i] = i - 1 end
  return ids
end

local keys = {}
for i = 1, 1000 do
  keys[i] = i - 500
  keys[1000 + i] = "layer " .. i
end

-- The id of each key's owner. Fails unless there is exactly one.
local function owners(ids)
  local out, counts = {}, {}
  for _, ctx in ipairs(contexts_of(ids)) do
    for _, key in ipairs(keys) do
      if ctx.owns(key) then
        if out[key] then error(("key %s has the owners %d and %d"):format(key, out[key], ctx.id)) end
        out[key], counts[ctx.id] = ctx.id, (counts[ctx.id] or 0) + 1
      end
    end
  end
  for _, key in ipairs(keys) do
    if not out[key] then error(("key %s has no owner"):format(key)) end
  end
  return out, counts
end

test("each key has exactly one owner among 1 to 64 workers, and the division is even", function()
  for n = 1, 64, spec_mode == "normal" and 1 or 21 do
    local _, counts = owners(first_ids(n))
    local mean = #keys / n
    for id = 0, n - 1 do
      local off = (counts[id] or 0) - mean
      if math.abs(off) > 5 * math.sqrt(mean) then
        error(("worker %d of %d owns %d keys instead of about %.0f"):format(id, n, counts[id] or 0, mean))
      end
    end
  end
end)

test("a departed worker's keys move, and no others", function()
  local ids = { 0, 3, 4, 7, 12, 40, 41, 100 }
  local before = owners(ids)
  table.remove(ids, 4)
  local after, counts = owners(ids)
  local moved = {}
  for _, key in ipairs(keys) do
    if before[key] == 7 then
      moved[after[key]] = (moved[after[key]] or 0) + 1
    else
      equal(after[key], before[key])
    end
  end
  for _, id in ipairs(ids) do equal(moved[id] > 0 and counts[id] > moved[id], true) end
end)

test("a new worker takes its keys from all, and no other key moves", function()
  local before, after = owners(first_ids(9)), owners(first_ids(10))
  local taken, from = 0, {}
  for _, key in ipairs(keys) do
    if after[key] ~= before[key] then
      equal(after[key], 9)
      taken, from[before[key]] = taken + 1, true
    end
  end
  near(taken, #keys / 10, 5 * math.sqrt(#keys / 10))
  for id = 0, 8 do equal(from[id], true) end
end)

test("the owners are the same on every machine", function()
  local got = owners { 0, 1, 2, 5 }
  local text = {}
  for i, key in ipairs { 1, 2, 3, 4, -7, "layer 1", "layer 2", "layer 3" } do text[i] = got[key] end
  equal(table.concat(text, " "), "0 2 0 2 1 2 5 1")
end)

test("a ctx has the membership of its own step", function()
  local before = contexts_of { 0, 1, 2 }
  local after = contexts_of { 1, 2 }
  equal({ before[2].id, before[2].rank, before[2].size }, { 1, 1, 3 })
  equal({ after[1].id, after[1].rank, after[1].size }, { 1, 0, 2 })
  local moved = 0
  for _, key in ipairs(keys) do
    if after[1].owns(key) and not before[2].owns(key) then moved = moved + 1 end
    if before[2].owns(key) then equal(after[1].owns(key), true) end
  end
  equal(moved > 0, true)
end)

test("on a server a ctx has no id and no rank, and owns nothing", function()
  contexts_of { 0, 1 }
  node.epoch, node.role, node.id, node.rank = node.epoch + 1, "server", nil, nil
  local ctx = callbacks.context(7, { updates = 3 })
  equal({ ctx.step, ctx.updates, ctx.size, ctx.id or "none", ctx.rank or "none", ctx.owns(1) },
    { 7, 3, 2, "none", "none", false })
  contexts_of {} -- all workers are lost
  node.epoch, node.role, node.id, node.rank = node.epoch + 1, "server", nil, nil
  equal(callbacks.context(7).owns(1), false)
end)

test("a wrong field or key is an error at the user's line", function()
  local ctx = contexts_of({ 0 })[1]
  raises(function() return ctx.ranks end, "context_spec.lua:%d+: there is no ctx.ranks; did you mean ctx.rank%?")
  raises(function() ctx.owns() end, "context_spec.lua:%d+: ctx.owns: key: expected a string or number, got n")
  raises(function() ctx.owns({}) end, "ctx.owns: key: expected a string or number, got table")
  raises(function() ctx.owns(0 / 0) end, "ctx.owns: key: ")
end)
