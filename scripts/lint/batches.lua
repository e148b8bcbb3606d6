-- Groups sources that can be checked as one: require("batches")(sources, flags, folder_of, limit) returns lists of at
-- most `limit` paths. The paths of a list have the same compile flags (flags[path]; a source without flags is left out)
-- and the same folder_of(path), and their definitions do not conflict.

-- Adds the names that a file defines to `names`, with the file: a definition of another file in the same batch would be
-- an error. Of a source these are the names that it defines for itself, of a header all.
local function add_names(names, path, text)
  local begin = path:find("%.cpp$") and "\nnamespace {\n(.-)\n}  // namespace\n" or "\nnamespace [^\n]*{\n(.-)\n}  // namespace"
  text = text:gsub('R"([%w_]*)%(.-%)%1"', "")
  for part in text:gmatch(begin) do
    for line in part:gmatch("[^\n]+") do
      -- A repeated alias or assertion is no conflict, and "final" is not the name of a class.
      local repeatable = line:match("^namespace ") or line:match("^using [%w_:]+;") or line:match("^static_assert")
      local name = not repeatable and line:gsub("::", ""):gsub(" final%f[^%w_]", ""):match("^%a.-([%w_]+) ?[%[({=;:]")
      if name then names[name] = path end
    end
  end
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
  for name, path in pairs(names) do
    if others[name] and others[name] ~= path then return true end
  end
  return false
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- The names of a source, and of the test headers that it includes: programs of tests define equal names.
local function names_of(path, names, seen)
  local text = read(path)
  seen[path] = true
  add_names(names, path, text)
  for header in text:gmatch('#include "(tests/[^"]+)"') do
    if not seen[header] then names_of(header, names, seen) end
  end
  return names
end

return function(sources, flags, folder_of, limit)
  local batches, groups = {}, {}
  for _, source in ipairs(sources) do
    local text = read(source)
    if flags[source] and not has_idle_using(text) then
      local key, names = folder_of(source) .. "\0" .. flags[source], names_of(source, {}, {})
      local group = groups[key] or {}
      groups[key] = group
      local place = 1
      while group[place] and (#group[place].paths == limit or share(names, group[place].names)) do place = place + 1 end
      if not group[place] then
        group[place] = { names = {}, paths = {} }
        batches[#batches + 1] = group[place].paths
      end
      table.insert(group[place].paths, source)
      for name, path in pairs(names) do group[place].names[name] = path end
    end
  end
  return batches
end
