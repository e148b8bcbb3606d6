-- Jobs on more data than memory: `tests/bench/within words|sort [GB [--memory 512M] [-n 2]]` runs them.
--   make-words FILE GB, make-sort FILE GB     writes lines of words, or records of 100 bytes with a random key of 10
--   words FILE OUT, sort FILE OUT             the job: counts saved, or records in order
--   check-words OUT FILE, check-sort OUT FILE checks that no word or record is missing, and that records are in order
local mr = require "actor.mapreduce"
local actor = require "actor"
local what, first, second = ...

local M = {}

-- Writes a block of `size` bytes repeatedly, each time with other letters in place of `#`.
local function write(path, gigabytes, line)
  local rng, file, bytes = actor.rng(1), assert(io.open(path, "w")), 0
  while bytes < gigabytes * 1e9 do
    local lines = {}
    for i = 1, 10000 do lines[i] = line(rng) end
    local text = table.concat(lines)
    file:write(text)
    bytes = bytes + #text
  end
  file:close()
end

M["make-words"] = function()
  write(first, tonumber(second), function(rng)
    local words = {}
    for i = 1, 12 do words[i] = ("%x"):format(rng:int(1, 2 ^ (i + 8))) end
    return table.concat(words, " ") .. "\n"
  end)
end

M["make-sort"] = function()
  local pad = ("x"):rep(89)
  write(first, tonumber(second), function(rng) return ("%010d%s\n"):format(rng:int(0, 2 ^ 33 - 1), pad) end)
end

function M.words() mr.load(first):flatmap(mr.words):map(mr.one):reduce_by_key(mr.sum):save(second) end

function M.sort() mr.load(first):sort_by(mr.identity):save(second) end

M["check-words"] = function()
  local counted = mr.load(first):map(function(line) return tonumber(line:match("\t(%d+)$")) end):sum()
  local all = mr.load(second):flatmap(mr.words):count()
  print(("%d words counted, of %d"):format(counted, all))
  assert(counted == all)
end

M["check-sort"] = function()
  local ends = mr.load(first):map_partition(function(lines)
    local n, least, last = 0, nil, ""
    for line in lines do
      if line < last then error("not in order: " .. line) end
      n, least, last = n + 1, least or line, line
    end
    return { { n, least, last } }
  end):collect()
  local n, last = 0, ""
  for _, part in ipairs(ends) do
    if part[1] > 0 then
      assert(part[2] >= last, "parts are not in order")
      n, last = n + part[1], part[3]
    end
  end
  print(("%d records in order, of %d"):format(n, mr.load(second):count()))
end

M[what]()
