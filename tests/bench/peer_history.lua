-- The jobs of peer_histories.lua. Each worker records its operations in FOLDER/NUMBER, one operation a line, with times
-- on CLOCK_MONOTONIC, and ends once the file FOLDER/stop exists.
-- Usage: peer_history.lua FOLDER registers small|spread WRITERS
--        peer_history.lua FOLDER counting small|spread native|lua RULE
local actor = require "actor"
local now = require "monotonic"
local peer, optim, tensor = actor.peer, actor.optim, actor.tensor
local folder, job, size = actor.args[1], actor.args[2], actor.args[3]

local spread = size == "spread"
local parts, part = 8, 262144 -- of a split tensor of 8 MB
local pause = spread and 0.1 or 0.005

-- A number below 14 for each worker. After the first coordinator has failed, late joiners get large ids.
local me = actor.id < 12 and actor.id or 12 + actor.id % 2

local out = assert(io.open(folder .. "/" .. me, "w"))
local function write_line(...)
  out:write(table.concat({ ... }, " "), "\n")
  out:flush()
end
local function time_text(time) return ("%.9f"):format(time) end

local function exists(name)
  local file = io.open(folder .. "/" .. name)
  if file then file:close() end
  return file ~= nil
end

-- Calls fn and writes "WORD KEY VALUE BEGIN END OUTCOME"; `outcome` returns VALUE and OUTCOME.
local function record(word, key, outcome, fn, ...)
  local begin = now()
  local called, value, step, code = pcall(fn, ...)
  local finish = now()
  local number, how, message
  if not called then
    number, how, message = -1, "error", tostring(value)
  elseif code then
    number, how, message = -1, "error", tostring(step)
  else
    number, how = outcome(value)
  end
  write_line(word, key, number, time_text(begin), time_text(finish), how)
  if message then write_line("message", (message:gsub("\n.*", ""))) end
  return called
end

-- ---- registers ----

-- Each of the first WRITERS workers writes rising numbers to its own key; all workers read all keys.
local function registers()
  local writers = tonumber(actor.args[4])
  local function read(id)
    record("get", id, function(value)
      if value == nil then return 0, "nil" end
      local least, most = value:min(), value:max()
      return least, least == most and "ok" or ("torn:" .. most)
    end, peer.get, "register " .. id)
  end
  local number = 0
  local function write()
    number = number + 1
    write_line("begin", me, number, time_text(now()))
    local value = tensor.full(spread and parts * part or 4, number)
    record("set", me, function() return number, "ok" end, peer.set, "register " .. me, value)
    if number % 20 == 0 then collectgarbage() end
  end
  local leave = "leave." .. os.getenv("HISTORY_HOST")
  local present = true
  while not exists("stop") do
    if present then
      if me < writers then write() end
      read(math.random(0, writers - 1))
    end
    actor.sleep(pause)
    if leave and exists(leave) then
      record("leave", me, function() return 0, "ok" end, peer.leave)
      leave, present = nil, math.random() < 0.5
      if not present then write_line("end", time_text(now())) end
      actor.sleep(0.3)
    end
  end
  if not present then return "left" end
  for id = 0, writers - 1 do read(id) end
end

-- ---- counting ----

-- The element of a worker, in each part.
local function elements(value, id)
  local list = {}
  for i = 1, spread and parts or 1 do list[i] = value[(i - 1) * part + id + 1] end
  return list
end

local function counting()
  local pull, rule = actor.args[4], actor.args[5]
  local workers, n = 24, spread and 2 or 6
  local keys, first, mine = {}, nil, tensor.zeros(spread and parts * part or workers)
  for i = 1, n do keys[i] = "counter " .. i end
  for i = 1, spread and parts or 1 do mine[(i - 1) * part + me + 1] = pull == "lua" and 1 or -1 end

  -- A worker sees all of its own updates and, under bsp, no update of an incomplete step.
  local function check(step, key, value)
    local own = elements(value, me)
    local least, most = math.min(unpack(own)), math.max(unpack(own))
    if least ~= step - first or most ~= step - first then
      write_line("wrong", ("%s has %g to %g of this worker's %d updates"):format(key, least, most, step - first))
    end
    if rule == "bsp" and value:max() > step then
      write_line("wrong", ("%s has an update of step %g in step %d"):format(key, value:max(), step))
    end
  end

  local summary = peer.run {
    init = function()
      local values = {}
      for _, key in ipairs(keys) do values[key] = tensor.zeros(spread and parts * part or workers) end
      return values
    end,
    schedule = function() return keys end,
    push = function(ctx, entries)
      if not first then
        first = ctx.step
        write_line("first", ctx.step, time_text(now()))
      end
      write_line("step", ctx.step - first, time_text(now()))
      local updates = {}
      for _, entry in ipairs(entries) do
        if entry[2] == nil then
          write_line("missing", ("%s in step %d"):format(entry[1], ctx.step))
        else
          check(ctx.step, entry[1], entry[2])
          updates[#updates + 1] = { entry[1], mine }
        end
      end
      actor.sleep(spread and 0.2 or 0.005)
      if ctx.step % 20 == 0 then collectgarbage() end
      return updates
    end,
    pull = pull == "native" and optim.sgd { lr = 1 } or function(_, updates)
      local new, list = {}, {}
      for _, update in ipairs(updates) do new[update[1]] = (new[update[1]] or peer.get(update[1])) + update[2] end
      for _, key in ipairs(keys) do
        if new[key] then list[#list + 1] = { key, new[key] } end
      end
      return list
    end,
    barrier = rule,
    stop = function() return exists("stop") end,
  }
  write_line("summary", summary.steps, summary.updates, time_text(now()))
  for i, key in ipairs(keys) do
    local value, message = peer.get(key)
    if value == nil then
      write_line("final", i, "nil")
      write_line("message", message)
    else
      local counts = {}
      for id = 0, workers - 1 do
        local own = elements(value, id)
        local least, most = math.min(unpack(own)), math.max(unpack(own))
        counts[#counts + 1] = least == most and ("%d"):format(least) or ("%d..%d"):format(least, most)
      end
      write_line("final", i, table.concat(counts, " "))
    end
  end
end

write_line("host", os.getenv("HISTORY_HOST"))
peer.size_estimate()
write_line("peer", time_text(now()))
local left = job == "registers" and registers()
if job == "counting" then counting() end
if left ~= "left" then write_line("end", time_text(now())) end
