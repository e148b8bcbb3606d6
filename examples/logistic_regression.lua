-- Logistic regression on rows in LIBSVM's format with any two labels (--data a9a.txt; without it on generated rows).
-- The barrier is swapped during the run: the first half uses bsp, the second waits only for workers more than four
-- steps behind.
local actor = require "actor"
local param, data, nn = actor.param, actor.data, actor.nn
local opt = actor.options { data = "", updates = 600, batch = 32, lr = 0.1 }
local function made_up() -- every node writes the same rows to its own file
  local rng, path = actor.rng(actor.seed), os.tmpname()
  local file = assert(io.open(path, "w"))
  for _ = 1, 1000 do
    local a, b = rng:normal(), rng:normal()
    file:write(("%d 1:%.4f 2:%.4f\n"):format(2 * a - b + 0.5 > 0 and 1 or -1, a, b))
  end
  file:close()
  return path
end

local path = opt.data ~= "" and opt.data or made_up()
local x, labels = data.libsvm(path, { sparse = true }) -- stores only the values of the file
if opt.data == "" then os.remove(path) end
local found = labels:unique():totable()
if #found ~= 2 then
  local kind = #found == 0 and "no rows" or #found == 1 and "the one label " or "the labels "
  error(("%s has %s%s; there have to be rows of two classes"):format(path, kind,
    table.concat(found, ", ", 1, math.min(#found, 9))), 0)
end
local classes = labels:eq(found[2]) + 1 -- 1 and 2
local batch = math.min(opt.batch, x.n)
local net = nn.sequential { nn.linear(x.width, 2, { init = "zeros" }) }
local function rows(first, count) -- as dense tensors
  local positions = data.range(first, first + count - 1)
  return data.batch(x, positions), data.batch(classes, positions)
end
local rng, swapped = actor.rng(actor.seed, actor.id), false

local summary = param.train {
  net = net,
  batch = function() return rows(rng:int(1, x.n - batch + 1), batch) end,
  pull = actor.optim.sgd { lr = opt.lr },
  stop = function(ctx)
    if not swapped and ctx.updates >= opt.updates / 2 then
      swapped = true
      print("from here on under ssp:4")
      param.set_barrier("ssp:4")
    end
    return ctx.updates >= opt.updates
  end,
}
local right = 0
for first = 1, x.n, 1000 do
  local count = math.min(1000, x.n - first + 1)
  right = right + count * net:accuracy(rows(first, count))
end
print(("%d updates, accuracy %.1f %%"):format(summary.updates, 100 * right / x.n))
