--- Data sets: MNIST (IDX), CSV, LIBSVM, npy and npz files and lines of text, plain or compressed; generated digits,
--- small synthetic sets; parts of a set, batches, and a loader that gathers batches ahead. The calling node reads
--- files, in C++. A path may also be an `http://`, `https://` or `s3://BUCKET/KEY` URL; of these, only s3 can be
--- written (`actorhost help AWS_ACCESS_KEY_ID`). An unreadable or damaged file raises an error with the file, the
--- place, the found value and the expected value. Samples, positions and classes count from 1.
---
---     local mnist = data.mnist()
---     local plan = data.batches{n = mnist.train.n, size = 32, epochs = 5, seed = 1}
---     local x, y = mnist.train:batch(plan:positions(1))   -- {32, 784} in 0..1, {32} with classes 1..10
local ffi = require("ffi")
local check = require("actor.check")
local c = require("actor.c.data")
local api = require("actor.ffi")("data")
require("actor.tensor") -- gives tensors their methods
local base = require("actor.tensor.base")
local sparse = require("actor.data.sparse")
local planning = require("actor.data.batches")
local made = require("actor.data.made")
local fetching = require("actor.data.fetch")
local log = require("actor.log")
local parts = require("actor.data.parts")
local util = require("actor.util")

local istype, type = ffi.istype, type
local Positions = planning.Positions

---@class actor.data
local M = {
  batches = planning.batches, loader = require("actor.data.loader").loader, split = parts.split, holdout = parts.holdout,
  fetch = fetching.fetch,
  blobs = made.blobs, regression = made.regression, classification = made.classification, low_rank = made.low_rank,
}

---Rows of bytes, with one copy for all nodes of a process; `data.batch` makes tensors of them.
---@class actor.data.Rows
---@field n integer rows
---@field width integer elements in a row
local Rows = ffi.metatype("ah_rows", {
  __gc = api.release,
  __len = function(rows) return rows.n end,
  __tostring = function(rows) return ("rows(%d x %d)"):format(rows.n, rows.width) end,
})

---Labelled samples. `labels` are classes from 1: class 1 is the digit 0.
---@class actor.data.Set
---@field n integer
---@field images actor.data.Rows
---@field labels actor.data.Rows
local Set = check.class("set:")

---Returns the images and the classes of the samples at these positions.
---```lua
---local set = actor.data.digits { n = 10, seed = 1 }
---local images, classes = set:batch { 1, 5 }
---print(unpack(images.shape))  --> 2 784
---```
---@param positions integer[]|actor.data.Positions
---@return actor.Tensor images {count, width}, 0..1
---@return actor.Tensor classes {count}, 1..10 for digits
function Set:batch(positions)
  return M.batch(self.images, positions), M.batch(self.labels, positions)
end

---@param images actor.data.Rows
---@param labels actor.data.Rows
local function new_set(images, labels)
  return setmetatable({ n = images.n, images = images, labels = labels }, Set)
end

---Returns the positions first .. last, for `batch`.
---```lua
---print(actor.data.range(3, 7).n)  --> 5
---```
---@param first integer
---@param last integer
---@return actor.data.Positions
function M.range(first, last)
  check.integer(first, "first", "data.range", 1, 2 ^ 31 - 1)
  check.integer(last, "last", "data.range", first - 1, 2 ^ 31 - 1)
  local out = planning.positions(last - first + 1)
  for i = 0, last - first do out.index[i] = first + i end
  return out
end

local function check_out(out, shape, dtype)
  base.arg(out, "out", "data.batch")
  local fits = out.ndim_ == #shape and out.type_ == dtype and base.api.contiguous(out) ~= 0
  for d = 1, #shape do fits = fits and out.extent_[d - 1] == shape[d] end
  if not fits then
    check.fail("bad argument 'out' to data.batch: expected a contiguous %s tensor %s, got %s %s",
      base.dtype_names[dtype], base.list_text(shape), base.dtype_names[out.type_], base.shape_text(out))
  end
end

-- The tensor to write rows of bytes to: `out`, or a new tensor. There is no loop over dimensions, because LuaJIT would
-- not compile the loop into the training loop's trace.
local extents = ffi.new("int64_t[2]")

