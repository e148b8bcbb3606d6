#include "bindings/modules/array/lua_data.hpp"

#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "bindings/modules/array/data_api.hpp"
#include "bindings/modules/array/file_fetch.hpp"
#include "bindings/modules/array/lua_tensor.hpp"
#include "bindings/modules/array/tensor_api.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/data/content/csv.hpp"
#include "host/data/content/data_cache.hpp"
#include "host/data/content/digits.hpp"
#include "host/data/content/libsvm.hpp"
#include "host/data/content/npz.hpp"
#include "host/data/content/safetensors.hpp"
#include "host/data/file/file_reader.hpp"
#include "host/data/file/url_source.hpp"
#include "host/kernel/strided.hpp"
#include "host/mapreduce/files/text_input.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;

constexpr double kMaxRows = std::numeric_limits<int32_t>::max();
constexpr RowMeaning kPixels{1.0 / 255, 0, 2};
constexpr RowMeaning kClasses{1, 1, 1};  // class 1 is the digit 0, because positions count from 1

/// The value of a Result, or its error raised at the user's line.
template <typename T>
T need(lua_State* L, Result<T> result) {
  if (!result) raise_file_error(L, std::move(result).error());
  return *std::move(result);
}
void need(lua_State* L, const Status& status) {
  if (!status) raise_file_error(L, status.error());
}

/// Lets `F` read remote files, until a stop request.
template <int (*F)(lua_State*)>
int reading(lua_State* L) {
  const RemoteOptions scope(options_until_stop(L));
  return F(L);
}

fs::path check_path(lua_State* L, int index, const char* function) {
  return fs::path(std::string(check_text(L, index, "path", function)));
}

/// The empty ah_rows that stdlib/actor/data has made for a result.
ah_rows& rows_at(lua_State* L, int index) {
  if (lua_type(L, index) != kLuaCdata) raise_bad_argument(L, index, "rows", "actor.c.data", "ah_rows");
  return *static_cast<ah_rows*>(const_cast<void*>(lua_topointer(L, index)));
}

void set_images(lua_State* L, int first, const std::shared_ptr<const void>& holder, const ImageSet& set) {
  const auto width = static_cast<double>(set.rows) * static_cast<double>(set.cols);
  if (static_cast<double>(set.n) > kMaxRows || width > kMaxRows) {
    raise_error(L, {Code::bad_data, std::to_string(set.n) + " images of " + std::to_string(set.rows) + " x " +
                                        std::to_string(set.cols) + " are more than 2^31 rows or columns"});
  }
  set_rows(rows_at(L, first), holder, set.images, set.n, set.rows * set.cols, kPixels);
  set_rows(rows_at(L, first + 1), holder, set.labels, set.n, 1, kClasses);
}

void set_mnist(lua_State* L, const std::shared_ptr<const Mnist>& mnist) {
  set_images(L, 1, mnist, mnist->train);
  set_images(L, 3, mnist, mnist->test);
}

/// mnist(train_images, train_labels, test_images, test_labels, dir)
int load_mnist(lua_State* L) {
  const fs::path dir = check_path(L, 5, "data.mnist");
  set_mnist(L, need(L, cache_of(L).mnist(dir)));
  return 0;
}

/// drawn_mnist(train_images, train_labels, test_images, test_labels, seed, train, test)
int drawn_mnist(lua_State* L) {
  const auto seed = static_cast<uint64_t>(check_integer(L, 5, "seed", "data.mnist", 0, INT64_C(1) << 53));
  const auto train = static_cast<size_t>(check_integer(L, 6, "train", "data.mnist", 1, 10'000'000));
  const auto test = static_cast<size_t>(check_integer(L, 7, "test", "data.mnist", 1, 10'000'000));
  set_mnist(L, need(L, cache_of(L).digits(seed, train, test)));
  return 0;
}

/// digits(images, labels, seed, first, n)
int digits(lua_State* L) {
  const auto seed = static_cast<uint64_t>(check_integer(L, 3, "seed", "data.digits", 0, INT64_C(1) << 53));
  const auto first = static_cast<uint64_t>(check_integer(L, 4, "first", "data.digits", 1, INT64_C(1) << 53));
  const auto n = static_cast<size_t>(check_integer(L, 5, "n", "data.digits", 1, 10'000'000));
  const auto set = std::make_shared<const ImageSet>(draw_digits(seed, first - 1, n));
  set_images(L, 1, set, *set);
  return 0;
}

