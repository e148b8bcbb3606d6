--- Tensors in NumPy's files: tensor.save and tensor.load. numpy_spec.lua reads files written by NumPy.
local tensor = require("actor.tensor")
local text_file = require("text_file")

local types = { "float32", "float64", "int32", "int64", "uint8", "bool" }
local function wrong(pattern, body) raises(body, "^tensor_files_spec.lua:%d+: .*" .. pattern) end

test("a tensor of every type and shape survives a round trip through a file", function()
  text_file.with("", function(path)
    for _, dtype in ipairs(types) do
      local t = tensor.arange(24):view(2, 3, 4):to(dtype)
      for _, part in ipairs { t, t:transpose(1, 3), t:slice(3, 1, 4, 3), t:narrow(2, 1, 0), t:select(1, 2):flatten() } do
        tensor.save(path, part)
        local back = tensor.load(path)
        equal({ back.dtype, back.shape, back:equal(part) }, { dtype, part.shape, true })
      end
      tensor.save(path, tensor.ones({}, { dtype = dtype }))
      equal({ tensor.load(path).shape, tensor.load(path):item() }, { {}, dtype == "bool" or 1 })
    end
  end)
end)

test("named tensors are loaded by name, and equal tensors give equal bytes", function()
  text_file.with("", function(path)
    local set = { w = tensor.ones { 2, 2 }, ["layer.1"] = tensor.new { true, false }, n = tensor.new { 2LL } }
    tensor.save(path, set)
    local back, bytes = tensor.load(path), text_file.read(path)
    for name, t in pairs(set) do equal(back[name]:equal(t), true, name) end
    equal(tensor.load("file://" .. path).n:equal(set.n), true)
    tensor.save(path, set)
    equal(text_file.read(path) == bytes, true)
    tensor.save(path, {})
    equal(tensor.load(path), {})
  end)
end)

test("a damaged file is an error with its name and place", function()
  text_file.with("", function(path)
    local name = path:gsub("%p", "%%%0")
    local function damaged(text, pattern)
      text_file.write(path, text)
      wrong(name .. pattern, function() tensor.load(path) end)
    end
    tensor.save(path, tensor.arange(10))
    local good = text_file.read(path)
    damaged("", ", byte 0: truncated magic")
    damaged("no array at all", ", byte 0: not a .npy array")
    damaged(good:sub(1, 40), ", byte 40: truncated header")
    damaged(good:sub(1, -2), ", byte 128: truncated data: the shape needs 40 bytes, at most 39 are there")
    damaged(good .. "x", ", byte 168: bytes follow the end")
    damaged(good:gsub("<f4", "<c8"), ", byte %d+: element type '<c8' is not read")
    damaged(good:gsub("%(10,%)", "(99,)"), ", byte 128: truncated data: the shape needs 396 bytes, at most 40")
    tensor.save(path, { a = tensor.arange(10), b = tensor.arange(10) })
    local archive = text_file.read(path)
    damaged(archive:sub(1, -5), ": no .npz archive")
    local inside = archive:find("NUMPY", 1, true)
    damaged(archive:sub(1, inside - 1) .. "X" .. archive:sub(inside + 1), ": array 'a', byte 0: not a .npy array")
  end)
end)

test("errors of wrong calls name the expected value", function()
  wrong("bad argument 'path' to tensor.load: expected string, got nil", function() tensor.load() end)
  wrong("nowhere/x.npy", function() tensor.load("/nowhere/x.npy") end)
  wrong("nowhere/x.npy", function() tensor.save("/nowhere/x.npy", tensor.ones(1)) end)
  wrong("bad argument 'value' to tensor.save: expected a tensor or a table of named tensors, got number", function()
    tensor.save("x", 1)
  end)
  wrong("bad argument 'w' to tensor.save: expected a tensor, got number", function() tensor.save("x", { w = 1 }) end)
  wrong("bad argument 'name' to tensor.save: expected string, got number", function() tensor.save("x", { tensor.ones(1) }) end)
end)
