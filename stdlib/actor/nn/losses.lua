--- Losses: each returns the mean over the batch and its gradient.
local ffi = require("ffi")
local check = require("actor.check")
local base = require("actor.tensor.base")
local spelling = require("actor.c.names")

local api, C = base.api, ffi.C
local M = {}

local loss_out = ffi.new("double[1]")

local flipped ---@type integer? number of changed batches, while labels are changed

---Calls `fn` with its labels reversed in cross_entropy: K + 1 - label of K classes. For an attack (actor.attack).
---@param fn fun(...): any
---@param ... any arguments of `fn`
---@return any result
---@return integer batches number of changed batches
function M.with_flipped_labels(fn, ...)
  flipped = 0
  local fine, result = xpcall(fn, debug.traceback, ...)
  local batches = flipped
  flipped = nil
  if not fine then error(result, 0) end
  return result, batches
end

---Computes the softmax cross-entropy, the mean over the rows of -log(softmax(scores)[label]), and its gradient.
---```lua
---local loss = actor.nn.cross_entropy(actor.tensor.zeros { 1, 2 }, actor.tensor.ones(1))
---print(("%.3f"):format(loss))  --> 0.693
---```
---@param scores actor.Tensor (rows, classes), before softmax
---@param labels actor.Tensor (rows), whole numbers from 1 to classes
---@param out? actor.Tensor takes the gradient; may be `scores` itself
---@return number loss
---@return actor.Tensor gradient of the scores, (rows, classes)
function M.cross_entropy(scores, labels, out)
  local fn = "nn.cross_entropy"
  base.arg(scores, "scores", fn)
  base.arg(labels, "labels", fn)
  if out ~= nil then base.arg(out, "out", fn) end
  if flipped then
    flipped = flipped + 1
    labels = labels:neg() + (scores.extent_[1] + 1)
  end
  local slope = out or base.new()
  local status = api.cross_entropy(loss_out, slope, scores, labels)
  if status == C.AH_TENSOR_SHAPE then
    check.fail("bad argument to %s: expected scores (rows, classes) and labels (rows), got %s and %s", fn,
      base.shape_text(scores), base.shape_text(labels))
  end
  base.finish(status, fn, scores, labels, slope)
  return loss_out[0], slope
end

-- Targets in the shape of the scores; (rows) is accepted for (rows, 1).
local function targets_like(scores, targets, fn)
  base.arg(scores, "scores", fn)
  base.arg(targets, "targets", fn)
  if targets.ndim_ == 1 and scores.ndim_ == 2 and scores.extent_[1] == 1 then targets = targets:unsqueeze(2) end
  if not base.same_shape(scores, targets) then
    check.fail("bad argument to %s: expected scores and targets of one shape, got %s and %s", fn,
      base.shape_text(scores), base.shape_text(targets))
  end
  if targets.type_ ~= scores.type_ then targets = targets:to(scores.dtype) end
  return targets
end

---Computes the mean squared error, the mean over all elements of (scores - targets)^2, and its gradient.
---```lua
---print((actor.nn.mse(actor.tensor.new { { 1, 3 } }, actor.tensor.zeros { 1, 2 })))  --> 5
---```
---@param scores actor.Tensor
---@param targets actor.Tensor of the same shape; (rows) for scores (rows, 1)
---@param out? actor.Tensor takes the gradient; may be `scores` itself
---@return number loss
---@return actor.Tensor gradient of the scores
function M.mse(scores, targets, out)
  targets = targets_like(scores, targets, "nn.mse")
  local difference = scores:sub(targets, out)
  local norm, count = difference:norm(), difference.size
  return norm * norm / count, difference:mul_(2 / count)
end

---Computes the hinge loss, the mean over all elements of max(0, 1 - targets * scores), and its gradient.
---```lua
---print((actor.nn.hinge(actor.tensor.new { { 0.5 } }, actor.tensor.ones { 1, 1 })))  --> 0.5
---```
---@param scores actor.Tensor
---@param targets actor.Tensor of the same shape, -1 or 1; (rows) for scores (rows, 1)
---@param out? actor.Tensor takes the gradient; may be `scores` itself
---@return number loss
---@return actor.Tensor gradient of the scores
function M.hinge(scores, targets, out)
  local fn = "nn.hinge"
  targets = targets_like(scores, targets, fn)
  if targets.size > 0 and not (targets:abs():min() == 1 and targets:abs():max() == 1) then
    check.fail("bad argument 'targets' to %s: expected -1 or 1 everywhere (2 * t - 1 makes them of 0 and 1)", fn)
  end
  local margin = scores:mul(targets):neg_()
  margin = margin + 1
  local loss, count = margin:relu():sum(), margin.size
  local slope = targets:neg():relu_grad(margin, out)
  return loss / count, slope:mul_(1 / count)
end

---The loss function of a name, or the given function itself.
---@param loss any
---@param fn string
---@return fun(scores: actor.Tensor, targets: actor.Tensor, out?: actor.Tensor): number, actor.Tensor
function M.find(loss, fn)
  if type(loss) == "function" then return loss end
  local names = { cross_entropy = true, mse = true, hinge = true }
  if type(loss) == "string" and names[loss] then return M[loss] end
  check.wrong("loss", fn, "one of 'cross_entropy', 'mse', 'hinge', or a function", loss,
    type(loss) == "string" and spelling.suggestion(loss, names, "'", "'") or nil)
end

return M
