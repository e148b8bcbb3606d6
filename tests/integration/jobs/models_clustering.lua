-- Jobs of models_clustering_test.cpp; the first argument selects the job.
local actor = require "actor"

local jobs = {}

-- The points of examples/models/kmeans.lua, clustered in a single loop.
function jobs.plain_means()
  local opt = actor.options { "JOB", points = 0, clusters = 0, dims = 0, iterations = 0 }
  local function draw(i)
    local random, at = actor.rng(actor.seed, i), {}
    for d = 1, opt.dims do at[d] = 10 * math.sin((i % opt.clusters + 1) * (d + 1)) + random:normal() end
    return at
  end
  local centroids, counts = {}, {}
  for id = 0, opt.clusters - 1 do centroids[id], counts[id] = draw(id), 0 end
  for _ = 1, opt.iterations do
    local sums = {}
    for id = 0, opt.clusters - 1 do
      counts[id], sums[id] = 0, {}
      for d = 1, opt.dims do sums[id][d] = 0 end
    end
    for i = 0, opt.points - 1 do
      local point, nearest, least = draw(i), nil, math.huge
      for id = 0, opt.clusters - 1 do
        local far = 0
        for d = 1, opt.dims do far = far + (point[d] - centroids[id][d]) ^ 2 end
        if far < least then nearest, least = id, far end
      end
      counts[nearest] = counts[nearest] + 1
      for d = 1, opt.dims do sums[nearest][d] = sums[nearest][d] + point[d] end
    end
    for id = 0, opt.clusters - 1 do
      for d = 1, opt.dims do
        if counts[id] > 0 then centroids[id][d] = sums[id][d] / counts[id] end
      end
    end
  end
  for id = 0, opt.clusters - 1 do
    local at = {}
    for d = 1, opt.dims do at[d] = ("%10.6f"):format(centroids[id][d]) end
    print(("%3d: %s  %d points"):format(id, table.concat(at, " "), counts[id]))
  end
end

-- A single sampler with all texts and all counts, by the formula of the paper; prints the final likelihood of the
-- tokens.
function jobs.plain_topics()
  local lda = require "lda"
  local opt = lda.defaults
  local random = actor.rng(actor.seed, 12345)
  local K, V, alpha, beta = opt.topics, opt.words, opt.alpha, opt.beta
  local in_text, by_word, totals, tokens = {}, {}, {}, {}
  for k = 1, K do totals[k] = 0 end
  local function zeros()
    local list = {}
    for k = 1, K do list[k] = 0 end
    return list
  end
  for word = 0, V - 1 do by_word[word] = zeros() end
  local function move(token, by)
    local k = token.topic
    in_text[token.text][k] = in_text[token.text][k] + by
    by_word[token.word][k] = by_word[token.word][k] + by
    totals[k] = totals[k] + by
  end
  for i = 0, opt.texts - 1 do
    in_text[i] = zeros()
    for _, word in ipairs(lda.text(i, opt)) do
      local token = { text = i, word = word, topic = random:int(K) }
      tokens[#tokens + 1] = token
      move(token, 1)
    end
  end
  for _ = 1, opt.rounds do
    for _, token in ipairs(tokens) do
      move(token, -1)
      local weights, sum = {}, 0
      for k = 1, K do
        weights[k] = (in_text[token.text][k] + alpha) * (by_word[token.word][k] + beta) / (totals[k] + V * beta)
        sum = sum + weights[k]
      end
      local at, k = random:uniform() * sum, 1
      while k < K and at >= weights[k] do at, k = at - weights[k], k + 1 end
      token.topic = k
      move(token, 1)
    end
  end
  local ffi = require "ffi"
  ffi.cdef "double lgamma(double x);"
  local lgamma = ffi.C.lgamma
  local sum = 0
  for i = 0, opt.texts - 1 do
    for k = 1, K do sum = sum + lgamma(in_text[i][k] + alpha) - lgamma(alpha) end
    sum = sum + lgamma(K * alpha) - lgamma(opt.length + K * alpha)
  end
  for k = 1, K do
    for word = 0, V - 1 do sum = sum + lgamma(by_word[word][k] + beta) - lgamma(beta) end
    sum = sum + lgamma(V * beta) - lgamma(totals[k] + V * beta)
  end
  print("plain sampler: " .. sum / #tokens)
end

-- After each round: every token is counted once, under its word, and the totals are the sums of the words' counts.
function jobs.counted(...)
  local lda = require "lda"
  local opt = {}
  for name, value in pairs(lda.defaults) do opt[name] = value end
  opt.rounds, opt.texts = 6, tonumber((...))
  local occurs = {}
  for i = 0, opt.texts - 1 do
    for _, word in ipairs(lda.text(i, opt)) do occurs[word] = (occurs[word] or 0) + 1 end
  end
  local rounds = 0
  lda.sample(opt, function(_, _, counts, totals)
    local all, words = assert(counts:copy():allgather()), 0
    local sum = actor.tensor.zeros(opt.topics, { dtype = "float64" })
    for word, row in all:pairs() do
      assert(row:sum() == occurs[word] and row:min() >= 0, "a token is lost or is there twice")
      sum:add_(row)
      words = words + 1
    end
    for _ in pairs(occurs) do words = words - 1 end
    assert(words == 0 and sum:equal(totals), "totals that are not the words'")
    rounds = rounds + 1
  end)
  print("rounds counted: " .. rounds)
end

jobs[(...)](select(2, ...))
