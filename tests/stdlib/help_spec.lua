--- The parts of actor.help: docstrings, their types, searches, links, and Lua in colours.
local colours = require("actor.help.colours")
local docstrings = require("actor.help.docstrings")
local guides = require("actor.help.guides")
local links = require("actor.help.links")
local luacats = require("actor.help.luacats")
local search = require("actor.help.search")

local text = [[
--- A module.
local M = {}

---@class actor.sample.Thing: actor.Context
---@field size integer how large
---more about the size
---@field private hidden table
local Thing = {}

---Adds numbers.
---```lua nodes=2
---if true then
---  print(actor.sample.add(1, 2))  --> 3
---end
---```
---@param a number
---@param b? number
---@return number sum
function M.add(a, b) return a + b end

---Joins.
---@type fun(self: actor.sample.Thing, other: {a: integer, b: fun(x: string)}, options?: table): boolean
Thing.join = make("join")
]]

local function read()
  local entries, by_name = {}, {}
  docstrings.read("actor.sample", text, entries)
  for _, entry in ipairs(entries) do by_name[entry.name] = entry end
  return by_name
end

test("an example is apart from its docstring, with its indentation and number of nodes", function()
  local entry = read().add
  equal(entry.title, "sample.add(a, b)")
  equal(entry.text, { "Adds numbers.", "@param a number", "@param b? number", "@return number sum" })
  equal(entry.examples, { { code = "if true then\n  print(actor.sample.add(1, 2))  --> 3\nend", nodes = 2 } })
  equal(entry.line, 19)
end)

test("a class has its base and its fields without private fields", function()
  local found = read()
  equal(found.Thing.base, "actor.Context")
  equal(found.size.text, { "integer how large", "more about the size" })
  equal(found.size.line, 5)
  equal(found.hidden, nil)
end)

test("the type of a function gives the arguments of a method without self", function()
  equal(read().join.title, "thing:join(other, options)")
end)

test("a docstring is split into its description and its tags with types", function()
  local description, tags = luacats.parse { "Does it.", "@param fn fun(a: integer, b?: string): boolean, nil called",
    "  with both", "@param mode? \"a b\"|\"c\" how", "@return {n: integer, of: T[]} result all of it" }
  equal(description, { "Does it." })
  equal(tags[1].name, "fn")
  equal(tags[1].type, "fun(a: integer, b?: string): boolean, nil")
  equal(tags[1].text, "called with both")
  equal({ tags[2].name, tags[2].optional, tags[2].type, tags[2].text }, { "mode", true, '"a b"|"c"', "how" })
  equal({ tags[3].kind, tags[3].type, tags[3].text }, { "return", "{n: integer, of: T[]}", "result all of it" })
end)

test("the names of a type are its classes, without the language's types, keys and texts", function()
  local found = {}
  local type = 'table<string, actor.A[]>|fun(key: actor.B, n?: integer): "actor.C"|ffi.cdata*'
  local same = luacats.names(type, function(name)
    found[#found + 1] = name
    return "<" .. name .. ">"
  end)
  equal(found, { "actor.A", "actor.B" })
  equal(same, 'table<string, <actor.A>[]>|fun(key: <actor.B>, n?: integer): "actor.C"|ffi.cdata*')
end)

test("every type in the library's docstrings is known", function()
  local help = require("actor.help")
  local known, checked = {}, 0
  for module in pairs(require("actor.c.core").library()) do known[module] = true end
  for _, entry in ipairs(help.all()) do
    if entry.type then known[entry.type] = true end
  end
  for _, entry in ipairs(help.all()) do
    local _, tags = luacats.parse(entry.text)
    local types = {}
    for _, tag in ipairs(tags) do types[#types + 1] = tag.type end
    if entry.class or entry.alias then types[#types + 1] = luacats.split_type(entry.text[1] or "") end
    if entry.base then types[#types + 1] = entry.base end
    for _, type in ipairs(types) do
      luacats.names(type, function(name)
        checked = checked + 1
        if not known[name] then error(("%s:%d: unknown type '%s'"):format(entry.module, entry.line, name)) end
        return name
      end)
    end
  end
  holds(checked, ">", 1000)
end)

test("a search ignores common words and endings, and prefers titles and rare words", function()
  equal(search.words("How do I read the files of a job?"), { "read", "fil", "job" })
  local texts = {
    search.text("function", "data.lines", "Reads lines of files.", {}),
    search.text("function", "data.csv", "Reads a CSV file of numbers. Lines end in LF.", {}),
    search.text("guide", "Files", "About jobs.", {}),
  }
  equal(search.find(texts, "reading csv")[1].title, "data.csv")
  equal(search.find(texts, "files")[1].title, "Files")
  equal(#search.find(texts, "no such thing"), 0)
  equal(texts[2].summary, "Reads a CSV file of numbers.")
end)

test("an unknown type is a broken link, with the place of its docstring", function()
  local all = links.new()
  all:define("actor.Known", "x.html#actor.Known")
  equal(all:type("actor.Known[]|nil", "a.lua:1"), '<a href="x.html#actor.Known">actor.Known</a>[]|nil')
  equal(all:broken(), {})
  equal(all:type("table<string, actor.Unknown>", "a.lua:2"), "table&lt;string, actor.Unknown&gt;")
  equal(all:broken(), { "a.lua:2: there is no type actor.Unknown" })
end)

test("code that is a known name is a link, by its long or its short form", function()
  local all = links.new()
  all:define("dataset:map", "mapreduce.html#dataset:map")
  all:define("mapreduce.load", "mapreduce.html#mapreduce.load")
  equal(all:of_code("d:map(fn)"), "mapreduce.html#dataset:map")
  equal(all:of_code("actor.mapreduce.load"), "mapreduce.html#mapreduce.load")
  equal(all:of_code('mr.load("x")'), "mapreduce.html#mapreduce.load")
  equal(all:of_code("d:map(fn) and more"), "mapreduce.html#dataset:map")
  equal(all:of_code("load - 1"), nil)
end)

test("Lua in colours keeps its text", function()
  local code = 'local s = "a \\" b" .. [[c]] -- note --> 1\nif x < 0x1F then return end --> two'
  local html = colours.lua(code)
  equal(html:gsub("<[^>]*>", ""):gsub("&lt;", "<"):gsub("&gt;", ">"):gsub("&quot;", '"'):gsub("&amp;", "&"), code)
  matches(html, '<span class="k">local</span>', true)
  matches(html, '<span class="c">-- note </span><span class="o">--&gt; 1</span>', true)
  matches(html, '<span class="n">0x1F</span>', true)
  equal(colours.lua("[=[ for ]] ]=]"), '<span class="s">[=[ for ]] ]=]</span>')
end)

test("a guide with a heading that its page lacks is an error", function()
  local wrong = { name = "x", title = "x", about = "x", parts = { { "README.md", from = "No such heading" } } }
  raises(function() guides.sections(wrong) end, "README.md has no heading 'No such heading'")
  raises(function() guides.sections { parts = { { "no/such/page.md" } } } end, "which the program does not contain")
  equal(guides.sections { parts = { { "no/such/page.md", optional = true } } }, {})
end)

test("a guide's section is the text up to the next heading of its level", function()
  local part = { "examples/guides/questions.md", from = "How do I read a CSV file?" }
  local sections = guides.sections { parts = { part } }
  equal(#sections, 1)
  equal(sections[1].anchor, "how-do-i-read-a-csv-file")
  matches(sections[1].text, "data.csv", true)
end)
