-- Ranks pages by the links between them: `actorhost -n 4 examples/pagerank.lua [--links FILE] [--iterations 10] [--top
-- 5]`. Under a rule like `--barrier ssp:2` nodes continue with ranks that lack the last contributions of other nodes.
-- FILE has a line `FROM TO` for each link, as SNAP's graphs; blank lines and lines that begin with # are ignored.
-- Without a file the job generates a web where early pages have more links.
local actor = require "actor"
local mr = require "actor.mapreduce"
local tensor = require "actor.tensor"

local opt = actor.options { links = "", pages = 1000, iterations = 10, top = 5 }
local seed, DAMPING = actor.seed, 0.85

local edges
if opt.links ~= "" then
  edges = mr.load(opt.links):filter(function(line) return line:find("^%s*[^#%s]") end):map(function(line)
    local from, to = line:match("^%s*(%S+)%s+(%S+)")
    if not to then error(("%s: not a link 'FROM TO': '%s'"):format(opt.links, line), 0) end
    return from, to
  end)
else
  edges = mr.generate(opt.pages, function(page) return page end):flatmap(function(page)
    local random, to = actor.rng(seed, page), {}
    for i = 1, 8 do to[i] = { page, random:int(random:int(opt.pages)) } end
    return to
  end):map(unpack)
end

-- Each page and its links. The `false` keeps pages without links.
local links = edges:distinct():union(edges:values():map(function(page) return page, false end))
  :group_by_key()
  :map_values(function(all)
    local to = {}
    for _, page in ipairs(all) do to[#to + 1] = page or nil end
    return to
  end)
  :cache()

local pages, place = links:keys():collect(), {} -- indices in the vector of ranks
for i, page in ipairs(pages) do place[page] = i end
local n = #pages
if n == 0 then error("there are no links in " .. opt.links, 0) end

-- Replaces the pages of a partition by their indices.
local function in_places(rows)
  local out = {}
  for page, others in rows do
    local to = {}
    for i, other in ipairs(others) do to[i] = place[other] end
    out[#out + 1] = { at = place[page], to = to }
  end
  return out
end

-- Adds the contributions of a partition's pages to those of the node's previous partitions.
local function contributions_of(rows, ranks, _, contributions)
  contributions = contributions or tensor.zeros(n, { dtype = "float64" })
  local rank, sums = ranks:data(), contributions:data() -- their elements, from 0
  for _, page in ipairs(rows) do
    local each = rank[page.at - 1] / #page.to
    for _, other in ipairs(page.to) do sums[other - 1] = sums[other - 1] + each end
  end
  return contributions
end

local function ranks_of(_, contributions)
  local sum = tensor.zeros(n, { dtype = "float64" })
  for _, part in ipairs(contributions) do sum:add_(part) end
  local dangling = 1 - sum:sum() -- the share of pages without links, spread over all pages
  return (sum + dangling / n) * DAMPING + (1 - DAMPING) / n
end

local ranks = links:iterate {
  state = tensor.full(n, 1 / n, { dtype = "float64" }),
  prepare = in_places, step = contributions_of, fold = true, merge = ranks_of, steps = opt.iterations,
}

print(("%d pages, their ranks add up to %.6f"):format(n, ranks:sum()))
local best = {}
for i, page in ipairs(pages) do best[i] = { page = page, rank = ranks:data()[i - 1] } end
table.sort(best, function(a, b) return a.rank > b.rank or (a.rank == b.rank and a.page < b.page) end)
for i = 1, math.min(opt.top, n) do print(("%.6f  %s"):format(best[i].rank, best[i].page)) end