/// images(images, labels, images_path, labels_path, classes)
int load_images(lua_State* L) {
  const fs::path images = check_path(L, 3, "data.images");
  const fs::path labels = check_path(L, 4, "data.images");
  const auto classes = static_cast<unsigned>(check_integer(L, 5, "classes", "data.images", 1, 256));
  const auto set = std::make_shared<const ImageSet>(need(L, read_idx_images(images, labels, classes)));
  set_images(L, 1, set, *set);
  return 0;
}

/// Pushes an array of an IDX file as a tensor of floats: bytes become float32; whole numbers, of at most 32 bits,
/// become float64.
void push_floats(lua_State* L, const Tensor& array) {
  const Dtype dtype = array.dtype == Dtype::u8 ? Dtype::f32 : is_floating(array.dtype) ? array.dtype : Dtype::f64;
  Tensor out{{dtype, array.shape}, Blob()};
  out.data = Blob::allocate(out.bytes());
  auto* from = const_cast<std::byte*>(array.data.data());  // never written
  kernel::copy(kernel::kernels(), kernel::row_major(out.data.data(), dtype, array.shape),
               kernel::row_major(from, array.dtype, array.shape));
  push_tensor(L, std::move(out));
}

/// idx(path) -> tensor
int load_idx(lua_State* L) {
  const fs::path path = check_path(L, 1, "data.idx");
  push_floats(L, need(L, read_idx(path)));
  return 1;
}

/// start_of(path, bytes) -> the first bytes of the unpacked content
int start_of(lua_State* L) {
  const fs::path path = check_path(L, 1, "tensor.load");
  std::string start(static_cast<size_t>(check_integer(L, 2, "bytes", "tensor.load", 1, 4096)), '\0');
  const auto content = need(L, open_source(path));
  start.resize(need(L, read_fully(*content, std::as_writable_bytes(std::span(start)))));
  return push(L, start);
}

/// npy_load(path) -> tensor
int npy_load(lua_State* L) {
  const fs::path path = check_path(L, 1, "data.npy.load");
  push_tensor(L, need(L, read_npy(path)));
  return 1;
}

/// npy_save(path, tensor)
int npy_save(lua_State* L) {
  const fs::path path = check_path(L, 1, "data.npy.save");
  need(L, write_npy(path, tensor_at(L, 2)));
  return 0;
}

/// npz_load(path) -> {name = tensor}
int npz_load(lua_State* L) {
  const fs::path path = check_path(L, 1, "data.npz.load");
  auto reader = need(L, NpzReader::open(path));
  lua_newtable(L);
  for (;;) {
    auto next = need(L, reader.next());
    if (!next) return 1;
    push_tensor(L, std::move(next->array));
    lua_setfield(L, -2, next->name.c_str());
  }
}

/// npz_save(path, names, tensors): two arrays
int npz_save(lua_State* L) {
  const fs::path path = check_path(L, 1, "data.npz.save");
  check_table(L, 2, "names", "data.npz.save");
  check_table(L, 3, "tensors", "data.npz.save");
  auto writer = need(L, NpzWriter::create(path));
  const int count = static_cast<int>(lua_objlen(L, 2));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L, 2, i);
    lua_rawgeti(L, 3, i);
    need(L, writer.add(check_text(L, -2, "name", "data.npz.save"), tensor_at(L, -1)));
    lua_pop(L, 2);
  }
  need(L, writer.close());
  return 0;
}

/// safetensors_load(path) -> {name = tensor}, {key = text}
int safetensors_load(lua_State* L) {
  Safetensors content = need(L, read_safetensors(check_path(L, 1, "tensor.load")));
  lua_newtable(L);
  for (NamedArray& item : content.arrays) {
    lua_pushlstring(L, item.name.data(), item.name.size());
    push_tensor(L, std::move(item.array));
    lua_rawset(L, -3);
  }
  lua_newtable(L);
  for (const auto& [key, text] : content.metadata) {
    lua_pushlstring(L, key.data(), key.size());
    lua_pushlstring(L, text.data(), text.size());
    lua_rawset(L, -3);
  }
  return 2;
}

