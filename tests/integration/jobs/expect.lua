--- Expectations of jobs: an unmet expectation is an error at the line of its caller, and ends the run with 1.
local M = {}

-- Why `fn()` does not raise an error that contains all texts; nil if it does.
local function unmet(fn, ...)
  local fine, message = pcall(fn)
  if fine then return "nothing is raised" end
  for _, text in ipairs { ... } do
    if not tostring(message):find(text, 1, true) then return ("raised '%s', expected '%s'"):format(tostring(message), text) end
  end
end

--- `fn()` raises an error that contains every further text.
function M.raises(fn, ...)
  local why = unmet(fn, ...)
  if why then error(why, 2) end
end

--- The same, and the error is at the line of `fn`.
function M.refused(fn, ...)
  local at = debug.getinfo(fn, "S")
  local why = unmet(fn, ("%s:%d: "):format(at.short_src:match("[^/]*$"), at.linedefined), ...)
  if why then error(why, 2) end
end

--- The values are equal.
function M.same(got, wanted)
  if got ~= wanted then error(("got %s, expected %s"):format(tostring(got), tostring(wanted)), 2) end
end

--- The sorted names in a folder, of which none may contain `unwanted`.
function M.names(folder, unwanted)
  local names, list = {}, assert(io.popen("LC_ALL=C ls -A " .. folder))
  for name in list:lines() do
    if unwanted and name:find(unwanted, 1, true) then error(name .. " is left", 2) end
    names[#names + 1] = name
  end
  list:close()
  return names
end

return M
