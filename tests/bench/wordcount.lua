-- The job of tests/bench/wordcount: counts the words of a file and prints a line for each word, with Lua functions or
-- with native functions.
local mr = require "actor.mapreduce"

local path, how = ...
local words = mr.load(path)
if how == "native" then
  words = words:flatmap(mr.words):map(mr.one):reduce_by_key(mr.sum)
else
  words = words:flatmap(function(line) return line:gmatch("%S+") end)
    :map(function(word) return word, 1 end)
    :reduce_by_key(function(a, b) return a + b end)
end
for _, pair in ipairs(words:collect()) do print(pair[1] .. " " .. pair[2]) end