/// safetensors_save(path, names, tensors, keys, texts): four arrays
int safetensors_save(lua_State* L) {
  constexpr const char* kFunction = "tensor.save";
  const fs::path path = check_path(L, 1, kFunction);
  Safetensors content;
  each_item(L, 2, [&](int /*i*/) {
    content.arrays.push_back({std::string(check_text(L, -1, "name", kFunction)), {}});
  });
  each_item(L, 3, [&](int i) { content.arrays.at(static_cast<size_t>(i - 1)).array = tensor_at(L, -1); });
  std::vector<std::string> keys;
  each_item(L, 4, [&](int /*i*/) { keys.emplace_back(check_text(L, -1, "metadata", kFunction)); });
  each_item(L, 5, [&](int i) {
    content.metadata[keys.at(static_cast<size_t>(i - 1))] = check_text(L, -1, "metadata", kFunction);
  });
  need(L, write_safetensors(path, content));
  return 0;
}

Dtype type_at(lua_State* L, int index, const char* function) {
  return check_text(L, index, "dtype", function) == "float64" ? Dtype::f64 : Dtype::f32;
}

/// Reads an array of names and of numbers from 1.
std::vector<CsvColumn> columns_at(lua_State* L, int index) {
  std::vector<CsvColumn> columns;
  each_item(L, index, [&](int /*i*/) {
    if (lua_type(L, -1) == LUA_TNUMBER) {
      columns.emplace_back(static_cast<size_t>(lua_tonumber(L, -1)));
    } else {
      columns.emplace_back(std::string(check_text(L, -1, "columns", "data.csv")));
    }
  });
  return columns;
}

/// csv(path, delimiter, header, missing or nil, dtype, skip, comment or "", columns, na) -> tensor, names or nil
int load_csv(lua_State* L) {
  const fs::path path = check_path(L, 1, "data.csv");
  CsvOptions options;
  options.delimiter = check_text(L, 2, "delimiter", "data.csv").at(0);
  options.header = check_boolean(L, 3, "header", "data.csv");
  if (!lua_isnil(L, 4)) options.missing = check_number(L, 4, "missing", "data.csv");
  options.dtype = type_at(L, 5, "data.csv");
  options.skip = static_cast<size_t>(check_integer(L, 6, "skip", "data.csv", 0, INT64_C(1) << 53));
  if (const auto comment = check_text(L, 7, "comment", "data.csv"); !comment.empty()) options.comment = comment[0];
  options.columns = columns_at(L, 8);
  each_item(L, 9, [&](int /*i*/) { options.na.emplace_back(check_text(L, -1, "na", "data.csv")); });
  CsvTable table = need(L, read_csv(path, options));
  push_tensor(L, std::move(table.values));
  if (!options.header) return 1;
  push_list(L, table.names);
  return 2;
}

/// libsvm(path, features, zero_based, dtype, sparse) -> features, labels, width; with sparse also columns and starts
int load_libsvm(lua_State* L) {
  const fs::path path = check_path(L, 1, "data.libsvm");
  LibsvmOptions options;
  options.features = static_cast<size_t>(check_integer(L, 2, "features", "data.libsvm", 0, INT32_MAX));
  options.zero_based = check_boolean(L, 3, "zero_based", "data.libsvm");
  options.dtype = type_at(L, 4, "data.libsvm");
  options.sparse = check_boolean(L, 5, "sparse", "data.libsvm");
  options.max_bytes = cache_of(L).most_bytes();
  LibsvmData data = need(L, read_libsvm(path, options));
  push_tensor(L, std::move(data.features));
  push_tensor(L, std::move(data.labels));
  lua_pushnumber(L, static_cast<lua_Number>(data.width));
  if (!options.sparse) return 3;
  push_tensor(L, std::move(data.columns));
  push_tensor(L, std::move(data.starts));
  return 5;
}

struct OpenLines {
  std::unique_ptr<TextInput> input;
  std::string_view left;
};

/// next_line() -> the next line of the upvalue's file; at the end closes the file and returns nil.
int next_line(lua_State* L) {
  auto& lines = *static_cast<std::unique_ptr<OpenLines>*>(lua_touserdata(L, lua_upvalueindex(1)));
  if (!lines) return 0;
  if (lines->left.empty()) lines->left = need(L, lines->input->next());
  if (lines->left.empty()) {
    lines.reset();
    return 0;
  }
  const std::string_view line = take_line(lines->left);
  return push(L, line);
}

