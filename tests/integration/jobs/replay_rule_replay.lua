-- Fills an evaluator's batch with each recorded view, by hand, and prints the number of different decisions.
local text, path, seed = ...
local ffi = require "ffi"
local barrier = require "actor.barrier"
local evaluator = barrier.evaluator(load(text, "@rule.lua", "t")(), tonumber(seed))
local batch = evaluator.batch
-- Progress without workers, so that the view comes from the arrays alone.
local no_workers = barrier.progress()
require("actor.ffi")("barrier").progress_begin(no_workers.handle, 0, 0, batch)

local types = { "uint32_t", "int32_t", "uint8_t", "uint8_t", "double", "double", "double", "double" }
local fields = { "ids", "steps", "busy", "alive", "pulled", "started", "durations", "averages" }
local evaluations, passes, different = 0, 0, 0
for line in io.lines(path) do
  local numbers, at = {}, 7
  for word in line:gmatch("%S+") do numbers[#numbers + 1] = tonumber(word) end
  local now, id, step, waited, buffered, n = unpack(numbers, 1, 6)
  local arrays = { ffi.new("uint32_t[?]", n), ffi.new("double[?]", n), ffi.new("uint32_t[1]"), ffi.new("ah_decision[1]") }
  for k, field in ipairs(fields) do
    local array = ffi.new(types[k] .. "[?]", n)
    for i = 0, n - 1 do array[i], at = numbers[at], at + 1 end
    batch[field], arrays[#arrays + 1] = array, array
  end
  local everyone = batch.everyone
  everyone.slots, everyone.n, everyone.lowest, everyone.highest = arrays[1], n, math.huge, -math.huge
  for i = 0, n - 1 do
    arrays[1][i] = i
    everyone.lowest = math.min(everyone.lowest, batch.steps[i])
    everyone.highest = math.max(everyone.highest, batch.steps[i])
    if batch.ids[i] == id then arrays[3][0] = i end
  end
  assert(batch.ids[arrays[3][0]] == id and batch.steps[arrays[3][0]] == step and at == #numbers - 1)
  for i = 0, n - 1 do arrays[2][i] = now - waited end
  arrays[4][0].recheck_seconds = math.huge
  batch.requested_at, batch.waiting, batch.decisions = arrays[2], arrays[3], arrays[4]
  batch.now, batch.population, batch.buffered, batch.count, batch.live = now, n, buffered, 1, 1
  evaluator.evaluate_one()
  evaluations, passes = evaluations + 1, passes + arrays[4][0].pass
  if arrays[4][0].pass ~= numbers[at] or arrays[4][0].recheck_seconds ~= numbers[at + 1] then different = different + 1 end
end
print(("%d %d %d"):format(evaluations, passes, different))
