-- Counts the words of files: `actorhost -n 4 examples/wordcount.lua [PATH|FOLDER|GLOB] [TOP] [--stop-words FILE]`. The
-- default file is this repository's README.md. Words have at least three letters, in any language; case is ignored. A
-- file that every host has lists the stop words, which are not counted; `--stop-words english` is a short built-in
-- list.
local actor = require "actor"
local mr, text = actor.mapreduce, actor.text

local opt = actor.options { "PATH", "TOP", stop_words = { "", about = "a file, or english" } }
local path = opt[1] or (actor.args[0]:match("^(.*)/") or ".") .. "/../README.md"

local english = "a an and are as at be by for from has have in is it its not of on or that the their they this to was with"
local file = opt.stop_words ~= "" and opt.stop_words ~= "english" and assert(io.open(opt.stop_words))
local stop = {}
local function words_of(line) return text.words(text.lower(text.nfc(line))) end -- nfc: é equals e with a combining accent
for word in words_of(file and file:read("*a") or opt.stop_words ~= "" and english or "") do stop[word] = true end

local counts = mr.load(path)
  :flatmap(words_of)
  :filter(function(word) return text.length(word) > 2 and not stop[word] end)
  :map(function(word) return word, 1 end)
  :reduce_by_key(function(a, b) return a + b end)
  :collect()

table.sort(counts, function(a, b) return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1]) end)
print(("%d different words"):format(#counts))
for i = 1, math.min(tonumber(opt[2]) or 10, #counts) do print(("%8d  %s"):format(counts[i][2], counts[i][1])) end
