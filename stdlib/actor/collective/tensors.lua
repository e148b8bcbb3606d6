--- The collectives on tensors and plain Lua values. Each function takes the number of a group first; init.lua has the
--- public methods. Ranks are places in the group, from 0. Tensors are cut and joined along their first dimension: part
--- r of d rows has d div n rows, plus one for the first d mod n ranks. A tensor without dimensions counts as one row.
local check = require("actor.check")
local c = require("actor.c.collective")
local tensor = require("actor.tensor")
local base = require("actor.tensor.base")
local calls = require("actor.collective.call")
local rehearsal = require("actor.rehearsal")
local new_tensor, settle, give = base.new, base.settle, base.give
local prepare, finish, place, report_loss = calls.prepare, calls.finish, calls.place, calls.report_loss
local checked_root, everywhere = calls.checked_root, calls.everywhere

local M = {}

local target_options = { out = "cdata?", inplace = "boolean?" }

local function checked_tensor(value, fn)
  if not tensor.is_tensor(value) then check.wrong("tensor", fn, "tensor", value) end
end

-- Copies a result that is a tensor into the target tensor of the options, if given.
local function deliver(result, input, options)
  if not options or not tensor.is_tensor(result) then return result end
  local target = options.inplace and input or options.out
  if not target or rawequal(target, result) then return result end
  if rawequal(result, input) then return target:copy_(result) end
  return give(target, result)
end

-- Whether the options have no other keys than targets.
local function only_targets(options)
  for key, value in next, options do
    if not (key == "inplace" and value == true or key == "out" and tensor.is_tensor(value)) then return false end
  end
  return true
end

-- Rows [first, first + count): the part of place `r` of `n` in `rows` rows.
local function part_of(rows, n, r)
  local each, longer = math.floor(rows / n), rows % n
  return r * each + math.min(r, longer), each + (r < longer and 1 or 0)
end

local function rows_of(t) return t.ndim == 0 and 1 or t.shape[1] end

local function as_rows(t) return t.ndim == 0 and t:reshape(1) or t end

-- "float32[*,3]": the layout that ranks must agree on when first dimensions may differ.
local function row_layout(t)
  local sizes = t.shape
  sizes[1] = "*"
  return ("%s[%s]"):format(t.dtype, table.concat(sizes, ","))
end

-- A tensor cut into the parts of `n` ranks, or an array of n values as it is.
local function cut(value, n, fn)
  if not tensor.is_tensor(value) then
    check.arg(value, "table", "value", fn)
    if #value ~= n then check.fail("bad argument 'value' to %s: expected %d values, one for each rank, got %d", fn, n, #value) end
    local parts = { n = n }
    for i = 1, n do parts[i] = value[i] end
    return parts
  end
  local rows, t = rows_of(value), as_rows(value)
  local parts = { n = n }
  for r = 0, n - 1 do
    local first, count = part_of(rows, n, r)
    parts[r + 1] = count > 0 and t:narrow(1, first + 1, count) or t:narrow(1, 1, 0)
  end
  return parts
end

-- An array with field n and a value only at place `i` (from 0).
local function only(n, i, value) return { n = n, [i + 1] = value } end

local function same(result) return result end

function M.barrier(group, options)
  local call = prepare(group, "barrier", options)
  return finish(call, same, c.barrier(call))
end

function M.broadcast(group, value, root, options)
  local call = prepare(group, "broadcast", options, target_options)
  root = checked_root(root, "collective.broadcast")
  local me, n = place(call)
  if not n then return report_loss(call) end
  local function post(result)
    if me == root then result = value end
    return deliver(result, value, options)
  end
  return finish(call, post, c.broadcast(call, value, root))
end

-- Gathers at the lowest rank, which folds in rank order and sends the result to the other ranks, so that only one rank
-- calls `fn`. With `cut_result` each rank gets its part of the result.
local function fold_by_function(call, value, fn, cut_result)
  if call.async then
    check.fail("collective.%s: a function as op runs in Lua, so the call cannot run in the background; leave out async", call.name)
  end
  local parts, message, code = M.gather(call.group, value, 0, { timeout = call.timeout, list = true })
  if code then return nil, message, code end
  local outcome
  if parts ~= true then
    local worked, total = true, parts[1]
    for i = 2, parts.n do
      if worked then worked, total = pcall(fn, total, parts[i]) end
    end
    if worked and cut_result then worked, total = pcall(cut_result, total, parts.n) end
    outcome = { worked, worked and total or tostring(total) }
    if cut_result then
      local whole = outcome
      outcome = {}
      for i = 1, parts.n do outcome[i] = worked and { true, total[i] } or whole end
    end
  end
  local hand_out = cut_result and M.scatter or M.broadcast
  outcome, message, code = hand_out(call.group, outcome, 0, { timeout = call.timeout })
  if code then return nil, message, code end
  if not outcome[1] then check.fail("collective.%s: the function failed on rank 0: %s", call.name, outcome[2]) end
  return outcome[2]
