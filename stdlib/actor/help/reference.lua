--- The reference as pages of HTML, for `actorhost help --html DIR`: a page for each module and guide, one for the
--- commands, and a search. They are plain files without a server. A link or type without a target is an error.
local colours = require("actor.help.colours")
local core = require("actor.c.core")
local guides = require("actor.help.guides")
local help = require("actor.help")
local links = require("actor.help.links")
local luacats = require("actor.help.luacats")
local search = require("actor.help.search")

local M = {}

local escaped = colours.escaped

-- The modules with a page, in the order of the contents.
M.modules = { "actor", "param", "barrier", "peer", "collective", "mapreduce", "tensor", "nn", "optim", "data", "average",
  "checkpoint", "filter", "sim", "plot", "psp", "options", "progress", "events", "log", "rng", "text", "codec", "trace",
  "rehearsal" }

local function is_page(name)
  for _, module in ipairs(M.modules) do
    if module == name then return true end
  end
end

-- The page of a type: that of the module in its name, otherwise that of its file, otherwise the page of other types.
local function page_of_type(entry)
  local name = entry.type:match("^actor%.([%w_]+)%.")
  local file = entry.module:match("^actor%.([%w_]+)")
  if name and is_page(name) then return name end
  if file and is_page(file) then return file end
  return entry.module == "actor" and "actor" or "types"
end

local function source_of(entry) return ("%s:%d"):format(core.library()[entry.module], entry.line) end

-- ---- the parts of a page ----

local Page = {}
Page.__index = Page

