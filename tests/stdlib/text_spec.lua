--- Texts in UTF-8: words, case, normalisation, length.
local text = require("actor.text")
local is_compiled = require("is_compiled")

local function words(of)
  local out = {}
  for word in text.words(of) do out[#out + 1] = word end
  return table.concat(out, "|")
end

test("words are letters and digits of any script, with their marks", function()
  equal(words("Привет, мир! 2 мира"), "Привет|мир|2|мира")
  equal(words("ΟΔΟΣ ἄνθρωπος"), "ΟΔΟΣ|ἄνθρωπος")
  equal(words("Straße, café"), "Straße|café")
  equal(words("cafe\204\129 na\195\175ve"), "cafe\204\129|na\195\175ve") -- e with a combining accent
  equal(words("नमस्ते दुनिया"), "नमस्ते|दुनिया")
  equal(words("日本語テキスト、中文。한국어"), "日本語テキスト|中文|한국어")
  equal(words("one 👩‍👩‍👧 two🙂three"), "one|two|three")
  equal(words("a_b-c/d x2"), "a|b|c|d|x2")
  equal(words("\204\129a"), "a") -- a mark without a letter
  equal(words(""), "")
  equal(words(" .,\n\t"), "")
end)

test("an apostrophe or a joiner is part of a word only between letters", function()
  equal(words("don't 'quoted' l’été rock'n'roll'"), "don't|quoted|l’été|rock'n'roll")
  equal(words("it''s '' '"), "it|s")
  equal(words("co\194\173op \194\173 می‌خواهم"), "co\194\173op|می‌خواهم") -- a soft hyphen, a joiner
  equal(words("\239\187\191first"), "first") -- a byte order mark
end)

test("invalid UTF-8 bytes are no letters and stay unchanged", function()
  equal(words("caf\233 mir"), "caf|mir") -- Latin-1
  equal(words("a\255b\192\175c\237\160\128d"), "a|b|c|d") -- overlong, a surrogate
  equal(words("\208"), "") -- truncated
  equal(text.lower("ПРИ\255ВЕТ\208"), "при\255вет\208")
  equal(text.fold("ß\255"), "ss\255")
  equal(text.nfc("e\204\129\255e\204"), "é\255e\204")
  equal(text.length("\255\254a"), 3)
  equal(text.length("\0a\0"), 3)
end)

test("the iterator returns words beyond its first batch, and nil after the last word", function()
  local many = {}
  for i = 1, 1000 do many[i] = "w" .. i end
  equal(words(table.concat(many, " ")), table.concat(many, "|"))
  local next_word = text.words("a b")
  equal({ next_word(), next_word(), next_word(), next_word() }, { "a", "b" })
end)

test("lower knows the letters of all scripts, and the final sigma", function()
  equal(text.lower("Hello, World"), "hello, world")
  equal(text.lower("ПРИВЕТ Ёлка"), "привет ёлка")
  equal(text.lower("ΟΔΟΣ ΣΑΣ, Σ"), "οδος σας, σ")
  equal(text.lower("Σ'Α ΑΣ'Α ΑΣ'"), "σ'α ασ'α ας'") -- an apostrophe does not end a word
  equal(text.lower("STRAßE ẞ"), "straße ß")
  equal(text.lower("Iı İ"), "iı i\204\135") -- no Turkish rules
  equal(text.lower("日本"), "日本")
  equal(text.lower("ÉCOLE E\204\129"), "école e\204\129")
end)

test("fold makes texts that differ in case alone the same", function()
  equal(text.fold("STRASSE"), text.fold("Straße"))
  equal(text.fold("ΟΔΟΣ"), text.fold("οδος"))
  equal(text.fold("ПриВет"), "привет")
  equal(text.fold("ﬁ"), "fi")
  equal(text.fold("Hello"), "hello")
end)

test("nfc composes a letter and its marks if a composed character exists", function()
  equal(text.nfc("cafe\204\129"), "café")
  equal(text.nfc("café"), "café")
  equal(text.nfc("plain"), "plain")
  equal(text.nfc("\225\132\146\225\133\161\225\134\171"), "한")
  equal(text.nfc("x\204\129"), "x\204\129") -- no composed character exists
end)

test("length counts code points, or visible characters", function()
  equal(text.length("мир"), 3)
  equal(text.length("日本"), 2)
  equal(text.length("cafe\204\129"), 5)
  equal(text.length("cafe\204\129", "graphemes"), 4)
  equal(text.length("👩‍👩‍👧"), 5)
  equal(text.length("👩‍👩‍👧🙂", "graphemes"), 2)
  equal(text.length("", "graphemes"), 0)
  equal(text.length("a\255", "graphemes"), 2)
end)

test("ASCII text has the same results as Lua's functions", function()
  local random = require("actor.rng")(scratch_seed, 1)
  for _ = 1, 200 do
    local bytes = {}
    for i = 1, random:int(0, 60) do bytes[i] = string.char(random:int(0, 127)) end
    local ascii = table.concat(bytes):gsub("'", "")
    local expected = {}
    for word in ascii:gmatch("%w+") do expected[#expected + 1] = word end
    equal(words(ascii), table.concat(expected, "|"))
    equal(text.lower(ascii), ascii:lower())
    equal(text.nfc(ascii), ascii)
    equal(text.length(ascii), #ascii)
  end
end)

test("any bytes are accepted, and words occur in the text in order", function()
  local random = require("actor.rng")(scratch_seed, 2)
  for _ = 1, 500 do
    local bytes = {}
    for i = 1, random:int(0, 40) do bytes[i] = string.char(random:int(0, 255)) end
    local any = table.concat(bytes)
    local from = 1
    for word in text.words(any) do
      local first, last = any:find(word, from, true)
      assert(first and #word > 0)
      from = last + 1
    end
    assert(text.length(any) <= #any and text.length(any, "graphemes") <= text.length(any))
    text.lower(text.fold(text.nfc(any)))
  end
end)

test("wrong arguments are errors at the user's line", function()
  raises(function() text.words(5) end, "text_spec.lua:%d+: bad argument 'text' to text.words: expected string")
  raises(function() text.lower() end, "bad argument 'text' to text.lower")
  raises(function() text.length("a", "bytes") end, "unit")
end)

test("a loop over the words of a text is compiled", function()
  local line = ("some words "):rep(200)
  equal(is_compiled(function()
    local bytes = 0
    for word in text.words(line) do bytes = bytes + #word end
    return bytes
  end), spec_mode ~= "jit-off")
end)
