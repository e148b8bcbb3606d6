--- Compression filters: their results, error feedback, texts, wrong calls.
local filter = require("actor.filter")
local tensor = require("actor.tensor")

local function round_trip(f, t, key)
  local back, message = filter.decode(f:encode(t, key))
  if not back then error(message) end
  return back
end

local function largest_error(a, b) return (a - b):abs():max() end

test("tensors keep their shape and type in a round trip, with the accuracy of the filter", function()
  for _, dtype in ipairs({ "float32", "float64" }) do
    local t = tensor.normal({ 30, 50 }, { seed = 1, dtype = dtype })
    local reach = t:abs():max()
    for text, bound in pairs({ none = 0, fp16 = reach * 2 ^ -11, int8 = 2 * reach / 510 * 1.001, ["topk:1500"] = 0,
      ["topk:1500+fp16"] = reach * 2 ^ -11 }) do
      local back = round_trip(filter.from(text), t)
      equal(back.shape, { 30, 50 })
      equal(back.dtype, dtype)
      holds(largest_error(back, t), "<=", bound)
    end
  end
end)

test("top-k retains the largest elements, also of views and odd sizes", function()
  local t = tensor.new({ 1, -5, 2, 0, 5, -3 })
  equal(round_trip(filter.topk { count = 2 }, t):totable(), { 0, -5, 0, 0, 5, 0 })
  equal(round_trip(filter.topk { fraction = 0.4 }, t):totable(), { 0, -5, 0, 0, 5, -3 })
  local turned = tensor.new({ { 1, 2, 3 }, { 4, 5, 6 } }):transpose()
  equal(round_trip(filter.none(), turned):totable(), { { 1, 4 }, { 2, 5 }, { 3, 6 } })
  for _, text in ipairs({ "none", "fp16", "int8", "topk:0.5", "topk:3+int8" }) do
    local f = filter.from(text)
    equal(round_trip(f, tensor.zeros(0)).shape, { 0 })
    equal(round_trip(f, tensor.zeros({ 3, 0, 2 })).shape, { 3, 0, 2 })
    equal(round_trip(f, tensor.new({ 7 })):totable(), { 7 })
  end
end)

test("signs and random elements", function()
  local t = tensor.new({ 1, -5, 3, -3 })
  equal(round_trip(filter.sign { feedback = false }, t):totable(), { 3, -3, 3, -3 })
  local two = round_trip(filter.from "randk:2@plain", t)
  equal((two:ne(0)):sum(), 2)
  equal(round_trip(filter.from "topk:2+sign@plain", t):abs():max(), 4)
  equal(tostring(filter.chain(filter.randk { fraction = 0.5 }, "sign")), "randk:0.5+sign")
  local f, sum = filter.from "randk:0.25", tensor.zeros(4)
  for _ = 1, 200 do sum:add_(round_trip(f, t, "w")) end
  holds(largest_error(sum / 200, t), "<", 1) -- what is not chosen is sent later
  raises(function() filter.from "sign:2" end, "sign takes no number")
  raises(function() filter.from "randk" end, "randk takes a share of the elements %(randk:0.01%)")
  raises(function() filter.of_param({ pull = "sign" }, false) end, "of values the signs are not enough")
  raises(function() filter.of_param({ push = "sign" }, true) end, "its signs are not enough")
  raises(function() filter.of_param({ push = "randk:2" }, true) end, "topk and randk send parts of updates")
end)

test("the byte counters include tensors and strings", function()
  local f = filter.int8()
  equal(f:stats(), { before = 0, after = 0, ratio = 1 })
  local t = tensor.normal(10000, { seed = 2 })
  local size = #f:encode(t) + #f:encode(t)
  equal(f:stats(), { before = 80000, after = size, ratio = 80000 / size })
  holds(f:stats().ratio, ">", 3.9)
  f:reset()
  equal(f:stats().before, 0)
  local sparse = filter.from("topk:0.01+fp16")
  sparse:encode(t)
  holds(sparse:stats().ratio, ">", 90)
end)

test("error feedback sends the omitted rest later, separately for each key", function()
  local t = tensor.new({ 4, 3, 2, 1 })
  local f = filter.topk { count = 1 }
  local sum = tensor.zeros(4)
  for _ = 1, 100 do
    sum:add_(round_trip(f, t, "w"))
    equal(round_trip(f, t, "fresh" .. _):totable(), { 4, 0, 0, 0 })
  end
  -- No element lags by more than the time for a few rounds over all elements.
  holds(largest_error(sum / 100, t), "<", 0.25)
  local plain = filter.topk { count = 1, feedback = false }
  equal(round_trip(plain, t, "w"):totable(), { 4, 0, 0, 0 })
  equal(round_trip(plain, t, "w"):totable(), { 4, 0, 0, 0 })
  f:reset()
  equal(round_trip(f, t, "w"):totable(), { 4, 0, 0, 0 })
  equal(round_trip(f, t, "w"):totable(), { 0, 6, 0, 0 })
end)

test("fp16 retains rounding errors with feedback", function()
  local third = tensor.full(8, 1 / 3)
  local function mean_of(f)
    local sum = tensor.zeros(8)
    for _ = 1, 1000 do sum:add_(round_trip(f, third)) end
    return sum:get(1) / 1000
  end
  holds(math.abs(mean_of(filter.fp16()) - 1 / 3), ">", 5e-5)
  near(mean_of(filter.fp16 { feedback = true }), 1 / 3, 2e-6)
end)

