--- Compares results with their wanted texts, for the jobs of tests: prints each difference, and counts them.
local M = { quotes = false } -- of texts within values, where "1" and 1 must differ

local failures = 0

---Returns a value as text: an array as "{1,nil,2}".
function M.text(value)
  if type(value) == "string" and M.quotes then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local out, last = {}, 0
  for i in pairs(value) do last = math.max(last, i) end
  for i = 1, last do out[i] = M.text(value[i]) end
  return "{" .. table.concat(out, ",") .. "}"
end

---Compares two texts.
function M.equal(name, got, wanted)
  if got == wanted then return end
  failures = failures + 1
  print(("%s: got %s, not %s"):format(name, got, wanted))
end

---Compares a value with its text.
function M.gives(name, wanted, value) M.equal(name, M.text(value), wanted) end

---Expects an error whose message contains a text.
function M.fails(name, wanted, fn)
  local ok, message = pcall(fn)
  M.equal(name, (not ok and tostring(message):find(wanted, 1, true)) and wanted or M.text(message), wanted)
end

---Raises an error after a difference.
function M.finish() assert(failures == 0, failures .. " are wrong") end

return M