/// lines(path) -> a function that returns line after line
int open_lines(lua_State* L) {
  const fs::path path = check_path(L, 1, "data.lines");
  auto& lines = push_object<OpenLines>(L, "actor.c.data.lines");
  lines.reset(new OpenLines{need(L, TextInput::open_whole(path)), {}});
  lua_pushcclosure(L, guarded<reading<next_line>>, 1);
  return 1;
}

constexpr const char* kBatchLoader = "actor.c.data.loader";

/// Gathers the rows of a source: an ah_rows, or a contiguous tensor of at least one dimension.
Gather gather_at(lua_State* L, int index) {
  if (!is_tensor(L, index)) return gather_of(rows_at(L, index));
  Tensor rows = tensor_at(L, index);
  const int64_t n = rows.shape[0];
  const int64_t row_bytes = n == 0 ? 0 : static_cast<int64_t>(rows.bytes()) / n;
  const void* from = rows.data.data();
  return gather_of(std::move(rows.data), from, n, row_bytes);
}

/// load(sources) -> loader; sources: an array of rows and contiguous tensors
int open_loader(lua_State* L) {
  check_table(L, 1, "sources", "data.loader");
  auto& loader = push_object<BatchLoader>(L, kBatchLoader);
  std::vector<Gather> sources;
  each_item(L, 1, [&](int /*i*/) { sources.push_back(gather_at(L, lua_gettop(L))); });
  loader = std::make_unique<BatchLoader>(std::move(sources));
  return 1;
}

BatchLoader& loader_at(lua_State* L, int index) {
  const auto& loader = object_at<BatchLoader>(L, index, kBatchLoader);
  if (!loader) raise_at_user(L, "data.loader: the loader is closed");
  return *loader;
}

/// submit(loader, positions, targets): a contiguous tensor for each source
int submit_batch(lua_State* L) {
  BatchLoader& loader = loader_at(L, 1);
  const auto* positions = static_cast<const int32_t*>(lua_topointer(L, 2));
  std::vector<BatchLoader::Target> targets;
  each_item(L, 3, [&](int /*i*/) {
    const auto& out = *static_cast<const ah_tensor*>(lua_topointer(L, -1));
    targets.push_back({block_of(out), out.data_});
  });
  loader.submit({positions, positions + 1 + positions[0]}, std::move(targets));
  return 0;
}

/// close(loader): waits for the tensor in progress
int close_loader(lua_State* L) {
  object_at<BatchLoader>(L, 1, kBatchLoader).reset();
  return 0;
}

/// take(loader) -> nothing; or source and index (from 1) of an invalid position
int take_batch(lua_State* L) {
  const BatchLoader::Misfit misfit = loader_at(L, 1).take();
  if (misfit.at == 0) return 0;
  lua_pushnumber(L, static_cast<lua_Number>(misfit.source + 1));
  lua_pushnumber(L, static_cast<lua_Number>(misfit.at));
  return 2;
}

}  // namespace

void open_data(Vm& vm) {
  vm.register_ffi("data", &kDataApi);
  static constexpr luaL_Reg kFunctions[] = {
      {"mnist", guarded<load_mnist>},
      {"drawn_mnist", guarded<drawn_mnist>},
      {"find_mnist", guarded<find_mnist>},
      {"fetch", guarded<fetch_file>},
      {"digits", guarded<digits>},
      {"images", guarded<reading<load_images>>},
      {"idx", guarded<reading<load_idx>>},
      {"start_of", guarded<reading<start_of>>},
      {"npy_load", guarded<reading<npy_load>>},
      {"npy_save", guarded<reading<npy_save>>},
      {"npz_load", guarded<reading<npz_load>>},
      {"npz_save", guarded<reading<npz_save>>},
      {"safetensors_load", guarded<reading<safetensors_load>>},
      {"safetensors_save", guarded<reading<safetensors_save>>},
      {"csv", guarded<reading<load_csv>>},
      {"libsvm", guarded<reading<load_libsvm>>},
      {"lines", guarded<reading<open_lines>>},
      {"load", guarded<open_loader>},
      {"submit", guarded<submit_batch>},
      {"take", guarded<take_batch>},
      {"close", guarded<close_loader>},
  };
  vm.register_module("actor.c.data", open_functions<kFunctions>);
  auto cache = std::make_shared<DataCache>();
  share_data(vm, *cache);
  vm.own(std::move(cache));
}

}  // namespace actorhost