function Page:add(html, ...)
  if select("#", ...) > 0 then html = html:format(...) end
  self[#self + 1] = html
end

local function code_block(code) return ('<pre tabindex="0"><code>%s</code></pre>'):format(colours.lua(code)) end

function Page:examples(entry)
  for _, example in ipairs(entry.examples) do
    self:add('<h4>Example%s</h4>\n%s', example.nodes and (", with %d nodes"):format(example.nodes) or "",
      code_block('local actor = require "actor"\n' .. example.code))
  end
end

-- The fields of a class as a list of terms.
function Page:fields(class)
  local fields = help.fields(class)
  if #fields == 0 then return end
  self:add("<dl>")
  for _, field in ipairs(fields) do
    local type, text = luacats.split_type(table.concat(field.text, " "))
    self:add('<dt><code>%s</code> <code class="type">%s</code></dt><dd>%s</dd>', escaped(field.shown),
      self.links:type(type, source_of(field)), self.links:docstring({ text }, source_of(field)))
  end
  self:add("</dl>")
end

function Page:tags(tags, kind, heading, where)
  local found = {}
  for _, tag in ipairs(tags) do
    if tag.kind == kind then found[#found + 1] = tag end
  end
  if #found == 0 then return end
  self:add("<h4>%s</h4><dl>", heading)
  for _, tag in ipairs(found) do
    local name = tag.name and ("<code>%s%s</code> "):format(escaped(tag.name), tag.optional and "?" or "") or ""
    self:add('<dt>%s<code class="type">%s</code></dt><dd>%s', name, self.links:type(tag.type, where),
      tag.text ~= "" and self.links:docstring({ tag.text }, where) or "")
    local class = help.options_class(tag.name, tag.type)
    if class then self:fields(class) end
    self:add("</dd>")
  end
  self:add("</dl>")
end

-- The sentences about errors ("Raises ..."), apart from the other lines of a description.
local function errors_in(lines)
  local errors, rest = {}, {}
  local text = ("\n" .. table.concat(lines, "\n")):gsub("%s(Raises%s[^.]-%.)%f[%s%z]", function(sentence)
    errors[#errors + 1] = sentence
    return ""
  end)
  for line in (text:gsub("^\n", "") .. "\n"):gmatch("(.-)\n") do rest[#rest + 1] = line end
  return rest, errors
end

function Page:entry(anchor, title, entry)
  local where = source_of(entry)
  local description, tags = luacats.parse(entry.text)
  local rest, errors = errors_in(description)
  self:add('<section id="%s"><h3><a class="self" href="#%s"><code>%s</code></a></h3>', anchor, anchor, escaped(title))
  self:add(self.links:docstring(rest, where))
  self:tags(tags, "param", "Arguments", where)
  self:tags(tags, "return", "Returns", where)
  if #errors > 0 then self:add("<h4>Errors</h4>%s", self.links:docstring(errors, where)) end
  self:examples(entry)
  self:add('<p class="source">%s</p></section>', where)
end

-- Functions with one line of documentation, such as elementwise arithmetic, as a table.
function Page:short_entries(list)
  if #list == 0 then return end
  self:add('<h2 id="in-one-line">In one line</h2><div class="wide" tabindex="0"><table>')
  for _, item in ipairs(list) do
    local type, text = luacats.split_type(item.entry.text[1] or "")
    self:add('<tr id="%s"><td><code>%s</code></td><td>%s</td><td><code class="type">%s</code></td></tr>', item.name,
      escaped(item.name), escaped(text), self.links:type(type, source_of(item.entry)))
  end
  self:add("</table></div>")
end

local function type_entry(page, entry)
  local where = source_of(entry)
  page:add('<section id="%s"><h3><a class="self" href="#%s"><code>%s</code></a>', entry.type, entry.type, entry.type)
  if entry.base then page:add(" <small>with the fields of %s</small>", page.links:type(entry.base, where)) end
  page:add("</h3>")
  if entry.alias then
    page:add('<p><code class="type">%s</code></p>', page.links:type(table.concat(entry.text, " "), where))
  else
    page:add(page.links:docstring(entry.text, where))
  end
  page:fields(entry.type)
  page:add('<p class="source">%s</p></section>', where)
end

-- ---- all pages ----

local function url_of(page, anchor) return ("%s.html#%s"):format(page, anchor) end

-- Returns two tables by page name: the functions on the page of each module, and the types on each page.
local function collected()
  local functions, types = {}, { types = {} }
  for _, module in ipairs(M.modules) do
    functions[module] = help.listing(module == "actor" and "actor" or "actor." .. module)
    types[module] = {}
  end
  for _, entry in ipairs(help.all()) do
    if entry.type then table.insert(types[page_of_type(entry)], entry) end
  end
  return functions, types
end

local function head_of(module)
  for _, entry in ipairs(help.all()) do
    if entry.head and entry.module == (module == "actor" and "actor" or "actor." .. module) then return entry end
  end
end

local function define_all(all, functions, types, commands)
  for _, module in ipairs(M.modules) do
    all:define(module == "actor" and "actor" or "actor." .. module, module .. ".html#top")
    for _, item in ipairs(functions[module]) do
      all:define(item.name, url_of(module, item.name))
      for _, alias in ipairs(item.aliases) do all:define(alias, url_of(module, item.name)) end
    end
  end
  for page, list in pairs(types) do
    for _, entry in ipairs(list) do all:define(entry.type, url_of(page, entry.type)) end
  end
  for _, guide in ipairs(guides.present()) do
    for _, section in ipairs(guides.sections(guide)) do
      all:place(("guide-%s.html#%s"):format(guide.name, section.anchor))
    end
  end
  for name in pairs(commands) do all:define("actorhost " .. name, url_of("commands", name)) end
end

-- Returns the help of a command as HTML. A line with a flag behind two or more blanks describes this flag: it gets an
-- anchor, and an entry in `texts`.
local function command_html(name, text, texts)
  local html = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local flag = line:match("^%s%s+(%-%-?[%w%-,]+)")
    local long = flag and flag:match("%-%-[%w%-]+") or flag
    if long then
      local anchor = name .. long
      texts[#texts + 1] = search.text("flag", ("actorhost %s %s"):format(name, long), line:gsub("^%s*%S+", ""),
        { url = url_of("commands", anchor) })
      html[#html + 1] = ('<span id="%s">%s</span>'):format(anchor, escaped(line))
    else
      html[#html + 1] = escaped(line)
    end
  end
  return table.concat(html, "\n")
end

local rule_modules = { barrier = "A worker passes when", merge = "Definition:" }

-- Adds the rules of a module, which have a table of descriptions instead of docstrings.
local function rules(page, texts, module)
  for _, rule in ipairs(require("actor." .. module).list()) do
    local name = module .. "." .. rule.name
    page:add('<section id="%s"><h3><a class="self" href="#%s"><code>%s</code></a></h3><p>%s.</p>', name, name,
      escaped(rule.usage), escaped(rule.summary))
    page:add("<p>%s <code>%s</code>.</p>", rule_modules[module], escaped(rule.definition))
    page:add("<h4>Example</h4>%s", code_block(('actor.%s.from("%s") -- or --%s %s'):format(module, rule.example, module,
      rule.example)))
    page:add('<p class="source">%s</p></section>', escaped(rule.paper))
    local about = ("%s. %s"):format(rule.summary, rule.definition)
    texts[#texts + 1] = search.text("function", name, about, { url = url_of(module, name) })
  end
end

local function module_page(page, module, items, types, texts)
  local head, short = head_of(module), {}
  page:add('<h1 id="top">%s</h1>', module == "actor" and "actor" or "actor." .. module)
  if head then
    page:add(page.links:docstring(head.text, source_of(head)))
    page:examples(head)
    search.add_entry(texts, head, module, module .. ".html")
  end
  page:add('<ul class="names">')
  for _, item in ipairs(items) do
    page:add('<li><a href="#%s"><code>%s</code></a></li>', item.name, escaped(item.name))
  end
  page:add("</ul>")
  for _, item in ipairs(items) do
    local is_rule = module == "barrier" and item.entry.class
    if not is_rule then search.add_entry(texts, item.entry, item.name, url_of(module, item.name)) end
    if is_rule then
      -- below, with the rules
    elseif item.entry.class then
      short[#short + 1] = item
    else
      page:entry(item.name, item.title, item.entry)
    end
  end
  if rule_modules[module] then rules(page, texts, module) end
  page:short_entries(short)
  if #types > 0 then page:add('<h2 id="types">Types</h2>') end
  for _, entry in ipairs(types) do
    search.add_entry(texts, entry, entry.type, url_of(module, entry.type))
    type_entry(page, entry)
  end
end

local function guide_page(page, guide)
  for i, section in ipairs(guides.sections(guide)) do
    local level = i == 1 and 1 or math.max(2, section.level)
    page:add('<h%d id="%s">%s</h%d>', level, section.anchor, escaped(i == 1 and guide.title or section.heading), level)
    page:add(page.links:markdown(section.text, section.path))
  end
end

local function index_page(page, figure)
  page:add('<h1 id="top">actorhost %s</h1><p>Distributed training and data processing in Lua. Press <kbd>/</kbd> to '
    .. "search.</p>", core.version)
  if figure then
    page:add('<figure><img src="accuracy.svg" alt="accuracy against time under five barrier rules" width="720" '
      .. 'height="440"><figcaption>16 simulated workers train on MNIST under five barrier rules.</figcaption></figure>')
  end
  page:add("<h2>Guides</h2><ul>")
  for _, guide in ipairs(guides.present()) do
    page:add('<li><a href="guide-%s.html">%s</a>: %s</li>', guide.name, guide.title, escaped(guide.about))
  end
  page:add('</ul><h2>Modules</h2><ul>')
  for _, module in ipairs(M.modules) do
    local head = head_of(module)
    page:add('<li><a href="%s.html"><code>%s</code></a>: %s</li>', module, module,
      head and escaped(search.sentence(table.concat(head.text, " "))) or "")
  end
  page:add('</ul><p><a href="commands.html">Commands and flags</a>, <a href="types.html">other types</a>.</p>')
end

local function nav(here)
  local out = { '<nav id="contents" aria-label="contents"><h2>Guides</h2><ul>' }
  local function item(url, text)
    local current = url == here .. ".html" and ' aria-current="page"' or ""
    out[#out + 1] = ('<li><a href="%s"%s>%s</a></li>'):format(url, current, text)
  end
  for _, guide in ipairs(guides.present()) do item(("guide-%s.html"):format(guide.name), guide.title) end
  out[#out + 1] = "</ul><h2>Reference</h2><ul>"
  item("commands.html", "Commands and flags")
  for _, module in ipairs(M.modules) do item(module .. ".html", module) end
  item("types.html", "Other types")
  out[#out + 1] = "</ul></nav>"
  return table.concat(out, "\n")
end

local frame = [[<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="reference.css">
<script src="search.js" defer></script>
<script src="reference.js" defer></script>
</head>
<body>
<a class="skip" href="#main">to the text</a>
<header><a class="brand" href="index.html">actorhost</a>
<div class="search"><input id="search" type="search" placeholder="Search ( / )" aria-label="search" role="combobox"
 aria-expanded="false" aria-controls="results" autocomplete="off" spellcheck="false"><ol id="results" role="listbox"
 aria-label="results" hidden></ol></div>
<a class="to-contents" href="#contents">Contents</a></header>
<div class="columns">
%s
<main id="main">
%s
</main>
</div>
</body>
</html>
]]

local function json(text)
  return '"' .. text:gsub('[%c"\\<]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function search_file(texts)
  local rows = {}
  for i, text in ipairs(texts) do
    rows[i] = ("[%s,%s,%s,%s,%s,%s]"):format(json(text.kind), json(text.title), json(text.url), json(text.summary),
      json(text.words), json(text.heads))
  end
  return "const texts = [\n" .. table.concat(rows, ",\n") .. "\n];\n"
end

---Makes the files of the reference, by name. Raises if a link or a type has no target, with all of them.
---@param commands table<string, string> the --help output of the subcommands, by name
---@return table<string, string> files
function M.files(commands)
  local functions, types = collected()
  local all, texts, files = links.new(), {}, {}
  define_all(all, functions, types, commands)
  local function write(name, title, fill)
    local page = setmetatable({ links = all }, Page)
    fill(page)
    files[name .. ".html"] = frame:format(escaped(title), nav(name), table.concat(page, "\n"))
  end
  search.add_guides(texts)
  for _, guide in ipairs(guides.present()) do
    write("guide-" .. guide.name, guide.title .. " · actorhost", function(page) guide_page(page, guide) end)
  end
  for _, module in ipairs(M.modules) do
    write(module, module .. " · actorhost", function(page)
      module_page(page, module, functions[module], types[module], texts)
    end)
  end
  write("types", "Other types · actorhost", function(page)
    page:add('<h1 id="top">Other types</h1>')
    for _, entry in ipairs(types.types) do type_entry(page, entry) end
  end)
  write("commands", "Commands and flags · actorhost", function(page)
    page:add('<h1 id="top">Commands and flags</h1>')
    for name, text in require("actor.util").pairs(commands) do
      page:add('<section id="%s"><h2>actorhost %s</h2>', name, name)
      page:add('<pre tabindex="0">' .. command_html(name, text, texts) .. "</pre></section>")
    end
  end)
  local figure = guides.page("examples/accuracy.svg")
  write("index", "actorhost", function(page) index_page(page, figure) end)
  files["accuracy.svg"] = figure
  files["reference.css"] = guides.page("stdlib/actor/help/reference.css")
  files["reference.js"] = guides.page("stdlib/actor/help/reference.js")
  files["search.js"] = search_file(texts)
  local broken = all:broken()
  if #broken > 0 then error("the reference has broken links:\n" .. table.concat(broken, "\n"), 0) end
  return files
end

---Makes the list that `actorhost help WORDS` searches.
---@param commands table<string, string>
---@return actor.help.Text[]
function M.texts(commands)
  local texts = {}
  search.add_guides(texts)
  for _, module in ipairs(M.modules) do
    local head = head_of(module)
    if head then search.add_entry(texts, head, module) end
    for _, item in ipairs(help.listing(module == "actor" and "actor" or "actor." .. module)) do
      search.add_entry(texts, item.entry, item.name)
    end
  end
  for name, text in require("actor.util").pairs(commands) do command_html(name, text, texts) end
  return texts
end

return M
