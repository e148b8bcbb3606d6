-- Fills an evaluator's batch with each recorded view, by hand, and prints the number of different decisions.
local text, path, seed = ...
local ffi = require "ffi"
local barrier = require "actor.barrier"
local evaluator = barrier.evaluator(load(text, "@rule.lua", "t")(), tonumber(seed))
local asking = evaluator.asking
-- Progress without workers, so that the view comes from the arrays alone.
local nobody = barrier.progress()
require("actor.ffi")("barrier").progress_begin(nobody.handle, 0, 0, asking)

local types = { "uint32_t", "int32_t", "uint8_t", "uint8_t", "double", "double", "double", "double" }
local fields = { "ids", "steps", "busy", "alive", "pulled", "started", "durations", "averages" }
local askings, passes, different = 0, 0, 0
for line in io.lines(path) do
  local numbers, at = {}, 7
  for word in line:gmatch("%S+") do numbers[#numbers + 1] = tonumber(word) end
  local now, id, step, waited, buffered, n = unpack(numbers, 1, 6)
  local kept = { ffi.new("uint32_t[?]", n), ffi.new("double[?]", n), ffi.new("uint32_t[1]"), ffi.new("ah_decision[1]") }
  for k, field in ipairs(fields) do
    local array = ffi.new(types[k] .. "[?]", n)
    for i = 0, n - 1 do array[i], at = numbers[at], at + 1 end
    asking[field], kept[#kept + 1] = array, array
  end
  local everyone = asking.everyone
  everyone.slots, everyone.n, everyone.lowest, everyone.highest = kept[1], n, math.huge, -math.huge
  for i = 0, n - 1 do
    kept[1][i] = i
    everyone.lowest = math.min(everyone.lowest, asking.steps[i])
    everyone.highest = math.max(everyone.highest, asking.steps[i])
    if asking.ids[i] == id then kept[3][0] = i end
  end
  assert(asking.ids[kept[3][0]] == id and asking.steps[kept[3][0]] == step and at == #numbers - 1)
  for i = 0, n - 1 do kept[2][i] = now - waited end
  kept[4][0].recheck_seconds = math.huge
  asking.asked, asking.asking, asking.decisions = kept[2], kept[3], kept[4]
  asking.now, asking.population, asking.buffered, asking.count, asking.live = now, n, buffered, 1, 1
  evaluator.answer_one()
  askings, passes = askings + 1, passes + kept[4][0].pass
  if kept[4][0].pass ~= numbers[at] or kept[4][0].recheck_seconds ~= numbers[at + 1] then different = different + 1 end
end
print(("%d %d %d"):format(askings, passes, different))
