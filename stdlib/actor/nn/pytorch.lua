--- The tensors of a network with the names and layouts of PyTorch: `net:save("x.safetensors")` writes a file that
--- `load_state_dict` of the same PyTorch network accepts, and `net:load_file` reads such a file.
---
--- A name is the layer's name, a dot, and PyTorch's name of the tensor: "fc1.weight". A model of `nn.sequential` counts
--- its layers from 0, as torch.nn.Sequential does. The layouts:
---
---     linear, fully_connected   weight (inputs, outputs)                    weight (outputs, inputs)
---     conv2d                    weight (height, width, channels, filters)   weight (filters, channels, height, width)
---     batch_norm, normalisation gamma, beta, mean, variance                 weight, bias, running_mean, running_var
---     embedding                 weight (count, width)                       the same
---     layers of nn.define       names and layouts as they are
---
--- A sample of three dimensions is an image: here (height, width, channels), in PyTorch (channels, height, width). A
--- layer after a flattened image therefore has another order of inputs in PyTorch, and its tensors are reordered. The
--- order after `nn.concat` of flattened images stays the order of this library.
local check = require("actor.check")
local base = require("actor.tensor.base")
local files = require("actor.tensor.files")
local util = require("actor.util")

local M = {}

---@class actor.nn.StoredTensor
---@field name string in the file
---@field tensor actor.Tensor of the network
---@field to fun(t: actor.Tensor): actor.Tensor from the network's layout to PyTorch's
---@field from fun(t: actor.Tensor): actor.Tensor from PyTorch's layout to the network's

local counter_prefix = "actorhost."
local renamed = { gamma = "weight", beta = "bias", mean = "running_mean", variance = "running_var" }

-- Kinds of layers that keep the number and the order of their input's elements.
local same_order = { flatten = true, dropout = true, batch_norm = true, normalisation = true, relu = true, tanh = true,
  sigmoid = true, gelu = true, softmax = true }

-- Returns {height, width, channels} if each sample in the result of step `i` is an image or a flattened image.
local function image_of(net, i)
  local step = net.steps[i]
  local shape
  if step then shape = rawget(step.layer, "shape") else shape = net.inputs and net.inputs[1 - i] end
  if step and step.layer.kind == "embedding" then return nil end
  if shape and #shape == 3 then return shape end
  if step and same_order[step.layer.kind] then return image_of(net, step.from[1]) end
end

local function unchanged(t) return t end

-- Functions that reorder the first dimension between the order of a flattened image here and PyTorch's order.
local function reordered(image)
  if not image then return unchanged, unchanged end
  local height, width, channels = unpack(image)
  local function to(t)
    return t:reshape(height, width, channels, -1):permute(3, 1, 2, 4):reshape(t.shape)
  end
  local function from(t)
    return t:reshape(channels, height, width, -1):permute(2, 3, 1, 4):reshape(t.shape)
  end
  return to, from
end

local function weight_of_linear(image)
  local to, from = reordered(image)
  return function(t) return to(t):transpose(1, 2) end, function(t) return from(t:transpose(1, 2)) end
end

local function weight_of_conv2d()
  return function(t) return t:permute(4, 3, 1, 2) end, function(t) return t:permute(3, 4, 2, 1) end
end

-- The functions `to` and `from` of a tensor of a layer.
local function layout_of(net, step, name)
  local layer = step.layer
  local kind = layer.kind
  if name == "weight" and (kind == "linear" or kind == "fully_connected") then
    return weight_of_linear(image_of(net, step.from[1]))
  elseif name == "weight" and kind == "conv2d" then
    return weight_of_conv2d()
  elseif (kind == "batch_norm" or kind == "normalisation") and #layer.shape == 1 then
    return reordered(image_of(net, step.from[1]))
  end
  return unchanged, unchanged
end

-- Whether the steps have the names of a model of nn.sequential.
local function is_sequential(net)
  for i, step in ipairs(net.steps) do
    if step.name ~= tostring(i) then return false end
  end
  return true
end

-- Appends the tensors of a network, with `prefix` before their names, and its counts of batches by name.
local function collect(net, prefix, tensors, counters)
  local sequential = is_sequential(net)
  for i, step in ipairs(net.steps) do
    local layer = step.layer
    local place = prefix .. (sequential and tostring(i - 1) or step.name) .. "."
    local by_channels = layer.kind == "batch_norm" or layer.kind == "normalisation"
    if layer.kind == "network" then
      collect(layer, place, tensors, counters)
    elseif layer.kind == "dropout" then
      counters[counter_prefix .. place .. "batches"] = layer.state.batches
    else
      for name, t in util.pairs(util.merged(layer.params, rawget(layer, "state") or {})) do
        local to, from = layout_of(net, step, name)
        tensors[#tensors + 1] = { name = place .. (by_channels and renamed[name] or name), tensor = t, to = to, from = from }
      end
    end
  end
end

---Writes parameters and state to a .safetensors file. Dropout's counts of batches, which PyTorch lacks, are in the
---file's metadata.
---@param net actor.nn.Network
---@param path string
function M.save(net, path)
  local tensors, counters, values, metadata = {}, {}, {}, { format = "pt" }
  collect(net, "", tensors, counters)
  for _, stored in ipairs(tensors) do
    if values[stored.name] then check.fail("net:save: two layers have a tensor '%s'", stored.name) end
    values[stored.name] = stored.to(stored.tensor)
  end
  for name, count in pairs(counters) do metadata[name] = ("%.0f"):format(count:get(1)) end
  files.save(path, values, { metadata = metadata })
end

---Copies the tensors of a .safetensors file into the network. The file must have exactly the network's tensors;
---PyTorch's `num_batches_tracked` is ignored. If the call raises, the network is unchanged.
---@param net actor.nn.Network
---@param path string for messages
---@param values table<string, actor.Tensor> the file's tensors
---@param metadata table<string, string> the file's metadata
function M.load(net, path, values, metadata)
  local tensors, counters, known = {}, {}, {}
  collect(net, "", tensors, counters)
  for _, stored in ipairs(tensors) do
    local value, wanted = values[stored.name], stored.to(stored.tensor)
    known[stored.name] = true
    if not value then check.fail("net:load_file: %s has no '%s', a tensor of the network", path, stored.name) end
    if base.shape_text(value) ~= base.shape_text(wanted) then
      check.fail("net:load_file: '%s' of %s: expected PyTorch's shape %s, got %s", stored.name, path,
        base.shape_text(wanted), base.shape_text(value))
    end
  end
  for name in util.pairs(values) do
    if not known[name] and not name:find("num_batches_tracked$") then
      check.fail("net:load_file: %s has '%s', but the network has no such tensor", path, name)
    end
  end
  for _, stored in ipairs(tensors) do stored.tensor:copy_(stored.from(values[stored.name])) end
  for name, count in pairs(counters) do
    local text = metadata[name]
    if text then count:fill_(tonumber(text) or 0) end
  end
end

return M
