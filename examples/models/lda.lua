-- Topics of texts: `actorhost -n 4 examples/models/lda.lua [--rounds 50]`. Latent Dirichlet allocation by collapsed
-- Gibbs sampling: every token of every text has a topic, and each round draws it anew from the counts of all other
-- tokens. Texts stay on their ranks. The counts of each word by topic rotate through the ranks (model B), so only the
-- rank that holds a word changes its counts. The topics' totals are combined after each round.
local actor = require "actor"
local collective, tensor = actor.collective, actor.tensor
local float64 = { dtype = "float64" }

local M = {}

M.defaults = { texts = 400, length = 40, words = 100, topics = 4, rounds = 50, alpha = 0.5, beta = 0.1 }

-- The i-th text: words 0 .. words - 1, mostly of two topics; each topic has its own words, with the first most
-- frequent.
function M.text(i, opt)
  local random, each = actor.rng(actor.seed, i), opt.words / opt.topics
  local topics, words = { random:below(opt.topics), random:below(opt.topics) }, {}
  for t = 1, opt.length do
    local topic = random:uniform() < 0.05 and random:below(opt.topics) or topics[random:int(2)]
    words[t] = math.floor((topic + random:uniform() ^ 2) * each)
  end
  return words
end

-- This rank's texts: its tokens by word, with random topics, and each text's counts by topic.
local function read_texts(opt, random)
  local tokens, texts = {}, {}
  for i = actor.rank, opt.texts - 1, actor.size do
    local counts = {}
    for k = 0, opt.topics - 1 do counts[k] = 0 end
    for _, word in ipairs(M.text(i, opt)) do
      local topic = random:below(opt.topics)
      counts[topic] = counts[topic] + 1
      tokens[word] = tokens[word] or {}
      table.insert(tokens[word], { text = counts, topic = topic })
    end
    texts[#texts + 1] = counts
  end
  return tokens, texts
end

-- The counts of this rank's tokens by word, and of all tokens by topic.
local function count(opt, tokens)
  local counts, totals = collective.table { name = "words" }, tensor.zeros(opt.topics, float64)
  for word, list in pairs(tokens) do
    local row = tensor.zeros(opt.topics, float64)
    for _, token in ipairs(list) do row:set(token.topic + 1, row:get(token.topic + 1) + 1) end
    counts:set(word, row)
    totals:add_(row)
  end
  return counts, assert(collective.allreduce(totals))
end

-- Draws new topics for the tokens of a word; `by_word`, `totals`: counts by topic, of the word and of all words.
local function draw(opt, random, list, by_word, totals)
  local weights, smooth = {}, opt.words * opt.beta
  for _, token in ipairs(list) do
    local old, in_text = token.topic, token.text
    in_text[old], by_word[old], totals[old] = in_text[old] - 1, by_word[old] - 1, totals[old] - 1
    local sum = 0
    for k = 0, opt.topics - 1 do
      sum = sum + (in_text[k] + opt.alpha) * (by_word[k] + opt.beta) / (totals[k] + smooth)
      weights[k] = sum
    end
    local at, new = random:uniform() * sum, 0
    while new < opt.topics - 1 and weights[new] <= at do new = new + 1 end
    in_text[new], by_word[new], totals[new] = in_text[new] + 1, by_word[new] + 1, totals[new] + 1
    token.topic = new
  end
end

-- The logarithm of c (c + 1) (c + 2) ..., n factors.
local function log_rising(c, n)
  local sum = 0
  for i = 0, n - 1 do sum = sum + math.log(c + i) end
  return sum
end

-- Collective: the log likelihood of all tokens with their topics, per token.
local function likelihood(opt, counts, totals, texts)
  local sum = 0
  for _, text in ipairs(texts) do
    for k = 0, opt.topics - 1 do sum = sum + log_rising(opt.alpha, text[k]) end
    sum = sum - log_rising(opt.topics * opt.alpha, opt.length)
  end
  for _, row in counts:pairs() do
    for k = 1, opt.topics do sum = sum + log_rising(opt.beta, row:get(k)) end
  end
  sum = assert(collective.allreduce(tensor({ sum }, float64))):item()
  for k = 1, opt.topics do sum = sum - log_rising(opt.words * opt.beta, totals:get(k)) end
  return sum / totals:sum()
end

-- Collective: samples. Returns the words' counts by topic (a table, each word on one rank) and the topics' totals.
-- Calls `report(round, likelihood, counts, totals)` after each round.
function M.sample(opt, report)
  local random = actor.rng(actor.seed, opt.texts + actor.rank)
  local tokens, texts = read_texts(opt, random)
  local counts, totals = count(opt, tokens)
  assert(counts:regroup())
  local rotator = collective.rotator { table = counts }
  for round = 1, opt.rounds do
    local before = totals:clone()
    assert(rotator:round(function(slice)
      for word, by_word in slice:pairs() do
        if tokens[word] then draw(opt, random, tokens[word], by_word:data(), totals:data()) end
      end
    end))
    -- Adds the changes of the other ranks; no rank's totals include them yet.
    totals = before + assert(collective.allreduce(totals - before))
    report(round, likelihood(opt, counts, totals, texts), counts, totals)
  end
  return counts, totals
end

local function run(opt)
  local counts, totals = M.sample(opt, function(round, value)
    if round % 5 == 0 or round == 1 then print(("round %3d: log likelihood of a token %.4f"):format(round, value)) end
  end)
  assert(counts:allgather())
  for k = 1, opt.topics do
    local words = counts:ids()
    table.sort(words, function(a, b)
      local x, y = counts:get(a):get(k), counts:get(b):get(k)
      return x > y or x == y and a < b
    end)
    print(("topic %d: %5d tokens, most often of words %s"):format(k, totals:get(k), table.concat(words, " ", 1, 8)))
  end
end

if ... ~= "lda" then run(actor.options(M.defaults)) end -- not when another script requires it
return M
