--- NumPy and PyTorch names that `actor.tensor` lacks, with its own names, for the error about an unknown name.
local check = require("actor.check")
local spelling = require("actor.c.names")

local ours = {
  array = "tensor.new", asarray = "tensor.new", tensor = "tensor.new",
  rand = "tensor.uniform", randn = "tensor.normal", randint = "tensor.integers", randperm = "tensor.permutation",
  cat = "tensor.concat", concatenate = "tensor.concat", vstack = "tensor.concat", hstack = "tensor.concat",
  astype = "t:to(dtype)", copy = "t:clone()", tolist = "t:totable()", numpy = "t:totable()", numel = "t.size",
  expand = "t:broadcast_to(shape)", expand_dims = "t:unsqueeze(dim)", ravel = "t:flatten()", T = "t:transpose()",
  swapaxes = "t:transpose(i, j)", amax = "t:max(dim)", amin = "t:min(dim)", clip = "t:clamp(low, high)",
  absolute = "t:abs()", index_select = "t:take(index, dim)", masked_select = "t:masked(mask)", mm = "a:matmul(b)",
  bmm = "a:matmul(b)", inv = "t:inverse()",
}

local M = { ours = ours }

---Raises the error about an unknown name, with the name to use or the nearest known name.
---@param owner string "tensor." or "tensor:"
---@param name string
---@param known table the names that there are
function M.unknown(owner, name, known)
  if ours[name] then check.fail("there is no %s%s: use %s", owner, name, ours[name]) end
  spelling.unknown(owner, name, known)
end

return M
