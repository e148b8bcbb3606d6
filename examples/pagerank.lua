-- Ranks pages by the links between them: `actorhost -n 4 examples/pagerank.lua [--links FILE] [--iterations 10] [--top 5]`.
-- FILE has a line `FROM TO` for each link; without one a web is made in which early pages are linked to more often.
local actor = require "actor"
local mr = require "actor.mapreduce"

local opt = actor.options { links = "", pages = 1000, iterations = 10, top = 5 }
local seed, DAMPING = actor.seed, 0.85

local edges
if opt.links ~= "" then
  edges = mr.load(opt.links):map(function(line) return line:match("^(%S+)%s+(%S+)") end)
else
  edges = mr.generate(opt.pages, function(page) return page end):flatmap(function(page)
    local random, to = actor.rng(seed, page), {}
    for i = 1, 8 do to[i] = { page, random:int(random:int(opt.pages)) } end
    return to
  end):map(unpack)
end

-- Each page and where it links to, spread by page: the joins below move ranks, never links. Pages that link to nothing
-- are here because of the `false`.
local links = edges:distinct():union(edges:values():map(function(page) return page, false end))
  :group_by_key()
  :map_values(function(all)
    local to = {}
    for _, page in ipairs(all) do to[#to + 1] = page or nil end
    return to
  end)
  :cache()
local n = links:count()
local ranks = links:map_values(function() return 1 / n end)

for _ = 1, opt.iterations do
  local given = links:join(ranks)
    :flatmap(function(page, joined)
      local to, rank = joined[1], joined[2]
      local gifts = { { page, 0 } } -- so that pages without links to them stay
      for _, other in ipairs(to) do gifts[#gifts + 1] = { other, rank / #to } end
      return gifts
    end)
    :reduce_by_key(mr.sum)
    :cache()
  local kept = 1 - given:values():sum() -- by pages without links, which give to all
  ranks = given:map_values(function(sum) return (1 - DAMPING) / n + DAMPING * (sum + kept / n) end)
end

print(("%d pages, their ranks add up to %.6f"):format(n, ranks:values():sum()))
for _, pair in ipairs(ranks:top(opt.top, function(_, rank) return rank end)) do
  print(("%.6f  %s"):format(pair[2], pair[1]))
end
