--- The links of the reference's pages: known names and their places, and texts of Markdown with their links resolved.
local colours = require("actor.help.colours")
local guides = require("actor.help.guides")
local luacats = require("actor.help.luacats")
local markdown = require("actor.help.markdown")

---@class actor.help.Links
---@field private urls table<string, string>
---@field private anchors table<string, boolean> "param.html#param.run"
---@field private wanted string[][] {url, where}
local Links = {}
Links.__index = Links

local M = {}

---@return actor.help.Links
function M.new() return setmetatable({ urls = {}, anchors = {}, wanted = {} }, Links) end

---Registers a name and its place: "param.run", "param.html#param.run".
---@param name string
---@param url string
function Links:define(name, url)
  self.urls[name] = self.urls[name] or url
  self.anchors[url] = true
end

---Registers a place without a name.
---@param url string
function Links:place(url) self.anchors[url] = true end

---@param name string
---@return string? url
function Links:url(name) return self.urls[name] end

---Lists the links without a target: "guide-peers.md: README.md#no-such-heading".
---@return string[]
function Links:broken()
  local broken = {}
  for _, row in ipairs(self.wanted) do
    if not self.anchors[row[1]] then broken[#broken + 1] = ("%s: there is no %s"):format(row[2], row[1]) end
  end
  return broken
end

-- The short names of objects and modules in texts.
local long = { mr = "mapreduce", d = "dataset", t = "tensor", T = "tensor", co = "collective", net = "network" }

-- The place of a piece of code such as `param.run { ... }`, `mr.load(url)` or `d:map(fn)`, if it is one name.
function Links:of_code(code)
  local name = code:gsub("^actor[.:]", ""):match("^([%a_][%w_.:]*)")
  if not name then return nil end
  local rest = code:gsub("^actor[.:]", ""):sub(#name + 1)
  if rest ~= "" and not rest:find("^%s*[({]") then return nil end
  local head, last = name:match("^(%w+)([.:].+)$")
  local full = head and (long[head] or head) .. last
  return self.urls[code] or self.urls[name] or full and (self.urls[full] or self.urls[(full:gsub(":", "."))])
end

local function link(url, text) return ('<a href="%s">%s</a>'):format(colours.escaped(url), text) end

---Returns a LuaCATS type for HTML, with links. An unknown type is a broken link.
---@param type string
---@param where string "stdlib/actor/param.lua:12", for the error
---@return string
function Links:type(type, where)
  return (luacats.names(type, function(name)
    local url = self.urls[name]
    if not url then self.wanted[#self.wanted + 1] = { "type " .. name, where } end
    return url and link(url, colours.escaped(name)) or colours.escaped(name)
  end, colours.escaped))
end

local entities = { amp = "&", lt = "<", gt = ">", quot = '"' }

local function plain(html) return (html:gsub("<[^>]*>", ""):gsub("&(%a+);", entities)) end

-- Code of Markdown: in colours if it is Lua.
local function block(attributes, html)
  local code = plain(html):gsub("\n$", "")
  local has_code = ("\n" .. code):find("\n%s*[^%s%-]") -- not comments alone
  local is_lua = attributes:find("language-lua", 1, true) or (attributes == "" and has_code and loadstring(code))
  return ('<pre tabindex="0"><code>%s</code></pre>'):format(is_lua and colours.lua(code) or colours.escaped(code))
end

-- "stdlib/actor/nn/../../x.md" without dots.
local function normal(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." and #parts > 0 then parts[#parts] = nil elseif part ~= "." then parts[#parts + 1] = part end
  end
  return table.concat(parts, "/")
end

-- The page of a Markdown file of the tree and its anchor.
function Links:page_of(path, anchor)
  for _, guide in ipairs(guides.present()) do
    for i, section in ipairs(guides.sections(guide)) do
      local is_start = anchor == "" and guide.parts[1][1] == path and i == 1 and not guide.parts[1].from
      if section.path == path and (section.anchor == anchor or is_start) then
        return ("guide-%s.html#%s"):format(guide.name, section.anchor)
      end
    end
  end
  if anchor ~= "" then return self:page_of(path, "") end
end

---Returns Markdown as HTML: links lead to pages of the reference, or show the path of a file of the tree; names in code
---are links.
---@param text string
---@param path string of the text's page in the tree, for its links
---@return string
function Links:markdown(text, path)
  local html = assert(markdown.html(text))
  local blocks = {} -- aside, so that no link is made within
  html = html:gsub("<pre><code([^>]*)>(.-)</code></pre>", function(attributes, code)
    blocks[#blocks + 1] = block(attributes, code)
    return ("\1%d\2"):format(#blocks)
  end)
  html = html:gsub('<a href="([^"]*)">(.-)</a>', function(url, label)
    if url:find("^%a+:") then return link(url, label) end
    local file, anchor = url:match("^([^#]*)#?(.*)$")
    file = file == "" and path or normal((path:match("^.*/") or "") .. file)
    local page = self:page_of(file, anchor)
    if page then
      self.wanted[#self.wanted + 1] = { page, path }
      return ("\3%s\4%s\5"):format(page, label)
    end
    local shown = plain(label) == file and "" or (" (<code class=\"path\">%s</code>)"):format(file)
    return label .. shown
  end)
  html = html:gsub("<code>(.-)</code>", function(code)
    local url = self:of_code(plain(code))
    blocks[#blocks + 1] = url and link(url, "<code>" .. code .. "</code>") or "<code>" .. code .. "</code>"
    return ("\1%d\2"):format(#blocks)
  end)
  html = html:gsub("([^%w_.\"#>/])(actor%.[%w_.]*%w)", function(before, name) -- names of types and modules in sentences
    return self.urls[name] and before .. link(self.urls[name], name) or nil
  end)
  html = html:gsub("\3([^\4]*)\4([^\5]*)\5", function(url, label)
    label = label:gsub("\1(%d+)\2", function(i) return blocks[tonumber(i)] end):gsub("</?a[^>]*>", "")
    return link(url, label)
  end)
  html = html:gsub("<table>", '<div class="wide" tabindex="0"><table>'):gsub("</table>", "</table></div>")
  return (html:gsub("\1(%d+)\2", function(i) return blocks[tonumber(i)] end))
end

---Returns the text of a docstring as HTML. Docstrings are plain paragraphs: only code and indented blocks have a form.
---@param lines string[]
---@param where string
---@return string
function Links:docstring(lines, where)
  local out = {}
  for i, line in ipairs(lines) do
    local is_code = line:find("^    ")
    out[i] = is_code and line or line:gsub("^%s*([-*+#>])", "\\%1"):gsub("^%s*(%d+)([.)] )", "%1\\%2")
  end
  return self:markdown(table.concat(out, "\n"), where)
end

return M
