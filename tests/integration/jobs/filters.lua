-- The job of filters_test.cpp.
local actor = require "actor"
local each = require "each_worker"

local param, tensor, optim = actor.param, actor.tensor, actor.optim
local opt = actor.options { push = "", pull = "", steps = 200, wide = 300, pull_in_lua = false }
local rows, width = 1000, 400
local data

local function problem()
  if not data then
    local x = tensor.normal({ rows, width }, { seed = 100 + actor.id })
    local noise = tensor.normal(rows, { seed = 200 + actor.id }) * 0.1
    data = { x = x, y = x:matmul(tensor.normal(width, { seed = 5 })) + noise }
  end
  return data
end

local function residuals(w) return problem().x:matmul(w) - problem().y end

local function descend(_, updates)
  local new, out = {}, {}
  for _, update in ipairs(updates) do
    local key = update[1]
    if not new[key] then
      new[key] = param.get(key)
      out[#out + 1] = { key, new[key] }
    end
    new[key]:add_(update[2] * -0.05)
  end
  return out
end

local summary = param.run {
  init = function()
    return { w = tensor.zeros(width), wide = tensor.zeros(opt.wide), small = tensor.zeros(10), plain = { 1 } }
  end,
  schedule = each(function(id) return { { "w" }, { "wide" }, { "small" }, { "plain" } } end),
  push = function(ctx, entries)
    local w, wide = entries[1][2], entries[2][2]
    return {
      { "w", problem().x:transpose():matmul(residuals(w)) / rows },
      { "wide", wide - tensor.normal(opt.wide, { seed = ctx.id }) },
      { "small", tensor.ones(10) },
    }
  end,
  pull = opt.pull_in_lua and descend or optim.sgd { lr = 0.05 },
  stop = function(ctx) return ctx.step >= opt.steps end,
  filter = (opt.push ~= "" or opt.pull ~= "") and
    { push = opt.push ~= "" and opt.push or nil, pull = opt.pull ~= "" and opt.pull or nil } or nil,
}
print(("loss: %.8f"):format(residuals(param.get("w")):square():mean()))
print("hash: " .. actor.hash { param.get("w"), param.get("wide") })
print(("small: %.3f"):format(param.get("small"):get(1)))
if summary.filter then
  for _, way in ipairs { "push", "pull" } do
    local bytes = summary.filter[way]
    print(("%s: %d"):format(way .. " before", bytes.before))
    print(("%s: %d"):format(way .. " after", bytes.after))
    print(("%s: %.4f"):format(way .. " ratio", bytes.ratio))
  end
end
