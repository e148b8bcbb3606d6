--- The files of a job that `actorhost launch` copies to the hosts: the script, the modules that it requires, and the
--- file of `--barrier`.
local files = require("actor.c.files")
local util = require("actor.util")

local M = {}

---@class actor.launch.File
---@field name string on a host, below a folder for this run: "job/lib/rules.lua"
---@field text string

local most_bytes = 256 * 2 ^ 20

local function folder_of(path) return path:match("^(.*/)[^/]*$") or "" end
local function base_of(path) return path:match("[^/]*$") end

local JobFiles = {}
JobFiles.__index = JobFiles

-- Adds the modules in `require "NAME"` and `require("NAME")`, if they are beside the script. A name in a comment counts
-- too: an additional file does no harm.
function JobFiles:add_required(text)
  for module in text:gmatch("require%s*%(?%s*[\"']([%w_%-%.]+)[\"']") do
    local relative = module:gsub("%.", "/")
    for _, candidate in ipairs { relative .. ".lua", relative .. "/init.lua" } do
      local found = util.read(self.folder .. candidate)
      if found then
        local added, why = self:add("job/" .. candidate, found)
        if not added then return nil, why end
        break
      end
    end
  end
  return true
end

-- Adds a file and the modules that it requires.
function JobFiles:add(name, text)
  if self.known[name] then return true end
  self.known[name] = true
  self.bytes = self.bytes + #text
  if self.bytes > most_bytes then
    return nil, ("the job's files have more than %d MiB; store large files where all hosts can read them"):format(most_bytes / 2 ^ 20)
  end
  self[#self + 1] = { name = name, text = text }
  if name:find("%.lua$") then return self:add_required(text) end
  return true
end

function JobFiles:add_file(name, path)
  local text, why = util.read(path)
  if not text then return nil, why end
  return self:add(name, text)
end

-- Adds a file, or all files in a folder, from below the script's folder.
function JobFiles:copy(path)
  local name = path:gsub("^%./", ""):gsub("/+$", "")
  if self.folder ~= "" and name:sub(1, #self.folder) == self.folder then name = name:sub(#self.folder + 1) end
  if name == "" or name:sub(1, 1) == "/" or ("/" .. name .. "/"):find("/../", 1, true) then
    return nil, ("--copy %s: the path is not below the script's folder"):format(path)
  end
  local names = files.list(self.folder .. name)
  if #names == 0 then
    local added, why = self:add_file("job/" .. name, self.folder .. name)
    return added, why and "--copy: " .. why
  end
  for _, each in ipairs(names) do
    local copied, why = self:copy(self.folder .. name .. "/" .. each)
    if not copied then return nil, why end
  end
  return true
end

---Collects the files of a job.
---@param script string path
---@param more string[] paths of further files and folders below the script's folder
---@param rule? string path of the file of --barrier
---@return actor.launch.File[]? files "job/SCRIPT" first, the rule as "rule/FILE"
---@return string? message
function M.collect(script, more, rules)
  local set = setmetatable({ folder = folder_of(script), known = {}, bytes = 0 }, JobFiles)
  local fine, why = set:add_file("job/" .. base_of(script), script)
  for flag, path in util.pairs(rules) do
    if fine then fine, why = set:add_file(("%s/%s"):format(flag, base_of(path)), path) end
  end
  for _, path in ipairs(more) do
    if fine then fine, why = set:copy(path) end
  end
  if not fine then return nil, why end
  return setmetatable(set, nil)
end

return M