local function rows_out(rows, count, out)
  local ndim, width = rows.ndim, rows.width
  if out == nil then
    extents[0], extents[1] = count, width
    out = base.new()
    base.finish(base.api.allocate(base.api.context, out, base.dtypes.float32, ndim, extents), "data.batch")
  elseif not base.is_tensor(out) or out.ndim_ ~= ndim or out.type_ ~= base.dtypes.float32 or out.extent_[0] ~= count
    or (ndim == 2 and out.extent_[1] ~= width) or base.api.contiguous(out) == 0 then
    check_out(out, ndim == 1 and { count } or { count, width }, base.dtypes.float32)
  end
  return out
end

local function outside(positions, bad, n)
  check.fail("bad argument 'positions' to data.batch: position %d at index %d is outside 1 .. %d",
    positions.index[tonumber(bad) - 1], tonumber(bad), n)
end

-- Rows of a tensor, with all its other dimensions.
local function batch_of_tensor(source, positions, out)
  if source.ndim_ == 0 then check.fail("bad argument 'source' to data.batch: a tensor without dimensions has no rows") end
  if base.api.contiguous(source) == 0 then source = source:contiguous() end
  local shape, row_bytes = { positions.n }, base.sizes[source.type_]
  for d = 1, source.ndim_ - 1 do
    shape[d + 1] = tonumber(source.extent_[d])
    row_bytes = row_bytes * shape[d + 1]
  end
  if out then check_out(out, shape, source.type_) else out = base.allocate(shape, source.type_, "data.batch") end
  local n = tonumber(source.extent_[0])
  local bad = api.gather(source.data_, n, row_bytes, positions, out.data_)
  if bad ~= 0 then outside(positions, bad, n) end
  return out
end

-- Sparse rows at the positions as a dense tensor.
local function batch_of_sparse(source, positions, out)
  local shape, dtype, width = { positions.n, source.width }, source.values.type_, source.width
  if out then check_out(out, shape, dtype) else out = base.allocate(shape, dtype, "data.batch") end
  base.api.fill(out, 0)
  local starts, columns = source.starts.i64_, source.columns.i64_
  local values = dtype == base.dtypes.float32 and source.values.f32_ or source.values.f64_
  local to = dtype == base.dtypes.float32 and out.f32_ or out.f64_
  for i = 0, positions.n - 1 do
    local row = positions.index[i]
    if row < 1 or row > source.n then outside(positions, i + 1, source.n) end
    for cell = tonumber(starts[row - 1]) - 1, tonumber(starts[row]) - 2 do
      to[i * width + columns[cell] - 1] = values[cell]
    end
  end
  return out
end

---Returns the rows at some positions, as a new tensor or in `out`. Images give {count, width}, 0..1; labels give
---{count}, classes from 1; a tensor gives its rows, with its other dimensions; sparse rows give dense rows.
---```lua
---local rows = actor.tensor.new { { 1, 2 }, { 3, 4 }, { 5, 6 } }
---print(actor.data.batch(rows, { 3, 1 }))
---
---
-----> tensor([[5., 6.],
----->         [1., 2.]], float32)
---```
---@param source actor.data.Rows|actor.data.SparseRows|actor.Tensor
---@param positions integer[]|actor.data.Positions in any order, with repetitions
---@param out? actor.Tensor of the result's shape, contiguous; float32, or the tensor's type
---@return actor.Tensor
function M.batch(source, positions, out)
  if not istype(Positions, positions) then positions = planning.as_positions(positions, "data.batch") end
  if not istype(Rows, source) then
    if sparse.is(source) then return batch_of_sparse(source, positions, out) end
    if not base.is_tensor(source) then check.wrong("source", "data.batch", "rows or a tensor", source) end
    return batch_of_tensor(source, positions, out)
  end
  out = rows_out(source, positions.n, out)
  local bad = api.gather_rows(source, positions, base.dtypes.float32, out.data_)
  if bad ~= 0 then outside(positions, bad, source.n) end
  return out
end

local mnist_options = {
  train = "number?", test = "number?", seed = "number?", fetch = "boolean?", mirror = "string?", sums = "table?",
}

