--- Modules of rule files under `actorhost sim`: what `require` finds there, and which files a rule depends on. On a cluster
--- modules lie beside the job's script. Here there may be no job, so `require` looks beside the rule file, then in the
--- current folder, where a job would be started.
local files = require("actor.c.files")

local M = {}

local endings = { ".lua", "/init.lua" }

local folder = "" -- of the rule file that was loaded last

local function folder_of(path)
  return path:match("^(.*/)") or ""
end

local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a") -- nil of a folder
  if file then file:close() end
  return text
end

-- The file of a module that a file in `beside` requires, and its text. A name must not leave the folder.
local function find(name, beside)
  if not name:find("^[%w_-][%w_.-]*$") or name:find("..", 1, true) then return nil end
  local relative = name:gsub("%.", "/")
  for _, place in ipairs(beside == "" and { "" } or { beside, "" }) do
    for _, ending in ipairs(endings) do
      local path = place .. relative .. ending
      local text = read(path)
      if text then return path, text end
    end
  end
end

-- --- require ---

local loaded = {} -- the names of those that are

local function loader(name)
  local path, text = find(name, folder)
  if not path then return ("\n\tno module '%s' beside the rule file or in the current folder"):format(name) end
  local chunk, message = load(text, "@" .. path, "t")
  if not chunk then error(("module '%s' does not load: %s"):format(name, message), 0) end
  loaded[name] = true
  return chunk
end

---Forgets the modules that the rule file of another run has required, so that they are loaded again.
function M.forget()
  for name in pairs(loaded) do package.loaded[name] = nil end
  loaded = {}
end

---A barrier.runner for rule files that may `require` modules.
---@param run fun(chunk: function, path: string): boolean, any
---@return fun(chunk: function, path: string): boolean, any
function M.runner(run)
  table.insert(package.loaders, 3, loader) -- behind our own library
  return function(chunk, path)
    folder = folder_of(path)
    return run(chunk, path)
  end
end

-- --- which files ---

-- The names of modules that a text requires, if they are spelt out.
local function names_in(text)
  local names = {}
  for _, name in text:gmatch("%f[%w_]require%s*%(?%s*(['\"])([%w_.-]+)%1") do names[#names + 1] = name end
  return names
end

local function add_modules(text, beside, seen, out)
  for _, name in ipairs(names_in(text)) do
    local module, body = find(name, beside)
    local real = module and files.regular(module)
    if real and not seen[real] then
      seen[real], out[#out + 1] = true, module
      add_modules(body, beside, seen, out)
    end
  end
  return out
end

---Lists the files of the modules that a rule file or a job requires, and of those that these require. It finds names in
---the text, so not one that is put together at run time.
---@param path string
---@return string[]
function M.of(path)
  return add_modules(read(path) or "", folder_of(path), {}, {})
end

return M
