--- Native parts of `iterate`, for k-means and PageRank: each is a function to be given as prepare, step or merge.
---
---     local centroids = points:iterate {
---       state = tensor.new(first, { dtype = "float64" }), prepare = mr.points, step = mr.nearest_sums, fold = true,
---       merge = mr.centroids, steps = 10,
---     }
---     local ranks = links:iterate {
---       state = tensor.full(n, 1 / n, { dtype = "float64" }), prepare = mr.links, step = mr.gifts, fold = true,
---       merge = mr.ranks { damping = 0.85 }, steps = 10,
---     }
local check = require("actor.check")
local ffi = require("ffi")
local tensor = require("actor.tensor")
local as_pair = require("actor.mapreduce.values").as_pair
local api = require("actor.ffi")("mapreduce")

local M = {}

local float64 = { dtype = "float64" }

local natives = setmetatable({}, { __mode = "k" })

---Whether `fn` is one of these functions, which make new tensors and write to no others.
---@param fn function
---@return boolean
function M.is_native(fn) return natives[fn] == true end

local function finite(x) return type(x) == "number" and x - x == 0 end

local function checked_state(state, dims, fn)
  if not tensor.is_tensor(state) or state.dtype ~= "float64" or state.ndim ~= dims then
    check.fail("%s: the state has to be a float64 tensor of %d dimensions", fn, dims)
  end
  return state:contiguous()
end

---To prepare k-means: rows that are points, as pairs of numbers, arrays of numbers or numbers, all of as many dimensions.
---@param rows fun(): any, any
---@return actor.Tensor points float64 [n, dims]; [0, 0] without rows
function M.points(rows)
  local values, n, dims = {}, 0, nil
  local function add(x, row)
    if not finite(x) then error(("mr.points: point %d of the partition has a coordinate that is no finite number: %s"):format(row,
      tostring(x)), 0) end
    values[#values + 1] = x
  end
  for a, b in rows do
    n = n + 1
    local before = #values
    if type(a) == "table" and b == nil then
      for i = 1, #a do add(a[i], n) end
    else
      add(a, n)
      if b ~= nil then add(b, n) end
    end
    local here = #values - before
    dims = dims or here
    if here ~= dims or here == 0 then
      error(("mr.points: point %d of the partition has %d dimensions, the first one %d"):format(n, here, dims), 0)
    end
  end
  local points = tensor.empty({ n, dims or 0 }, float64)
  local to = points:data()
  for i = 1, #values do to[i - 1] = values[i] end
  return points
end

---A step of k-means (Lloyd 1982): what the points that are nearest to each centroid add up to, and how many they are.
---@param points actor.Tensor as `points` made them
---@param centroids actor.Tensor float64 [k, dims]
---@param _ integer
---@param sums? actor.Tensor those of partitions before this one, with `fold`
---@return actor.Tensor sums float64 [k, dims + 1]
function M.nearest_sums(points, centroids, _, sums)
  centroids = checked_state(centroids, 2, "mr.nearest_sums")
  local k, dims = unpack(centroids.shape)
  local n = points.shape[1]
  if n > 0 and points.shape[2] ~= dims then
    check.fail("mr.nearest_sums: points have %d dimensions and centroids %d", points.shape[2], dims)
  end
  sums = sums or tensor.zeros({ k, dims + 1 }, float64)
  local read = api.nearest_sums(points:data(), n, dims, centroids:data(), k, sums:data())
  if read < n then
    check.fail("mr.nearest_sums: no centroid is nearest to point %d of the partition: a centroid is not finite", tonumber(read) + 1)
  end
  return sums
end

---To merge k-means: the means; a centroid without points stays where it is.
---@param before actor.Tensor float64 [k, dims]
---@param parts actor.Tensor[] as `nearest_sums` made them
---@return actor.Tensor float64 [k, dims]
function M.centroids(before, parts)
  local k, dims = unpack(before.shape)
  local sums = tensor.zeros({ k, dims + 1 }, float64)
  for _, part in ipairs(parts) do sums:add_(part) end
  local after = before:clone()
  local from, to = sums:data(), after:data()
  for i = 0, k - 1 do
    local count = from[i * (dims + 1) + dims]
    if count > 0 then
      for d = 0, dims - 1 do to[i * dims + d] = from[i * (dims + 1) + d] / count end
    end
  end
  return after
end

local function page(value, what)
  if type(value) ~= "number" or value < 1 or value ~= math.floor(value) or value > 2 ^ 32 - 1 then
    error(("mr.links: %s has to be a page's number, from 1 on, got %s"):format(what, tostring(value)), 0)
  end
  return value - 1
end

---To prepare PageRank: pairs of a page and an array of the pages that it links to, by number, from 1 on.
---@param rows fun(): integer, integer[]
---@return table links
function M.links(rows)
  local at, begin, to, most = {}, { 0 }, {}, 0
  for a, b in rows do
    local number, others = as_pair(a, b)
    at[#at + 1] = page(number, "a row's key")
    if type(others) ~= "table" then error("mr.links: a row's value has to be an array of pages, got a " .. type(others), 0) end
    most = math.max(most, number)
    for i = 1, #others do
      to[#to + 1] = page(others[i], "an element of a row's value")
      most = math.max(most, others[i])
    end
    begin[#begin + 1] = #to
  end
  return {
    at = ffi.new("uint32_t[?]", #at, at), begin = ffi.new("uint64_t[?]", #begin, begin), to = ffi.new("uint32_t[?]", #to, to),
    pages = #at, most = most,
  }
end

---A step of PageRank: what the partition's pages give along their links.
---@param links table as `links` made them
---@param ranks actor.Tensor float64 [n]
---@param _ integer
---@param gifts? actor.Tensor those of partitions before this one, with `fold`
---@return actor.Tensor gifts float64 [n]
function M.gifts(links, ranks, _, gifts)
  ranks = checked_state(ranks, 1, "mr.gifts")
  if links.most > ranks.size then
    check.fail("mr.gifts: there is a page %d and the state has %d ranks", links.most, tonumber(ranks.size))
  end
  gifts = gifts or tensor.zeros(ranks.shape, float64)
  api.link_gifts(links.at, links.begin, links.to, links.pages, ranks:data(), gifts:data())
  return gifts
end

local function checked_gifts(part, n)
  if not tensor.is_tensor(part) or part.dtype ~= "float64" or part.size ~= n then
    check.fail("mr.ranks: what a step returns has to be a float64 tensor of as many elements as the state, %d", tonumber(n))
  end
  return part:contiguous()
end

---To merge PageRank (Page et al. 1998): what pages without links keep is given to all.
---@param options? {damping?: number} default 0.85
---@return fun(before: actor.Tensor, gifts: actor.Tensor[]): actor.Tensor
function M.ranks(options)
  check.options(options or {}, { damping = "number?" }, "mr.ranks")
  local damping = options and options.damping or 0.85
  check.number(damping, "damping", "mr.ranks", 0, 1)
  local function merge(before, parts)
    local arrays, held = ffi.new("const double*[?]", #parts), {} -- a copy that was made to be contiguous stays
    for i, part in ipairs(parts) do
      held[i] = checked_gifts(part, before.size)
      arrays[i - 1] = held[i]:data()
    end
    local after = tensor.empty(before.shape, float64)
    api.link_ranks(arrays, #parts, before.size, damping, after:data())
    return after
  end
  natives[merge] = true
  return merge
end

natives[M.nearest_sums], natives[M.centroids], natives[M.gifts] = true, true, true

return M
