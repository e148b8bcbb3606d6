-- Makes an evaluator of a rule that records its inputs and answers, for rule_world.cpp.
local spec, file, seed, pulled = ...
local ffi = require "ffi"
local barrier = require "actor.barrier"

local notes = {}
local arrays = { "steps", "ids", "busy", "alive", "started", "durations", "averages", "pulled" }
if pulled == "no" then arrays[#arrays] = nil end

local function number(value)
  if type(value) == "boolean" then return value and 1 or 0 end
  return value
end

local rule

-- Appends rows of doubles to notes: the scalars, the arrays, the answer.
local function noted(run)
  return function(view)
    local row = {
      #arrays, view.n, view.step, view.id, view.population, view.now, view.waited, view.duration, view.average, view:min(),
      view:max(), view:behind(1), view:passed(view.step), view:quantile(0.5), view.buffered,
    }
    for _, name in ipairs(arrays) do
      local array = view[name]
      assert(#array == view.n)
      for i = 1, #array do row[#row + 1] = number(array[i]) end
    end
    local pass, recheck = run(view)
    row[#row + 1], row[#row + 2] = number(pass), recheck or -1
    notes[#notes + 1] = ffi.string(ffi.new("double[?]", #row, row), 8 * #row)
    return pass, recheck
  end
end

package.loaded.noted = noted
rule = barrier.from(spec, { load = function(path) return file, "@" .. path end })
rule.run = noted(rule.run)
package.loaded.notes = notes
package.loaded.evaluator = barrier.evaluator(rule, tonumber(seed))
