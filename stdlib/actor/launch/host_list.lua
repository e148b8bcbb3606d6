--- The hosts of `actorhost launch`: entries such as "ada@node1:2", in a list with commas or in a file with an entry per
--- line.
local util = require("actor.util")

local M = {}

---@class actor.launch.Host
---@field target string for ssh: "ada@node1"
---@field name string the machine's name or address: "node1"
---@field label string before each line of its output: the name, with the port if two entries have this name
---@field slots? integer the number of nodes there; nil: the flag -n, or one per core
---@field port? integer of ssh

-- Splits "ada@node1:2", "[::1]:2" and "::1" into the target, the name and the slots.
local function parts_of(word)
  local user, rest = word:match("^([^@]*)@(.*)$")
  rest = rest or word
  local name, slots = rest:match("^%[([%x:%.]+)%]:?(%d*)$")
  if not name then name, slots = rest:match("^([^:]+):?(%d*)$") end
  if not name and rest:find("^[%x:%.]+$") then name, slots = rest, "" end
  local fine = name and name:find("^[%w_][%w_%.%-]*$") or name and name:find("^[%x:%.]*:[%x:%.]*$")
  if not fine or user and not user:find("^[%w_][%w_%.%-]*$") then return nil end
  return user and user .. "@" .. name or name, name, slots ~= "" and slots or nil
end

local function number_of(text, least, most)
  local number = text:find("^%d+$") and tonumber(text)
  return number and number >= least and number <= most and number or nil
end

local most_slots, most_port = 4096, 65535

---Parses one entry: a host, and optionally `slots=N` and `port=P` behind it.
---@param text string
---@return actor.launch.Host?
---@return string? message
function M.entry(text)
  local words = {}
  for word in text:gmatch("%S+") do words[#words + 1] = word end
  local target, name, slots = parts_of(words[1] or "")
  if not target then
    return nil, ("'%s' is no host: expected HOST, HOST:SLOTS or USER@HOST, and optionally slots=N and port=P"):format(text)
  end
  local host = { target = target, name = name }
  if slots then words[#words + 1] = "slots=" .. slots end
  for i = 2, #words do
    local key, value = words[i]:match("^(%a+)=(.*)$")
    local most = key == "slots" and most_slots or key == "port" and most_port
    if not most then return nil, ("host %s: '%s' is neither slots=N nor port=P"):format(name, words[i]) end
    local number = number_of(value, 1, most)
    if not number then return nil, ("host %s: %s wants a whole number from 1 to %d, got '%s'"):format(name, key, most, value) end
    if host[key] and host[key] ~= number then return nil, ("host %s: %s is given twice"):format(name, key) end
    host[key] = number
  end
  return host
end

-- Labels the hosts, and refuses a host that occurs twice.
local function labelled(hosts)
  local of_name, known = {}, {}
  for _, host in ipairs(hosts) do of_name[host.name] = (of_name[host.name] or 0) + 1 end
  for _, host in ipairs(hosts) do
    host.label = of_name[host.name] > 1 and host.port and ("%s:%d"):format(host.name, host.port) or host.name
    if known[host.label] then
      return nil, ("host %s is given twice; for several nodes there give it slots, as %s:2"):format(host.label, host.name)
    end
    known[host.label] = true
  end
  return hosts
end

---Parses a list with commas: "a,b:2,ada@c".
---@param text string
---@return actor.launch.Host[]?
---@return string? message
function M.list(text)
  local hosts = {}
  for part in (text .. ","):gmatch("([^,]*),") do
    local host, wrong = M.entry(part)
    if not host then return nil, "--hosts: " .. wrong end
    hosts[#hosts + 1] = host
  end
  return labelled(hosts)
end

---Reads a file with an entry per line. A # begins a comment.
---@param path string
---@return actor.launch.Host[]?
---@return string? message with the line's number
function M.file(path)
  local text, why = util.read(path)
  if not text then return nil, "--hostfile: " .. why end
  local hosts, number = {}, 0
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    number = number + 1
    local content = line:gsub("#.*", "")
    if content:find("%S") then
      local host, wrong = M.entry(content:match("^%s*(.-)%s*$"))
      if not host then return nil, ("%s:%d: %s"):format(path, number, wrong) end
      hosts[#hosts + 1] = host
    end
  end
  if #hosts == 0 then return nil, ("%s has no host: each line is a host, as `node1 slots=2`"):format(path) end
  return labelled(hosts)
end

return M
