--- The functions of spec files: test, equal, holds, near, matches, raises, skip and scratch_seed as globals. The driver
--- runs this file first, then the spec file, then run_specs.
local tests = {}

local function show(value, depth)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" or depth > 4 then return tostring(value) end
  local parts = {}
  for _, key in ipairs(require("actor.util").sorted_keys(value)) do
    local name = type(key) == "string" and key or "[" .. tostring(key) .. "]"
    parts[#parts + 1] = (key == #parts + 1 and "" or name .. " = ") .. show(value[key], depth + 1)
    if #parts > 20 then
      parts[#parts + 1] = "..."
      break
    end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function same(a, b)
  if type(a) ~= type(b) then return false end
  if type(a) ~= "table" then return a == b or (a ~= a and b ~= b) end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

---Declares a test; `name` is a sentence that states the tested behaviour.
---@param name string
---@param body fun()
function test(name, body)
  if tests[name] then error("a second test named '" .. name .. "'", 2) end
  tests[name] = true
  tests[#tests + 1] = { name = name, body = body }
end

---`actual` must equal `expected`; tables are compared by content, NaN equals NaN.
function equal(actual, expected, note)
  if not same(actual, expected) then
    error(("%sexpected %s, got %s"):format(note and note .. ": " or "", show(expected, 0), show(actual, 0)), 2)
  end
end

---`actual` must be within `tolerance` (default 1e-9) of `expected`.
function near(actual, expected, tolerance, note)
  if type(actual) ~= "number" or not (math.abs(actual - expected) <= (tolerance or 1e-9)) then
    error(("%sexpected %s within %s, got %s"):format(note and note .. ": " or "", expected, tolerance or 1e-9,
      tostring(actual)), 2)
  end
end

local comparisons = {
  ["<"] = function(a, b) return a < b end, ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end, [">="] = function(a, b) return a >= b end,
}

---The comparison must hold: `holds(#list, ">", 3)`. A failure shows both values.
function holds(left, operator, right, note)
  if not comparisons[operator](left, right) then
    error(("%s%s %s %s does not hold"):format(note and note .. ": " or "", show(left, 0), operator, show(right, 0)), 2)
  end
end

---`text` must match the Lua pattern; with `plain` it must contain it as it is.
function matches(text, pattern, plain)
  if not tostring(text):find(pattern, 1, plain) then
    error(("expected a text with '%s', got: %s"):format(pattern, tostring(text)), 2)
  end
end

---`body` must raise an error with a text that matches the Lua pattern. Returns the text.
---@param body fun()
---@param pattern string
---@return string
function raises(body, pattern)
  local fine, message = pcall(body)
  if fine then error(("expected an error matching '%s', none was raised"):format(pattern), 2) end
  if not tostring(message):find(pattern) then
    error(("expected an error matching '%s', got: %s"):format(pattern, tostring(message)), 2)
  end
  return tostring(message)
end

---The seed of random input: ACTORHOST_TEST_SEED, or 1. Failures print it.
scratch_seed = tonumber(os.getenv("ACTORHOST_TEST_SEED")) or 1

local Skipped = {}

---Ends the test, which cannot run here. It counts as skipped, not as passed.
---@param reason string
function skip(reason) error(setmetatable({ reason = reason }, Skipped), 0) end

---Runs the declared tests with `only` in their names; returns the number of failed tests.
function run_specs(only)
  local ran, failed, skipped = 0, 0, 0
  for _, case in ipairs(tests) do
    if case.name:find(only, 1, true) then
      ran = ran + 1
      local fine, message = xpcall(case.body, function(raised)
        return getmetatable(raised) == Skipped and raised or debug.traceback(tostring(raised), 2)
      end)
      if not fine and getmetatable(message) == Skipped then
        skipped = skipped + 1
        print(("skipped: %s: %s"):format(case.name, message.reason))
      elseif not fine then
        failed = failed + 1
        print(("FAILED: %s (seed %d)\n%s"):format(case.name, scratch_seed, message))
      end
    end
  end
  if ran == 0 then
    print("no test was declared, or none matches")
    return 1
  end
  print(("%d tests, %d skipped, %d failed"):format(ran, skipped, failed))
  return failed
end
