--- A small strict XML reader for the specs of actor.plot. Raises an error if a document is not well-formed.
local M = {}

local entities = { amp = "&", lt = "<", gt = ">", quot = '"', apos = "'" }

local function unescape(text, where)
  assert(not text:find("[<>]"), "a bare angle bracket in " .. where)
  assert(not text:find("[%z\1-\8\11\12\14-\31]"), "a control character in " .. where)
  local plain = text:gsub("&(%w*;?)", function(name)
    return assert(entities[name:match("^(%w+);$") or ""], "a bare & in " .. where)
  end)
  return plain
end

local function attributes(text, where)
  local out, rest = {}, text
  while rest:find("%S") do
    local name, quote, value, after = rest:match("^%s+([%w:-]+)=([\"'])(.-)%2(.*)$")
    assert(name, "attributes of " .. where .. ": " .. rest)
    assert(out[name] == nil, "attribute " .. name .. " twice in " .. where)
    out[name], rest = unescape(value, where), after
    assert(quote)
  end
  return out
end

---@class plot_xml.Node
---@field name string
---@field attributes table<string, string>
---@field text string of its own, without that of its children
---@field children plot_xml.Node[]

---@param document string
---@return plot_xml.Node root
---@return plot_xml.Node[] all in the order of the document
function M.read(document)
  local top = { name = "document", children = {}, text = "" }
  local stack, all, at = { top }, {}, 1
  while true do
    local first, last, inside = document:find("<(.-)>", at)
    local here = stack[#stack]
    here.text = here.text .. unescape(document:sub(at, (first or 0) - 1), here.name)
    if not first then break end
    if inside:sub(1, 1) == "/" then
      assert(#stack > 1 and inside:sub(2) == here.name, "</" .. inside:sub(2) .. "> closes " .. here.name)
      stack[#stack] = nil
    else
      local name, rest = inside:match("^([%a][%w:-]*)(.*)$")
      assert(name, "a tag: " .. inside)
      local closed = rest:sub(-1) == "/"
      local node = { name = name, text = "", children = {}, attributes = attributes(closed and rest:sub(1, -2) or rest, name) }
      here.children[#here.children + 1], all[#all + 1] = node, node
      if not closed then stack[#stack + 1] = node end
    end
    at = last + 1
  end
  assert(#stack == 1, stack[#stack].name .. " is not closed")
  assert(#top.children == 1 and not top.text:find("%S"), "one root and nothing beside it")
  return top.children[1], all
end

---The nodes with this name.
function M.named(all, name)
  local out = {}
  for _, node in ipairs(all) do
    if node.name == name then out[#out + 1] = node end
  end
  return out
end

---The texts of all `text` elements.
function M.texts(all)
  local out = {}
  for _, node in ipairs(M.named(all, "text")) do out[#out + 1] = node.text end
  return out
end

return M