test("a tensor of another size or type resets the feedback of its key", function()
  local f = filter.topk { count = 1 }
  f:encode(tensor.new({ 2, 1 }))
  equal(round_trip(f, tensor.new({ 3, 2, 1 })):totable(), { 3, 0, 0 })
  equal(round_trip(f, tensor.new({ 2, 1 })):totable(), { 2, 0 })
end)

test("filters have texts, and texts make filters", function()
  for text, same in pairs({
    none = filter.none(), fp16 = filter.fp16(), ["int8:256"] = filter.int8 { block = 256 },
    ["topk:0.01+fp16"] = filter.chain(filter.topk { fraction = 0.01 }, filter.fp16()),
    ["topk:100@plain"] = filter.topk { count = 100, feedback = false },
    ["fp16@feedback"] = filter.chain(filter.none(), filter.fp16 { feedback = true }),
    ["topk:5+int8@feedback"] = filter.chain("topk:5", filter.int8 { feedback = true }),
  }) do
    equal(tostring(same), text)
    equal(tostring(filter.from(text)), text)
    equal(filter.from(same) == same, true)
    equal(filter.is_filter(same), true)
  end
  equal(tostring(filter.from(" topk:0.5 + int8 ")), "topk:0.5+int8")
  equal(filter.is_filter({ values = "raw" }), false)
end)

test("errors of wrong calls name the fix", function()
  local function wrong(pattern, body) raises(body, "^filter_spec.lua:%d+: .*" .. pattern) end
  wrong("unknown option 'blok' to filter.int8", function() filter.int8 { blok = 3 } end)
  wrong("bad argument 'block' to filter.int8: expected an integer from 16 to 65536, got 8", function() filter.int8 { block = 8 } end)
  wrong("filter.topk: give fraction= %(of the elements%) or count= %(of elements%)$", function() filter.topk {} end)
  wrong("not both", function() filter.topk { fraction = 0.1, count = 2 } end)
  wrong("bad argument 'fraction' to filter.topk: expected a number above 0, at most 1 %(count= takes", function() filter.topk { fraction = 5 } end)
  wrong("expected a number above 0", function() filter.topk { fraction = 0 / 0 } end)
  wrong("put topk or randk before fp16: filter.chain%(filter.topk{...}, filter.fp16%(%)%)", function() filter.from("fp16+topk:3") end)
  wrong("fp16 and int8 both set the encoding of values", function() filter.chain("fp16", "int8") end)
  wrong("more than one topk", function() filter.chain("topk:5", "topk:3") end)
  wrong("filter 'fp61': 'fp61' is no filter; known are none, fp16, .*; did you mean fp16%?", function() filter.from("fp61") end)
  wrong("filter 'topk': topk takes a share of the elements %(topk:0.01%)", function() filter.from("topk") end)
  wrong("not '1.5'", function() filter.from("topk:1.5") end)
  wrong("int8:BLOCK takes the elements of a block, 16 to 65536, not '3'", function() filter.from("int8:3") end)
  wrong("'@sticky' is neither @feedback nor @plain", function() filter.from("int8@sticky") end)
  wrong("bad argument 'text' to filter.from: expected a text", function() filter.from({}) end)
  wrong("bad argument '#2' to filter.chain: expected a filter or its text, got number", function() filter.chain("fp16", 3) end)
  wrong("bad argument 'tensor' to filter:encode: expected a tensor, got table", function() filter.fp16():encode({}) end)
  wrong("filter:encode: key: expected a string or number, got boolean", function() filter.int8():encode(tensor.zeros(2), true) end)
  wrong("bad argument 'bytes' to filter.decode: expected string, got number", function() filter.decode(3) end)
end)

test("the filters of a parameter server are checked", function()
  local function wrong(pattern, body) raises(body, "^filter_spec.lua:%d+: .*" .. pattern) end
  local of = filter.of_param({ push = "topk:0.1+int8", pull = "int8" }, false)
  equal(of.push.feedback, true)
  equal(of.pull.feedback, true)
  equal(filter.of_param({ pull = "fp16" }, false).pull.feedback, false)
  equal(filter.of_param({ pull = "fp16@feedback" }, false).pull.feedback, true)
  equal(filter.of_param({ push = "int8@plain" }, false).push.feedback, false)
  equal(filter.of_param({ push = "int8" }, true).push.feedback, false)
  wrong("param.run, filter.push: topk and randk send parts of updates, but without pull=", function()
    filter.of_param({ push = "topk:3" }, true)
  end)
  wrong("param.run, filter.pull: with topk or randk all elements of a value but the sent would be 0", function()
    filter.of_param({ pull = "topk:3" }, false)
  end)
end)

test("invalid and truncated bytes are rejected", function()
  local bytes = filter.from("topk:0.3+int8"):encode(tensor.normal(200, { seed = 3 }))
  for n = 0, #bytes - 1 do
    local back, message, code = filter.decode(bytes:sub(1, n))
    equal({ back, code }, { nil, "bad_data" })
    equal(type(message), "string")
  end
  equal(select(3, filter.decode(bytes .. "x")), "bad_data")
  -- A few bytes that claim a size of more than a gigabyte.
  local huge = "\0\2" .. ("\0\0\1\0\0\0\0\0"):rep(2) .. "\1\0\1\0\0\0\0\0"
  equal(select(3, filter.decode(huge)), "bad_data")
end)

test("a collected filter releases its feedback", function()
  for _ = 1, 50 do
    local f = filter.int8()
    f:encode(tensor.normal(1000, { seed = 4 }), "w")
  end
  collectgarbage()
  collectgarbage()
  equal(round_trip(filter.int8(), tensor.ones(10)):totable(), tensor.ones(10):totable())
end)
