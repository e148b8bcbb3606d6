--- Modules of rule files under `actorhost sim`: resolves `require`, and lists the files that a rule depends on. On a
--- cluster modules are beside the job's script. Here there may be no job, so `require` searches beside the rule file,
--- then in the current folder, where a job would start.
local files = require("actor.c.files")
local util = require("actor.util")

local M = {}

local endings = { ".lua", "/init.lua" }

local folder = "" -- of the last loaded rule file

local function folder_of(path) return path:match("^(.*/)") or "" end

-- The file and text of a module that a file in `beside` requires. A name must not leave the folder.
local function find(name, beside)
  if not name:find("^[%w_-][%w_.-]*$") or name:find("..", 1, true) then return nil end
  local relative = name:gsub("%.", "/")
  for _, place in ipairs(beside == "" and { "" } or { beside, "" }) do
    for _, ending in ipairs(endings) do
      local path = place .. relative .. ending
      local text = util.read(path)
      if text then return path, text end
    end
  end
end

-- --- require ---

local loaded = {} -- by name

local function loader(name)
  local path, text = find(name, folder)
  if not path then return ("\n\tno module '%s' beside the rule file or in the current folder"):format(name) end
  local chunk, message = load(text, "@" .. path, "t")
  if not chunk then error(("module '%s' does not load: %s"):format(name, message), 0) end
  loaded[name] = true
  return chunk
end

---Forgets the modules that another run's rule file has required, so that they are loaded again.
function M.forget()
  for name in pairs(loaded) do package.loaded[name] = nil end
  loaded = {}
end

---Makes a runner (actor.policy.spec) for rule files that may `require` modules.
---@param run fun(chunk: function, path: string): boolean, any
---@return fun(chunk: function, path: string): boolean, any
function M.runner(run)
  table.insert(package.loaders, 3, loader) -- after our own library
  return function(chunk, path)
    folder = folder_of(path)
    return run(chunk, path)
  end
end

-- --- files ---

-- The names of modules that a text requires by literals.
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

---Lists the files of the modules that a rule file or a job requires, directly or indirectly. It finds names in the
---text, so it misses names built at run time.
---@param path string
---@return string[]
function M.of(path) return add_modules(util.read(path) or "", folder_of(path), {}, {}) end

return M
