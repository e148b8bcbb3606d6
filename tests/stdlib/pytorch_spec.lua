--- Files of PyTorch: pytorch_cases.py writes them with PyTorch's own networks and results.
local nn = require("actor.nn")
local tensor = require("actor.tensor")
local text_file = require("text_file")

local folder = source_dir .. "/tests/stdlib/"
local results = tensor.load(folder .. "pytorch_results.safetensors")

local function with_file(body)
  local path = os.tmpname() .. ".safetensors"
  local fine, message = xpcall(body, debug.traceback, path)
  os.remove(path)
  os.remove((path:gsub("%.safetensors$", "")))
  if not fine then error(message, 0) end
end

-- The network of pytorch_cases.py; PyTorch has no layer for the dropout that changes no result here.
local function net_of_pytorch(options)
  options = options or {}
  return nn.input { 7, 6, 2 }:conv2d { 3, 2, 2, 4, groups = 2, padding = "valid", name = "conv1" }
    :batch_norm { name = "bn1" }:relu():max_pool2d { 2, 2, padding = "valid" }:flatten():dropout(0.5)
    :linear(options.width or 5, nil, { name = options.name or "fc1" }):batch_norm { name = "bn2" }:tanh()
    :linear(4, nil, { name = "fc2" }):network { seed = 3 }
end

test("weights of a PyTorch network give PyTorch's results", function()
  local net = net_of_pytorch()
  net:load_file(folder .. "pytorch_net.safetensors")
  local y = net:predict(results["net.x"]:permute(1, 3, 4, 2))
  equal(y:allclose(results["net.y"], { rtol = 1e-5, atol = 1e-5 }), true, tostring(y) .. tostring(results["net.y"]))
end)

test("net:save writes the bytes that PyTorch's package writes and load_state_dict accepts", function()
  local net = net_of_pytorch()
  net:load_file(folder .. "pytorch_net.safetensors")
  with_file(function(path)
    net:save(path)
    equal(text_file.read(path) == text_file.read(folder .. "pytorch_saved.safetensors"), true)
  end)
end)

test("nn.sequential counts its layers from 0 in a file, as torch.nn.Sequential does", function()
  local function chain() return nn.sequential { nn.linear(3, 4), nn.relu(), nn.linear(4, 2) } end
  local stored = folder .. "pytorch_sequential.safetensors"
  local net = chain()
  net:load_file(stored)
  equal(net:predict(results["sequential.x"]):allclose(results["sequential.y"], { rtol = 1e-5, atol = 1e-6 }), true)
  with_file(function(path)
    net:save(path)
    equal(text_file.read(path) == text_file.read(stored), true)
  end)
end)

