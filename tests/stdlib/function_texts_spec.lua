-- The texts of functions, as the fingerprints of pipelines contain them.
local function_texts = require("actor.mapreduce.function_texts")

test("a function's text consists of its tokens, regardless of comments and layout", function()
  local one = function_texts.of("local f = function(x) return x + 1 end")
  local other = function_texts.of("\n\nlocal g = function (x) -- a comment with end\n  return x+1 --[[ long\nend ]]\nend -- f")
  equal(one["1-1"], "function ( x ) return x + 1 end\n")
  equal(other["3-6"], one["1-1"])
end)

test("an end in a string or a comment does not end a function", function()
  local text = [==[
local f = function(s) -- end
  if s == "end \" end" or s == 'end \' end' then return [[ end ]] end
  for i = 1, 2 do while false do end end
  repeat local x = function() return "--" end until true
  return s.ending
end
local tail = 1]==]
  local texts = function_texts.of(text)
  equal(texts["1-6"]:match("ending end\n$"), "ending end\n")
  equal(texts["4-4"], 'function ( ) return "--" end\n')
end)

test("functions on the same line form one text, without the code around them", function()
  local texts = function_texts.of("rows:map(function(x) return x end):filter(function(x) return x > 0 end):save('a')")
  equal(texts["1-1"], "function ( x ) return x end\nfunction ( x ) return x > 0 end\n")
  equal(function_texts.of("rows:map(function(x) return x end):filter(function(x) return x > 0 end):save('b')"), texts)
end)

test("parsing terminates on any text, also on invalid Lua", function()
  for _, text in ipairs { "", "'", "[[", "--[==[ x", "end end function", "\"\\", "function f(" , "x = 0x1p4 .. 1e+5 ~= y" } do
    equal(type(function_texts.of(text)), "table")
  end
end)
