-- Counts the words of files: `actorhost -n 4 examples/wordcount.lua [PATH|FOLDER|GLOB] [TOP] [--stop-words FILE]`. Without
-- a path, those of this repository's README.md. Stop words, which are not counted, come from a file that every host has, or
-- `--stop-words english` is a short list.
local actor = require "actor"
local mr = require "actor.mapreduce"

local opt = actor.options { "PATH", "TOP", stop_words = "" }
local path = opt[1] or (actor.args[0]:match("^(.*)/") or ".") .. "/../README.md"

local english = "a an and are as at be by for from has have in is it its not of on or that the their they this to was with"
local file = opt.stop_words ~= "" and opt.stop_words ~= "english" and assert(io.open(opt.stop_words))
local stop = {}
for word in (file and file:read("*a") or opt.stop_words ~= "" and english or ""):gmatch("%S+") do stop[word:lower()] = true end

local counts = mr.load(path)
  :flatmap(function(line) return line:gmatch("%S+") end)
  :map(string.lower)
  :filter(function(word) return #word > 2 and not stop[word] end)
  :map(function(word) return word, 1 end)
  :reduce_by_key(function(a, b) return a + b end)
  :collect()

table.sort(counts, function(a, b) return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1]) end)
print(("%d different words"):format(#counts))
for i = 1, math.min(tonumber(opt[2]) or 10, #counts) do print(("%8d  %s"):format(counts[i][2], counts[i][1])) end