test("a network in a network, dropout's counts and layers of nn.define survive a round trip", function()
  nn.define("pytorch_spec_scale", function(shape)
    return {
      shape = shape, weights = { factor = { shape = { shape[#shape] }, init = "ones" } },
      forward = function(self, x) return x * self.params.factor end, backward = function(_, dy) return dy end,
    }
  end)
  local function build(seed)
    local inner = nn.input { 4, 3, 2 }:conv2d { 3, 3, 2, 5 }:fully_connected(6, "relu"):network { seed = seed }
    local outer = nn.input { 6 }:dropout(0.5):pytorch_spec_scale():embedding(9, 2):network { seed = seed }
    return nn.sequential { inner, outer }
  end
  local net, other = build(1), build(2)
  net.state["2.dropout.batches"]:fill_(12)
  net.params["2.pytorch_spec_scale.factor"]:fill_(7)
  with_file(function(path)
    net:save(path)
    local values, metadata = tensor.load(path)
    equal(values["0.conv2d.weight"].shape, { 5, 2, 3, 3 })
    equal(values["0.fully_connected.weight"].shape, { 6, 60 })
    equal(metadata, { format = "pt", ["actorhost.1.dropout.batches"] = "12" })
    other:load_file(path)
    for name, t in pairs(net.params) do equal(other.params[name]:equal(t), true, name) end
    equal(other.state["2.dropout.batches"]:item(), 12)
  end)
end)

test("a file of another network is an error that names file, tensor and PyTorch's shape, and changes nothing", function()
  local stored = folder .. "pytorch_net.safetensors"
  local function refuses(net, pattern)
    local before = net.flat_params:hash()
    raises(function() net:load_file(stored) end, "^pytorch_spec.lua:%d+: .*" .. pattern)
    equal(net.flat_params:hash(), before)
  end
  refuses(net_of_pytorch { name = "other" }, "pytorch_net.safetensors has no 'other.bias', a tensor of the network")
  refuses(net_of_pytorch { width = 6 }, "'fc1.bias' of .*: expected PyTorch's shape %(6%), got %(5%)")
  refuses(nn.input { 5 }:linear(4, nil, { name = "fc2" }):network { seed = 1 },
    "has 'bn1.bias', but the network has no such tensor")
end)

test("elements of each type are read with their values, names and metadata", function()
  local got, metadata = tensor.load(folder .. "pytorch_types.safetensors")
  equal(metadata, { by = "PyTorch", a = "b" })
  local floats = { 0, 1, -2.5, 100 }
  local wanted = {
    ["größe"] = { "float32", {}, 3.5 }, empty = { "float32", { 2, 0, 3 }, {} }, f64 = { "float64", { 4 }, floats },
    f32 = { "float32", { 4 }, floats }, f16 = { "float32", { 4 }, floats }, bf16 = { "float32", { 4 }, floats },
    i64 = { "int64", { 2 }, { -2LL ^ 62, 5LL } }, i32 = { "int32", { 2 }, { -2 ^ 31, 5 } },
    i16 = { "int32", { 2 }, { -2 ^ 15, 5 } }, i8 = { "int32", { 2 }, { -128, 5 } }, u8 = { "uint8", { 2 }, { 255, 5 } },
    bool = { "bool", { 2 }, { true, false } },
  }
  for name, t in pairs(got) do
    local dtype, shape, values = unpack(wanted[name])
    equal({ t.dtype, t.shape }, { dtype, shape }, name)
    if #shape == 1 then equal(t:equal(tensor.new(values, { dtype = dtype })), true, name) end
    wanted[name] = nil
  end
  equal(got["größe"]:item(), 3.5)
  equal(next(wanted), nil)
end)

test("named tensors of each type and shape, and texts, survive a round trip, with equal bytes", function()
  with_file(function(path)
    local set = { [""] = tensor.ones {}, ["a/b \n\0 ü"] = tensor.new { 2LL }, empty = tensor.zeros { 3, 0 } }
    for _, dtype in ipairs { "float32", "float64", "int32", "int64", "uint8", "bool" } do
      set[dtype] = tensor.arange(24):view(2, 3, 4):to(dtype):transpose(1, 3)
    end
    local texts = { ["ü"] = "line\n\"2\"", [""] = "\0" }
    tensor.save(path, set, { metadata = texts })
    local back, metadata = tensor.load(path)
    equal(metadata, texts)
    for name, t in pairs(set) do
      equal({ back[name].dtype, back[name].shape, back[name]:equal(t) }, { t.dtype, t.shape, true }, name)
    end
    local bytes = text_file.read(path)
    tensor.save(path, set, { metadata = texts })
    equal(text_file.read(path) == bytes, true)
    tensor.save(path, {})
    equal({ tensor.load(path) }, { {}, {} })
    equal(text_file.read(path), "\8\0\0\0\0\0\0\0{}      ")
  end)
end)

test("what a .safetensors file cannot store is an error at the script's line", function()
  local function wrong(pattern, ...)
    local given = { n = select("#", ...), ... }
    raises(function() tensor.save(unpack(given, 1, given.n)) end, "^pytorch_spec.lua:%d+: .*" .. pattern)
  end
  with_file(function(path)
    local t = tensor.ones(2)
    wrong("a .safetensors file has named tensors: { x = t }, got one tensor", path, t)
    wrong("tensor '__metadata__' cannot be stored: the name is the name of the metadata", path, { __metadata__ = t })
    wrong("have to be UTF%-8", path, { ["\255"] = t })
    wrong("have to be UTF%-8", path, { a = t }, { metadata = { a = "\255" } })
    wrong("'metadata.n' to tensor.save: expected string, got number", path, { a = t }, { metadata = { n = 1 } })
    wrong("only a .safetensors file has metadata", "x.npz", { a = t }, { metadata = { n = "1" } })
    equal(text_file.read(path), nil)
  end)
end)
