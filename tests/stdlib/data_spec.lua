--- Data sets from Lua: files in and out, rows by position, shared digits.
local data = require("actor.data")
local is_compiled = require("is_compiled")
local tensor = require("actor.tensor")
local with_file = require("text_file").with

local function values(t)
  local out = {}
  local flat = t:contiguous():view(t.size)
  for i = 1, flat.size do out[i] = flat[i] end
  return out
end

local function escaped(text) return (text:gsub("%W", "%%%0")) end

test("a batch has images in 0..1 and labels as classes from 1, in the order of the positions", function()
  local set = data.digits({ n = 50, seed = 3 })
  equal({ set.n, #set.images, set.images.width, set.labels.width }, { 50, 50, 784, 1 })
  local x, y = set:batch({ 7, 1, 7 })
  equal(x.shape, { 3, 784 })
  equal(y.shape, { 3 })
  equal(x.dtype, "float32")
  equal(values(x:select(1, 1)), values(x:select(1, 3)))
  local alone = data.batch(set.images, data.range(7, 7))
  equal(values(x:select(1, 1)), values(alone))
  assert(x:min() >= 0 and x:max() <= 1 and x:max() > 0.5)
  for _, class in ipairs(values(data.batch(set.labels, data.range(1, 50)))) do
    assert(class >= 1 and class <= 10 and class % 1 == 0)
  end
end)

test("digits depend only on the seed and their number", function()
  local many, later = data.digits({ n = 20, seed = 5 }), data.digits({ n = 3, seed = 5, first = 11 })
  equal(values(data.batch(many.images, { 11, 12, 13 })), values(data.batch(later.images, { 1, 2, 3 })))
  equal(values(data.batch(many.labels, { 11, 12, 13 })), values(data.batch(later.labels, { 1, 2, 3 })))
  local other = data.digits({ n = 3, seed = 6, first = 11 })
  equal(tensor.allclose(data.batch(later.images, { 1 }), data.batch(other.images, { 1 })), false)
end)

test("a batch can be written into a given tensor", function()
  local set = data.digits({ n = 10 })
  local out = tensor.zeros({ 2, 784 })
  local same = data.batch(set.images, { 3, 4 }, out)
  assert(rawequal(same, out))
  equal(values(out), values(data.batch(set.images, { 3, 4 })))
  raises(function() data.batch(set.images, { 3 }, out) end,
    "data_spec.lua:%d+: bad argument 'out' to data.batch: expected a contiguous float32 tensor %(1, 784%), got float32 %(2, 784%)")
  raises(function() data.batch(set.images, { 3, 4 }, tensor.zeros({ 2, 784 }, { dtype = "float64" })) end, "got float64")
  raises(function() data.batch(set.images, { 3, 4 }, tensor.zeros({ 784, 2 }):transpose()) end, "contiguous")
  raises(function() data.batch(set.images, { 3, 4 }, 1) end, "bad argument 'out' to data.batch: expected a tensor")
end)

test("rows of tensors are gathered with their other dimensions and their type", function()
  local t = tensor.arange(24):view(4, 3, 2)
  local rows = data.batch(t, { 4, 1 })
  equal(rows.shape, { 2, 3, 2 })
  equal(values(rows), { 18, 19, 20, 21, 22, 23, 0, 1, 2, 3, 4, 5 })
  local doubles = data.batch(tensor({ 1.5, 2.5, 3.5 }, { dtype = "float64" }), { 3, 2 })
  equal(doubles.dtype, "float64")
  equal(values(doubles), { 3.5, 2.5 })
  equal(values(data.batch(tensor({ { 1, 2 }, { 3, 4 } }):transpose(), { 2 })), { 2, 4 })
end)

test("an invalid position is an error that names the position and its index", function()
  local set = data.digits({ n = 10 })
  raises(function() data.batch(set.images, { 1, 11 }) end,
    "data_spec.lua:%d+: bad argument 'positions' to data.batch: position 11 at index 2 is outside 1 .. 10")
  raises(function() data.batch(set.images, data.range(9, 12)) end, "position 11 at index 3")
  raises(function() data.batch(tensor.zeros({ 3, 2 }), { 4 }) end, "position 4 at index 1 is outside 1 .. 3")
  raises(function() data.batch(set.images, { 0 }) end, "positions%[1%]' to data.batch: expected a position")
  raises(function() data.batch(set.images, { 1.5 }) end, "expected a position")
  raises(function() data.batch(set.images, { "1" }) end, "expected a position")
  raises(function() data.batch(set.images, 1) end, "bad argument 'positions' to data.batch: expected table, got number")
  raises(function() data.batch({}, { 1 }) end, "bad argument 'source' to data.batch: expected rows or a tensor, got table")
  equal(data.batch(set.images, {}).shape, { 0, 784 })
  equal(#data.range(5, 4), 0)
end)

test("digits replace a missing MNIST with known sizes, and a message reports it", function()
  local mnist = data.mnist(nil, { train = 300, test = 100, seed = 4 })
  if mnist.source:find("synthetic digits", 1, true) then
    equal(mnist.source, "synthetic digits of seed 4 ('actorhost fetch mnist' gets the real MNIST)")
    equal({ mnist.train.n, mnist.test.n }, { 300, 100 })
    local same = data.digits({ n = 300, seed = 4 })
    equal(values(data.batch(mnist.train.images, { 300 })), values(data.batch(same.images, { 300 })))
  else
    matches(mnist.source, "^MNIST from .*/mnist$")
    equal({ mnist.train.n, mnist.test.n }, { 60000, 10000 })
  end
end)

test("a directory without MNIST is an error that names it", function()
  raises(function() data.mnist("/nowhere") end,
    "data_spec.lua:%d+: /nowhere: no file train%-images%-idx3%-ubyte or train%-images%-idx3%-ubyte.gz")
  raises(function() data.mnist(5) end, "bad argument 'dir' to data.mnist: expected string or nil, got number")
  raises(function() data.mnist(nil, { trian = 5 }) end, "unknown option 'trian' to data.mnist %(known: fetch, mirror, seed, sums, test, train%)")
end)

test("IDX files become tensors and sets of images", function()
  with_file("\0\0\8\3\0\0\0\2\0\0\0\1\0\0\0\2" .. "\0\255\51\102", function(images)
    equal(values(data.idx(images)), { 0, 255, 51, 102 })
    equal(data.idx(images).shape, { 2, 1, 2 })
    with_file("\0\0\8\1\0\0\0\2\7\0", function(labels)
      local set = data.images(images, labels)
      local x, y = set:batch({ 2, 1 })
      near(x[1][1], 0.2, 1e-7)
      equal(values(y), { 1, 8 })
      raises(function() data.images(labels, images) end, "images have magic 0x00000803")
    end)
    with_file("\0\0\8\1\0\0\0\3\1\2\3", function(labels)
      raises(function() data.images(images, labels) end, "data_spec.lua:%d+: .*3 labels found, 2 expected")
    end)
  end)
  with_file("\0\0\12\1\0\0\0\1\255\255\255\254", function(path) equal(values(data.idx(path)), { -2 }) end)
  with_file("\0\0\8\1\0\0\0\9", function(path)
    raises(function() data.idx(path) end, escaped(path) .. ": truncated: the dimensions 9 need 9 bytes of data, 0 found")
  end)
end)

test("CSV files become tensors, with names if there is a header", function()
  with_file("a;b\n1;2.5\n-3;\n", function(path)
    local t, names = data.csv(path, { delimiter = ";", header = true, missing = 9 })
    equal(names, { "a", "b" })
    equal(t.shape, { 2, 2 })
    equal(values(t), { 1, 2.5, -3, 9 })
    raises(function() data.csv(path, { delimiter = ";" }) end,
      "data_spec.lua:%d+: " .. escaped(path) .. ", line 1, column 1: 'a' is not a number")
    raises(function() data.csv(path, { delimiter = ";;" }) end, "bad argument 'delimiter' to data.csv: expected one character")
    raises(function() data.csv(path, { delimiter = "" }) end, "bad argument 'delimiter'")
  end)
  with_file("1,NA,2\n-,3,\n", function(path)
    local t = data.csv(path, { na = { "NA", "-" }, missing = 7 })
    equal({ t:get(1, 2), t:get(2, 1), t:get(2, 3) }, { 7, 7, 7 })
    raises(function() data.csv(path, { na = { "NA" }, missing = 7 }) end, "line 2, column 1: .*'%-'")
    raises(function() data.csv(path, { na = "NA" }) end, "expected table")
    raises(function() data.csv(path, { na = { 1 } }) end, "bad argument 'na' to data.csv: expected an array of strings, got number")
  end)
  with_file("1,NA\n", function(path)
    local x = data.csv(path, { na = { "NA" } }):get(1, 2)
    equal(x ~= x, true)
  end)
  with_file("", function(path) equal(data.csv(path).shape, { 0, 0 }) end)
  raises(function() data.csv("/nowhere.csv") end, "/nowhere.csv: cannot open for reading: No such file or directory")
  raises(function() data.csv("/") end, "is a directory")
  raises(function() data.csv() end, "bad argument 'path' to data.csv: expected string, got nil")
end)

test("time stamps in a table are float64 or an error, and columns are selected by name", function()
  with_file('# made\n"when, exactly",who,x,\n1700000037,ann,0.5,\n', function(path)
    local t, names = data.csv(path, { header = true, comment = "#", columns = { "x", "when, exactly" }, dtype = "float64" })
    equal(names, { "x", "when, exactly" })
    equal(t.dtype, "float64")
    equal(values(t), { 0.5, 1700000037 })
    equal(values(data.csv(path, { skip = 2, columns = { 3 } })), { 0.5 })
    raises(function() data.csv(path, { skip = 2, columns = { 1, 3 } }) end,
      escaped(path) .. ", line 3, column 1: '1700000037' would become 1700000000 in float32; use dtype = \"float64\"")
    raises(function() data.csv(path, { dtype = "int64" }) end,
      "data_spec.lua:%d+: bad argument 'dtype' to data.csv: expected one of 'float32', 'float64', got 'int64'")
    raises(function() data.csv(path, { columns = {} }) end, "bad argument 'columns' to data.csv: expected names or numbers")
    raises(function() data.csv(path, { columns = { 0 } }) end, "bad argument 'columns%[1%]' to data.csv: expected an integer")
    raises(function() data.csv(path, { comment = "//" }) end, "bad argument 'comment' to data.csv: expected one character")
    raises(function() data.csv(path, { skip = -1 }) end, "bad argument 'skip' to data.csv: expected an integer")
    raises(function() data.csv(path, { header = true, comment = "#", columns = { "y" } }) end,
      "data_spec.lua:%d+: .*`columns` has 'y', which is not in the header %('when, exactly', 'who', 'x'%)")
  end)
  with_file("1 1:1700000037\n", function(path)
    raises(function() data.libsvm(path) end, "line 1, column 3: '1700000037' would become 1700000000 in float32")
    equal(data.libsvm(path, { dtype = "float64" })[1][1], 1700000037)
  end)
end)

test("sparse LIBSVM rows become dense batch by batch", function()
  with_file("1 1:0.5 3:2\n-1\n2 2:4\n", function(path)
    for _, dtype in ipairs({ "float32", "float64" }) do
      local x, y = data.libsvm(path, { sparse = true, dtype = dtype })
      equal(tostring(x), "sparse rows(3 x 3, 3 values, " .. dtype .. ")")
      equal(values(y), { 1, -1, 2 })
      equal({ values(x.starts), values(x.columns), values(x.values) }, { { 1, 3, 3, 4 }, { 1, 3, 2 }, { 0.5, 2, 4 } })
      local rows = data.batch(x, { 3, 1, 2 })
      equal({ rows.shape, rows.dtype, values(rows) }, { { 3, 3 }, dtype, { 0, 4, 0, 0.5, 0, 2, 0, 0, 0 } })
      data.batch(x, data.range(1, 1), rows:narrow(1, 2, 1))
      equal(values(rows), { 0, 4, 0, 0.5, 0, 2, 0, 0, 0 })
      raises(function() data.batch(x, { 1, 4 }) end, "data_spec.lua:%d+: .*position 4 at index 2 is outside 1 .. 3")
    end
    equal(data.libsvm(path, { sparse = true, features = 9 }).width, 9)
  end)
end)

test("an npy file with an integer outside every tensor type is an error", function()
  local head = "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }"
  local bytes = "\147NUMPY\1\0" .. string.char(#head, 0) .. head
  with_file(bytes .. ("\0"):rep(8) .. "\0\0\0\0\0\0\32\0", function(path) equal(values(data.npy.load(path)), { 0, 2 ^ 53 }) end)
  with_file(bytes .. ("\255"):rep(8) .. "\1\0\0\0\0\0\32\0", function(path)
    raises(function() data.npy.load(path) end, "data_spec.lua:%d+: " .. escaped(path) .. ": a uint64 of 2%^63 or more")
  end)
end)

test("LIBSVM files become dense features and labels", function()
  with_file("1 1:0.5 3:2\n-1 2:4\n", function(path)
    local x, y = data.libsvm(path)
    equal(x.shape, { 2, 3 })
    equal(values(x), { 0.5, 0, 2, 0, 4, 0 })
    equal(values(y), { 1, -1 })
    equal(data.libsvm(path, { features = 5 }).shape, { 2, 5 })
    raises(function() data.libsvm(path, { features = 2 }) end, "line 1, column 9: '3:2' has an index beyond the 2 features")
  end)
end)

test("tensors and views survive a round trip through npy and npz files", function()
  local path = os.tmpname()
  local t = tensor.normal({ 3, 4 }, { seed = 1, dtype = "float64" })
  for _, saved in ipairs({ t, t:transpose(), t[2], tensor.zeros({ 0, 3 }), tensor.arange(5) }) do
    data.npy.save(path, saved)
    local loaded = data.npy.load(path)
    equal(loaded.shape, saved.shape)
    equal(loaded.dtype, saved.dtype)
    equal(values(loaded), values(saved))
  end
  local model = { ["layer1.w"] = t, b = tensor.ones(7) }
  data.npz.save(path, model)
  local loaded = data.npz.load(path)
  equal(values(loaded["layer1.w"]), values(t))
  equal(loaded.b.shape, { 7 })
  equal(next(loaded, next(loaded, next(loaded))), nil)
  raises(function() data.npy.load(path) end, escaped(path) .. ", byte 0: not a .npy array")
  raises(function() data.npz.save(path, { ["\n"] = t }) end, "data_spec.lua:%d+: array name")
  raises(function() data.npz.save(path, { t }) end, "bad argument 'a name in tensors' to data.npz.save: expected string")
  raises(function() data.npz.save(path, { a = 1 }) end, "bad argument 'tensors.a' to data.npz.save: expected a tensor")
  raises(function() data.npy.save("/nowhere/x.npy", t) end, "/nowhere/x.npy: cannot open for writing")
  os.remove(path)
end)

test("blobs are clustered around one centre for each class", function()
  local set = data.blobs({ n = 500, classes = 4, dims = 3, spread = 0.01, seed = scratch_seed })
  equal(set.x.shape, { 500, 3 })
  local centres = {}
  for i = 1, set.n do
    local class, row = set.labels[i], values(set.x[i])
    assert(class >= 1 and class <= 4)
    centres[class] = centres[class] or row
    for d = 1, 3 do near(row[d], centres[class][d], 0.15) end
  end
  equal(#centres, 4)
  equal(values(data.blobs({ n = 5, seed = 2 }).x), values(data.blobs({ n = 5, seed = 2 }).x))
end)

test("regression data agrees with its weights", function()
  local set = data.regression({ n = 200, dims = 5, noise = 0, seed = scratch_seed })
  local residual = set.x:matmul(set.weights) + set.bias - set.y
  assert(residual:abs():max() < 1e-5)
  local noisy = data.regression({ n = 200, dims = 5, noise = 1, seed = scratch_seed })
  assert((noisy.x:matmul(noisy.weights) + noisy.bias - noisy.y):abs():max() > 0.5)
end)

test("the classes of a classification set are those with the largest scores", function()
  for _, n in ipairs { 1, 200 } do
    local made = data.classification({ n = n, classes = 3, dims = 4, seed = 2 })
    equal({ made.x.shape, made.labels.shape, made.weights.shape, made.bias.shape, made.n }, { { n, 4 }, { n }, { 4, 3 }, { 3 }, n })
    local scores = tensor.matmul(made.x, made.weights) + made.bias
    equal(values(scores:argmax(2)), values(made.labels))
    equal(values(data.classification({ n = n, classes = 3, dims = 4, seed = 2 }).x), values(made.x))
  end
  local noisy, clear = data.classification({ n = 200, noise = 3 }), data.classification({ n = 200 })
  assert(not noisy.labels:equal(clear.labels))
  equal(values(data.classification({ n = 3, classes = 1 }).labels), { 1, 1, 1 })
  raises(function() data.classification({ n = 0 }) end, "data_spec.lua:%d+: bad argument 'n' to data.classification")
  raises(function() data.classification({ n = 1, noise = -1 }) end, "bad argument 'noise' to data.classification")
end)

test("the entries of a low-rank matrix are products of its factors, and some are known", function()
  local whole = data.low_rank({ rows = 7, columns = 5, rank = 3, seed = 4 })
  equal(whole.n, 35)
  local product = tensor.matmul(whole.left, whole.right:transpose())
  for i = 1, whole.n do
    near(whole.value:get(i), product:get(whole.row:get(i), whole.column:get(i)), 1e-5)
    equal({ whole.row:get(i), whole.column:get(i) }, { math.floor((i - 1) / 5) + 1, (i - 1) % 5 + 1 })
  end
  local half = data.low_rank({ rows = 40, columns = 50, density = 0.5, noise = 0.1 })
  assert(half.n > 900 and half.n < 1100)
  equal(data.low_rank({ rows = 2, columns = 2, density = 0 }).value.shape, { 0 })
  equal(data.low_rank({ rows = 1, columns = 1 }).n, 1)
  raises(function() data.low_rank({ rows = 1, columns = 1, density = 2 }) end, "bad argument 'density' to data.low_rank")
  raises(function() data.low_rank({ rows = 1 }) end, "bad argument 'columns' to data.low_rank: expected number, got nil")
end)

test("synthetic sets are the same numbers on every machine", function()
  local function close(t, wanted)
    local got = values(t)
    for i, value in ipairs(wanted) do equal(("%.7g"):format(got[i]), ("%.7g"):format(value)) end
  end
  close(data.blobs({ n = 2, seed = 9 }).x, { 8.853535, -6.196105, 9.096793, 3.624074 })
  close(data.regression({ n = 2, dims = 2, seed = 9 }).y, { 1.869683, 0.4320386 })
  close(data.classification({ n = 2, dims = 2, seed = 9 }).x, { -0.11806, -0.3856927, 1.697343, -1.288197 })
  close(data.low_rank({ rows = 2, columns = 2, seed = 9 }).value, { 1.702757, -0.2694999, 2.004135, -0.2118462 })
end)

test("the lines of a text are read one by one from plain and compressed files", function()
  local function lines_of(path)
    local out = {}
    for line in data.lines(path) do out[#out + 1] = line end
    return out
  end
  for text, wanted in pairs {
    [""] = {}, ["\n"] = { "" }, ["a"] = { "a" }, ["a\n"] = { "a" }, ["a\n\nb\r\nc"] = { "a", "", "b\r", "c" },
    [("x"):rep(3e6) .. "\ny"] = { ("x"):rep(3e6), "y" },
    ["\239\187\191a\n\239\187\191b"] = { "a", "\239\187\191b" }, -- a leading byte order mark is dropped
  } do
    with_file(text, function(path)
      equal(lines_of(path), wanted)
      for _, tool in ipairs { "gzip -k", "zstd -q", "xz -k", "bzip2 -k" } do
        local ending = ({ gzip = "gz", zstd = "zst", xz = "xz", bzip2 = "bz2" })[tool:match("%w+")]
        if os.execute(tool .. " " .. path .. " 2>/dev/null") == 0 then
          local packed = path .. "." .. ending
          local got = lines_of(packed)
          os.remove(packed)
          equal(got, wanted)
        end
      end
    end)
  end
  with_file("1\n2\n", function(path)
    local next_line = data.lines(path)
    equal({ next_line(), next_line() }, { "1", "2" })
    equal({ next_line(), next_line() }, {})
    for _ in data.lines(path) do break end
  end)
  collectgarbage()
  with_file("\31\139\8\0damaged", function(path)
    raises(function() for _ in data.lines(path) do end end, "data_spec.lua:%d+: " .. escaped(path))
  end)
  raises(function() data.lines("/nowhere.txt") end, "data_spec.lua:%d+: /nowhere.txt: cannot open for reading")
  raises(function() data.lines("/") end, "is a directory")
  raises(function() data.lines() end, "bad argument 'path' to data.lines: expected string, got nil")
end)

test("a label beyond the classes is an error that names the file and the image", function()
  with_file("\0\0\8\3\0\0\0\2\0\0\0\1\0\0\0\1" .. "\0\255", function(images)
    with_file("\0\0\8\1\0\0\0\2\2\3", function(labels)
      raises(function() data.images(images, labels, { classes = 3 }) end,
        "data_spec.lua:%d+: " .. escaped(labels) .. ": label 3 of image 1 found, 0 to 2 expected")
      equal(data.images(images, labels, { classes = 4 }).n, 2)
      raises(function() data.images(images, labels, { classes = 0 }) end, "bad argument 'classes' to data.images")
    end)
  end)
end)

test("batches of digits are made in compiled code", function()
  if not jit.status() then skip "the JIT is off" end
  local set = data.digits({ n = 64 })
  local plan = data.batches({ n = 64, size = 16, epochs = 100 })
  local x, y = tensor.zeros({ 16, 784 }), tensor.zeros(16)
  local function loop()
    for number = 1, 300 do
      local positions = plan:positions(number)
      data.batch(set.images, positions, x)
      data.batch(set.labels, positions, y)
    end
  end
  equal(is_compiled(loop), true)
end)
