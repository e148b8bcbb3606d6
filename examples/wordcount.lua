-- Counts the words of files: `actorhost -n 4 examples/wordcount.lua [PATH|FOLDER|GLOB] [TOP]`. Without a path, those of
-- this repository's README.md.
local actor = require "actor"
local mr = require "actor.mapreduce"

local path, top = ...
path = path or (actor.args[0]:match("^(.*)/") or ".") .. "/../README.md"

local counts = mr.load(path)
  :flatmap(function(line) return line:gmatch("%S+") end)
  :map(string.lower)
  :filter(function(word) return #word > 2 end)
  :map(function(word) return word, 1 end)
  :reduce_by_key(function(a, b) return a + b end)
  :collect()

table.sort(counts, function(a, b) return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1]) end)
print(("%d different words"):format(#counts))
for i = 1, math.min(tonumber(top) or 10, #counts) do print(("%8d  %s"):format(counts[i][2], counts[i][1])) end
