-- Sorts records of 100 bytes by their first 10: `actorhost -n 4 examples/terasort.lua [--input PATH] [--records 100000]
-- [--output FOLDER]`. A record is a line of 99 bytes; without a path the job generates records from the seed.
local actor = require "actor"
local mr = require "actor.mapreduce"

local opt = actor.options { input = "", records = 100000, output = "terasort.sorted" }
local seed, KEY = actor.seed, 10

local function record(i)
  local random, key = actor.rng(seed, i), {}
  for k = 1, KEY do key[k] = string.char(random:int(33, 126)) end
  return ("%s %022d %s"):format(table.concat(key), i, ("x"):rep(65))
end

local records = opt.input ~= "" and mr.load(opt.input) or mr.generate(opt.records, record)

-- Texts sort by their bytes, so records sort by their keys, and no record has to enter Lua.
local saved = records:sort_by(mr.identity):save(opt.output, { overwrite = true })
print(("%d records in %d parts, %d bytes"):format(saved.rows, saved.files, saved.bytes))

-- Checks the files: counts the records, and checks that their keys ascend.
local function check_rows(rows)
  local found = { n = 0, ordered = true }
  for line in rows do
    local key = line:sub(1, KEY)
    found.n, found.first, found.ordered = found.n + 1, found.first or key, found.ordered and key >= (found.last or key)
    found.last = key
  end
  return { found }
end

local n, ordered, last = 0, true, ""
for _, part in ipairs(mr.load(opt.output):map_partition(check_rows):collect()) do
  n, ordered, last = n + part.n, ordered and part.ordered and (part.first or last) >= last, part.last or last
end
print(("%d records read back, %s"):format(n, ordered and "in order" or "NOT in order"))
assert(ordered and n == saved.rows)
