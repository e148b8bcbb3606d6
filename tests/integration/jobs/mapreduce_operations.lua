-- Jobs of mapreduce_operations_test.cpp; the first argument selects the job.
local actor = require "actor"
local mr = require "actor.mapreduce"
local meeting = require "meeting"
local announce, await = meeting.announce, meeting.await

local jobs = {}

-- Worker 2 stays in its first row after a wide operation until it is killed. Its stored rows are lost with it, and so
-- are results computed from them, some of which other workers have used by then. No other worker finishes such a task
-- before.
-- case: one_stays {sort,zip_with_index,zip,join} kill: stays at: isolate
function jobs.one_stays(...)
  local met = false
  local function stay()
    if actor.id ~= 2 then
      if not met then await("worker 2 stays") end
      met = true
      return true
    end
    announce("worker 2 stays")
    meeting.stay()
  end
  local N = 20000
  local rows = mr.range(1, N, 1, 30):map(function(i) return i * 7919 % N, i end)
  local behind = {
    sort = function() return rows:sort_by_key():filter(stay):keys() end,
    zip_with_index = function() return rows:zip_with_index():filter(stay):values():map(function(i) return i - 1 end) end,
    zip = function() return rows:zip(rows:coalesce(7)):filter(stay):zip_with_index():values():map(function(i) return i - 1 end) end,
    join = function() return rows:join(rows):filter(stay):sort_by_key():keys() end,
  }
  local result = behind[...]():collect()
  assert(#result == N)
  for i, value in ipairs(result) do assert(value == i - 1, "place " .. i .. " has " .. tostring(value)) end
end

-- A loop over rows of several shapes reads a field that some rows lack: once a text, once a number.
-- case: rows_of_several_shapes at: threads:2
function jobs.rows_of_several_shapes()
  for _, present in ipairs { "a", 2 } do
    local function row(i) return i % 50 >= 48 and { k = present, v = i } or { w = 7, v = i } end
    local rows, amounts = mr.range(1, 20000):map(row):cache(), { a = 2, [2] = 2 }
    assert(rows:count() == 20000)
    local function added(of)
      local sum = 0
      for x in of do
        local k = x.k
        if k then sum = sum + amounts[k] end
      end
      return function()
        local out = sum
        sum = nil
        return out
      end
    end
    assert(rows:map_partition(added):sum() == 1600)
    local joined = rows:key_by(function(x) return x.v end):join(rows:key_by(function(x) return x.v end))
    local function both(_, pair) return (amounts[pair[1].k] or 0) + (amounts[pair[2].k] or 0) end
    assert(joined:map(both):sum() == 3200)
    local greater = rows:map(function(x) return x.v % 3, x end):reduce_by_key(function(a, b)
      return (amounts[a.k] or 0) * 1e6 + a.v > (amounts[b.k] or 0) * 1e6 + b.v and a or b
    end)
    assert(greater:map(function(_, x) return x.v end):sum() == 19999 + 19998 + 19949)
  end
end

function jobs.iterations_that_begin_with_different()
  local me = actor.rank
  local log = me == 0 and function(x) return x end or function(x) return x, me end
  assert(mr.range(1, 10):map(function(x) return (log(x)) end):sum() == 55)
  local function one() return 1 end
  mr.range(1, 10):iterate { state = me, steps = 3, step = one, merge = one }
end

function jobs.map_reduces_readme_lists_all_that()
  for name in pairs(mr) do print("mr." .. name) end
  for name in pairs(getmetatable(mr.range(1, 1)).__index) do
    if not name:find("^__") then print("d:" .. name) end
  end
end

jobs[(...)](select(2, ...))
