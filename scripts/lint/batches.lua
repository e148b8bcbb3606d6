-- Groups sources that can be checked as one: require("batches")(sources, flags, folder_of, limit) returns lists of at
-- most `limit` paths. The paths of a list have the same compile flags (flags[path]; a source without flags is left out)
-- and the same folder_of(path), and their definitions do not conflict. The tests of a list belong to one program.

-- The names that a source defines for itself: a second definition in the same batch would be an error.
local function own_names(text)
  local names = {}
  text = text:gsub('R"([%w_]*)%(.-%)%1"', "")
  for part in text:gmatch("\nnamespace {\n(.-)\n}  // namespace\n") do
    for line in part:gmatch("[^\n]+") do
      -- A repeated alias or assertion is no conflict, and "final" is not the name of a class.
      local repeatable = line:match("^namespace ") or line:match("^using [%w_:]+;") or line:match("^static_assert")
      local name = not repeatable and line:gsub("::", ""):gsub(" final%f[^%w_]", ""):match("^%a.-([%w_]+) ?[%[({=;:]")
      if name then names[name] = true end
    end
  end
  return names
end

-- Whether a using-declaration seems unused: another source of the batch could hide this.
local function has_idle_using(text)
  for name in text:gmatch("using [%w_:]*::([%w_]+);") do
    local _, count = text:gsub("%f[%w_]" .. name .. "%f[^%w_]", "")
    if count < 2 then return true end
  end
  return false
end

local function share(names, others)
  for name in pairs(names) do
    if others[name] then return true end
  end
  return false
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

return function(sources, flags, folder_of, limit)
  local batches, groups = {}, {}
  for _, source in ipairs(sources) do
    local text = read(source)
    if flags[source] and not has_idle_using(text) then
      local program = source:match("^tests/host/[^/]+/") or source:match("^tests/[^/]+/") or ""
      local key, names = table.concat({ folder_of(source), program, flags[source] }, "\0"), own_names(text)
      local group = groups[key] or {}
      groups[key] = group
      local place = 1
      while group[place] and (#group[place].paths == limit or share(names, group[place].names)) do place = place + 1 end
      if not group[place] then
        group[place] = { names = {}, paths = {} }
        batches[#batches + 1] = group[place].paths
      end
      table.insert(group[place].paths, source)
      for name in pairs(names) do group[place].names[name] = true end
    end
  end
  return batches
end