end

local function checked_op(op, fn)
  if op == nil then return "sum" end
  if type(op) ~= "string" and type(op) ~= "function" then check.wrong("op", fn, "string or function", op) end
  return op
end

-- The tensor to combine: the sum of bool counts true elements in int64, as `t:sum()` does.
local function counted(value, op)
  if (op == nil or op == "sum") and tensor.is_tensor(value) and value.type_ == base.dtypes.bool then
    return value:to("int64")
  end
  return value
end

local function general_allreduce(group, value, op, options)
  local call = prepare(group, "allreduce", options, target_options)
  local function post(result) return deliver(result, value, options) end
  op = checked_op(op, "collective.allreduce")
  if type(op) == "function" then return finish(call, post, fold_by_function(call, value, op)) end
  checked_tensor(value, "collective.allreduce")
  return finish(call, post, c.reduction(call, "allreduce", counted(value, op), op))
end
general_allreduce = calls.together(general_allreduce)

function M.allreduce(group, value, op, options)
  if options == nil or only_targets(options) then
    local result = new_tensor()
    if rehearsal.active then rehearsal.run_checks() end
    local done, message, code = c.allreduce(group, counted(value, op), op, result)
    if done then
      settle()
      return deliver(result, value, options)
    elseif code then
      return nil, message, code
    end
  end
  return general_allreduce(group, value, op, options)
end

function M.reduce(group, value, op, root, options)
  local call = prepare(group, "reduce", options, target_options)
  op = checked_op(op, "collective.reduce")
  root = checked_root(root, "collective.reduce")
  local me, n = place(call)
  if not n then return report_loss(call) end
  local function post(result) return me ~= root or deliver(result, value, options) end
  if type(op) == "function" then return finish(call, post, fold_by_function(call, value, op)) end
  checked_tensor(value, "collective.reduce")
  return finish(call, post, c.reduction(call, "reduce", counted(value, op), op, root))
end

function M.reduce_scatter(group, value, op, options)
  local fn = "collective.reduce_scatter"
  local call = prepare(group, "reduce_scatter", options, { out = "cdata?" })
  op = checked_op(op, fn)
  local function post(result) return deliver(result, nil, options) end
  if type(op) == "function" then
    return finish(call, post, fold_by_function(call, value, op, function(total, n) return cut(total, n, fn) end))
  end
  checked_tensor(value, fn)
  return finish(call, post, c.reduction(call, "reduce_scatter", counted(value, op), op))
end

local gather_options = { out = "cdata?", list = "boolean?" }

-- Whether the values are joined as rows, and the layout that ranks must agree on.
local function layout_of(value, options)
  if tensor.is_tensor(value) and not (options and options.list) then return true, row_layout(value) end
  return false, "values"
end

function M.allgather(group, value, options)
  local call = prepare(group, "allgather", options, gather_options)
  local joined, layout = layout_of(value, options)
  local _, n = place(call)
  if not n then return report_loss(call) end
  local function post(result) return deliver(result, nil, options) end
  return finish(call, post, c.exchange(call, layout, everywhere(n, value), everywhere(n, true), joined))
end

function M.gather(group, value, root, options)
  local call = prepare(group, "gather", options, gather_options)
  root = checked_root(root, "collective.gather")
  local joined, layout = layout_of(value, options)
  local me, n = place(call)
  if not n then return report_loss(call) end
  if root >= n then check.fail("bad argument 'root' to collective.gather: there is no rank %d among %d", root, n) end
  local function post(result) return me ~= root or deliver(result, nil, options) end
  return finish(call, post, c.exchange(call, ("%s to rank %d"):format(layout, root), only(n, root, value),
    me == root and everywhere(n, true) or { n = n }, me == root and joined))
end

function M.scatter(group, value, root, options)
  local call = prepare(group, "scatter", options, { out = "cdata?" })
  root = checked_root(root, "collective.scatter")
  local me, n = place(call)
  if not n then return report_loss(call) end
  if root >= n then check.fail("bad argument 'root' to collective.scatter: there is no rank %d among %d", root, n) end
  local gives = me == root and cut(value, n, "collective.scatter") or { n = n }
  local function post(parts) return deliver(parts[root + 1], nil, options) end
  return finish(call, post, c.exchange(call, ("from rank %d"):format(root), gives, only(n, root, true)))
end

function M.alltoall(group, value, options)
  local call = prepare(group, "alltoall", options, { out = "cdata?" })
  local _, n = place(call)
  if not n then return report_loss(call) end
  local joined, layout = layout_of(value)
  local function post(result) return deliver(result, nil, options) end
  return finish(call, post, c.exchange(call, layout, cut(value, n, "collective.alltoall"), everywhere(n, true), joined))
end

for _, name in ipairs { "broadcast", "reduce", "reduce_scatter", "allgather", "gather", "scatter", "alltoall" } do
  M[name] = calls.together(M[name])
end

return M