---The report about missing files: their names, the folders of the search, and how to get the files.
local function missing_text(searched)
  local names = {}
  for name in util.pairs(fetching.mnist_sums) do names[#names + 1] = name end
  return ("data.mnist: no MNIST is here, so the digits are synthetic. Its files (%s, plain or .gz) were searched in %s. " ..
    "'actorhost fetch mnist' downloads the files for all later runs, as does data.mnist { fetch = true }; " ..
    "ACTORHOST_MNIST=FOLDER names a folder with the files"):format(table.concat(names, ", "), searched)
end

---Returns MNIST, read from its four IDX files (plain or .gz). Without `dir`, the folder `$ACTORHOST_MNIST` must have
---the files. Without this variable too, the function searches shared/data/mnist near the current directory and the
---program, and the fetched files. If the files are missing, `options.fetch` downloads them; a `mirror` or `sums` skips
---the search. Otherwise the function generates digits: `options.train` and `options.test` of them (60,000 and 10,000)
---from `options.seed` (1), and the log shows the searched folders and how to get the files. A process has one copy.
---```lua
---local set = actor.data.mnist(nil, { train = 100, test = 10 })
---print(set.train.n >= 100)  --> true
---```
---@param dir? string the folder of the files; or the options
---@param options? {train?: integer, test?: integer, seed?: integer, fetch?: boolean, mirror?: string,
---  sums?: table<string, string>} `train`, `test`, `seed`: of generated digits. `fetch`: download missing files, as
---  `data.fetch` does, from `mirror`: "ossci", "cvdf", or the URL of a folder of the four .gz files (default: each
---  named mirror until one succeeds). Their unpacked content must have the SHA-256 sums of MNIST, or, for another set
---  in its form, the `sums` by file name ("train-images-idx3-ubyte"); a name that is missing in `sums` is not checked
---@return {train: actor.data.Set, test: actor.data.Set, source: string} source: the origin of the digits, as text
function M.mnist(dir, options)
  local fn = "data.mnist"
  if type(dir) == "table" and options == nil then dir, options = nil, dir end
  check.optional(dir, "string", "dir", fn)
  options = check.optional_options(options, mnist_options, fn)
  local fetch = options.fetch
  if not fetch and (options.mirror or options.sums) then check.fail("%s: 'mirror' and 'sums' are for fetch = true", fn) end
  if fetch and dir then check.fail("%s: fetch = true brings the files into the cache, so no folder is to be given", fn) end
  local rows = { Rows(), Rows(), Rows(), Rows() }
  local source, searched, reports
  -- Files that are here do not replace another set, or a mirror that the script names.
  if not dir and not options.mirror and not options.sums then dir, searched, reports = c.find_mnist() end
  if not dir and fetch then dir = fetching.fetch_mnist(options.mirror, options.sums, fn) end
  if dir then
    c.mnist(rows[1], rows[2], rows[3], rows[4], dir)
    source = ("%s from %s"):format(options.sums and "a set in MNIST's form" or "MNIST", dir)
  else
    if reports then log.warn("%s", missing_text(searched)) end
    local seed = options.seed or 1
    c.drawn_mnist(rows[1], rows[2], rows[3], rows[4], seed, options.train or 60000, options.test or 10000)
    source = ("synthetic digits of seed %d ('actorhost fetch mnist' gets the real MNIST)"):format(seed)
  end
  return { train = new_set(rows[1], rows[2]), test = new_set(rows[3], rows[4]), source = source }
end

---Generates images of handwritten-looking digits, 28 x 28 pixels. A seed gives the same images on every machine.
---```lua
---local set = actor.data.digits { n = 100, seed = 1 }
---print(set.n, unpack(set:batch({ 1 }).shape))  --> 100 1 784
---```
---@param options {n: integer, seed?: integer, first?: integer} `first`, default 1: the number of the first image in the
---  seed's endless sequence
---@return actor.data.Set
function M.digits(options)
  local fn = "data.digits"
  check.options(options, { n = "number", seed = "number?", first = "number?" }, fn)
  check.integer(options.n, "n", fn, 1, 1e7)
  local images, labels = Rows(), Rows()
  c.digits(images, labels, options.seed or 1, options.first or 1, options.n)
  return new_set(images, labels)
end

---Reads labelled images from a pair of IDX files of unsigned bytes: images of three dimensions, labels of one. A class
---is the label in the file plus 1.
---```lua
----- for any pair of IDX files
---local function load(folder)
---  return actor.data.images(folder .. "/images.idx.gz", folder .. "/labels.idx.gz", { classes = 10 })
---end
---```
---@param images string path, plain or compressed
---@param labels string path
---@param options? {classes?: integer} a label of `classes` (default 256) or more is an error with the image's number
---@return actor.data.Set
function M.images(images, labels, options)
  check.arg(images, "string", "images", "data.images")
  check.arg(labels, "string", "labels", "data.images")
  options = check.optional_options(options, { classes = "number?" }, "data.images")
  local rows, classes = Rows(), Rows()
  c.images(rows, classes, images, labels, options.classes or 256)
  return new_set(rows, classes)
end

---Reads any IDX file as a tensor: float32 for bytes (0..255) and floats, float64 for doubles and integers.
---```lua
---local function pixels(path) return actor.data.idx(path):to("float32") / 255 end
---```
---@param path string plain or compressed
---@return actor.Tensor
function M.idx(path)
  check.arg(path, "string", "path", "data.idx")
  return c.idx(path)
end

local function dtype_of(options, fn)
  local name = options.dtype or "float32"
  check.one_of(name, { "float32", "float64" }, "dtype", fn)
  return name
end

local csv_options = {
  delimiter = "string?", header = "boolean?", missing = "number?", dtype = "string?", skip = "number?", comment = "string?",
  columns = "table?", na = "table?",
}

local function check_columns(columns)
  for i = 1, #columns do
    local column = columns[i]
    if type(column) ~= "string" then check.integer(column, ("columns[%d]"):format(i), "data.csv", 1, 2 ^ 31 - 1) end
  end
  if #columns == 0 then check.fail("bad argument 'columns' to data.csv: expected names or numbers of columns, got none") end
end

---Reads a CSV file of numbers as a tensor {rows, columns}. A number with more digits before its point than the element
---type holds, such as a time stamp in float32, is an error with the line and the column that suggests
---`dtype = "float64"`. Quoted fields may contain delimiters and line ends. A delimiter at the end of a line begins no
---field. Lines end in LF or CRLF; another CR is an error. A byte order mark at the start of a file is skipped, here and
---in `libsvm` and `lines`.
---```lua nodes=1
---local file = io.open("points.csv", "w")
---file:write("x,y\n1,2\n3,4\n")
---file:close()
---local values, names = actor.data.csv("points.csv", { header = true })
---print(names[2], values:get(2, 2))  --> y 4
---```
---@param path string plain or compressed
---@param options? {dtype?: "float32"|"float64", columns?: (integer|string)[], header?: boolean, delimiter?: string,
---  missing?: number, na?: string[], skip?: integer, comment?: string} `dtype` default "float32"; `columns`: the
---  columns to read, by number from 1 or by name, in that order (the other columns may hold any text); `header`: the
---  first line has names; `delimiter` default ",", " " for any blanks; `missing`: the value of empty fields, which are
---  errors without it; `na`: texts such as "NA", which count as missing fields (NaN without `missing`); `skip`: lines
---  before the header or the first row; `comment`: the first character of comments
---@return actor.Tensor values
---@return string[]|nil names of the read columns, with `header`
function M.csv(path, options)
  local fn = "data.csv"
  check.arg(path, "string", "path", fn)
  options = check.optional_options(options, csv_options, fn)
  local delimiter, comment, skip = options.delimiter or ",", options.comment or "", options.skip or 0
  if #delimiter ~= 1 then check.wrong("delimiter", fn, "one character", delimiter) end
  if options.comment and #comment ~= 1 then check.wrong("comment", fn, "one character", comment) end
  check.integer(skip, "skip", fn, 0, 2 ^ 53)
  if options.columns then check_columns(options.columns) end
  local na = options.na or {}
  check.strings(na, "na", fn)
  return c.csv(path, delimiter, options.header or false, options.missing, dtype_of(options, fn), skip, comment,
    options.columns or {}, na)
end

---Reads labelled rows in LIBSVM's format, with numbers as in `data.csv`. Raises if they exceed a node's share of
---`--memory`.
---```lua nodes=1
---local file = io.open("rows.svm", "w")
---file:write("1 1:0.5 3:2\n-1 2:1\n")
---file:close()
---local features, labels = actor.data.libsvm("rows.svm")
---print(unpack(features.shape))  --> 2 3
---```
---@param path string plain or compressed
---@param options? {dtype?: "float32"|"float64", features?: integer, zero_based?: boolean, sparse?: boolean} `features`:
---  columns, default the largest index in the file; `sparse`: store only the values of the file
---@return actor.Tensor|actor.data.SparseRows features {n, features}
---@return actor.Tensor labels {n}
function M.libsvm(path, options)
  local fn = "data.libsvm"
  check.arg(path, "string", "path", fn)
  options = check.optional_options(options, {
    dtype = "string?", features = "number?", zero_based = "boolean?", sparse = "boolean?",
  }, fn)
  check.integer(options.features or 0, "features", fn, 0, 2 ^ 31 - 1)
  local values, labels, width, columns, starts =
    c.libsvm(path, options.features or 0, options.zero_based or false, dtype_of(options, fn), options.sparse or false)
  if not options.sparse then return values, labels end
  return sparse.new { n = labels.size, width = width, starts = starts, columns = columns, values = values }, labels
end

---Iterates over the lines of a text file, without their ends. The file is read as the iteration advances.
---```lua nodes=1
---local file = io.open("words.txt", "w")
---file:write("one\ntwo\n")
---file:close()
---for line in actor.data.lines("words.txt") do print(line) end
---
---
-----> one
-----> two
---```
---@param path string plain, .gz, .zst, .xz or .bz2, detected by the first bytes
---@return fun(): string|nil
function M.lines(path)
  check.arg(path, "string", "path", "data.lines")
  return c.lines(path)
end

---Arrays in NumPy's format: `npy.load`, `npy.save`.
M.npy = {}

---Reads one array, in any byte and element order, as tensor.load does.
---```lua nodes=1
---actor.data.npy.save("x.npy", actor.tensor.ones(3))
---print(actor.data.npy.load("x.npy"))  --> tensor([1., 1., 1.], float32)
---```
---@param path string
---@return actor.Tensor
function M.npy.load(path)
  check.arg(path, "string", "path", "data.npy.load")
  return c.npy_load(path)
end

---Writes a tensor as one array. An existing file is replaced after the new file is complete.
---```lua nodes=1
---actor.data.npy.save("weights.npy", actor.tensor.zeros { 2, 2 })
---```
---@param path string
---@param t actor.Tensor
function M.npy.save(path, t)
  check.arg(path, "string", "path", "data.npy.save")
  base.arg(t, "t", "data.npy.save")
  c.npy_save(path, t)
end

---Named arrays in NumPy's format, as numpy.savez writes them: `npz.load`, `npz.save`.
M.npz = {}

---Reads all arrays of a file, by name.
---```lua nodes=1
---actor.data.npz.save("both.npz", { a = actor.tensor.ones(1), b = actor.tensor.zeros(2) })
---print(actor.data.npz.load("both.npz").b)  --> tensor([0., 0.], float32)
---```
---@param path string
---@return table<string, actor.Tensor>
function M.npz.load(path)
  check.arg(path, "string", "path", "data.npz.load")
  return c.npz_load(path)
end

---Writes tensors as named arrays. An existing file is replaced after the new file is complete.
---```lua nodes=1
---actor.data.npz.save("named.npz", { weight = actor.tensor.ones(2) })
---```
---@param path string
---@param tensors table<string, actor.Tensor> names are UTF-8 without control characters
function M.npz.save(path, tensors)
  local fn = "data.npz.save"
  check.arg(path, "string", "path", fn)
  check.arg(tensors, "table", "tensors", fn)
  local names, values = {}, {}
  for name, t in util.pairs(tensors) do
    check.arg(name, "string", "a name in tensors", fn)
    base.arg(t, "tensors." .. name, fn)
    names[#names + 1], values[#values + 1] = name, t
  end
  c.npz_save(path, names, values)
end

return M
