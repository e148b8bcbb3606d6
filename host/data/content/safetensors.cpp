#include "host/data/content/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "host/base/printable.hpp"
#include "host/data/content/npy_header.hpp"
#include "host/data/file/atomic_file.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/plain_source.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr uint64_t kLongestHeader = 100'000'000;
constexpr size_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";

static_assert(std::endian::native == std::endian::little);

struct StoredName {
  std::string_view name;
  NpyStored stored;
};
constexpr std::array<StoredName, 13> kStoredNames = {{{"F32", {'f', 4}},
                                                      {"F64", {'f', 8}},
                                                      {"F16", {'f', 2}},
                                                      {"BF16", {'g', 2}},
                                                      {"BOOL", {'b', 1}},
                                                      {"U8", {'u', 1}},
                                                      {"I8", {'i', 1}},
                                                      {"U16", {'u', 2}},
                                                      {"I16", {'i', 2}},
                                                      {"U32", {'u', 4}},
                                                      {"I32", {'i', 4}},
                                                      {"U64", {'u', 8}},
                                                      {"I64", {'i', 8}}}};

const char* stored_name(Dtype dtype) noexcept {
  static constexpr std::array<const char*, 6> kNames = {"F32", "F64", "I32", "I64", "U8", "BOOL"};
  return name_of(kNames, dtype);
}

std::string tensor_name(std::string_view name) { return "'" + printable(name.substr(0, 200)) + "'"; }

/// An entry of the header.
struct StoredTensor {
  std::string name;
  NpyHeader layout;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Parses the header of a file, and checks the entries against each other and against the size of the data.
class HeaderReader {
 public:
  HeaderReader(std::string where, uint64_t data_bytes) : where_(std::move(where)), data_bytes_(data_bytes) {}

  Status read(std::string_view text) {
    if (!text.starts_with('{')) return bad("the header does not begin with '{'");
    AH_LET(const json header, parse(text));
    for (const auto& [name, entry] : header.items()) {
      AH_TRY(name == kMetadata ? read_metadata(entry) : read_entry(name, entry));
    }
    return check_cover();
  }

  std::vector<StoredTensor> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;

 private:
  Error bad(const std::string& what) const { return {Code::bad_data, where_ + ": " + what}; }
  Error bad(const std::string& name, const std::string& what) const {
    return bad("tensor " + tensor_name(name) + ": " + what);
  }

  /// The JSON object. A valid header has three levels.
  Result<json> parse(std::string_view text) const {
    constexpr int kMostLevels = 4;
    std::vector<std::set<std::string>> names;  // of the open objects
    std::optional<std::string> repeated;
    bool deep = false;
    const auto check = [&](int depth, json::parse_event_t event, const json& value) {
      if (event == json::parse_event_t::object_start) names.emplace_back();
      if (event == json::parse_event_t::object_end && !names.empty()) names.pop_back();
      if (event == json::parse_event_t::key) {
        auto name = value.get<std::string>();
        if (!names.back().insert(name).second && !repeated) repeated = std::move(name);
      }
      deep = deep || depth > kMostLevels;
      return !deep;
    };
    try {
      json header = json::parse(text, check);
      if (deep) return bad("the header has more than " + std::to_string(kMostLevels) + " levels");
      if (repeated) return bad("the header has the name " + tensor_name(*repeated) + " twice in one object");
      return header;
    } catch (const json::exception& failure) {
      return bad("the header is no JSON object: " + printable(std::string_view(failure.what()).substr(0, 200)));
    }
  }

  Status read_metadata(const json& entry) {
    if (!entry.is_object()) return bad(std::string(kMetadata) + " is no object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) return bad(std::string(kMetadata) + ": the value of " + tensor_name(key) + " is no text");
      metadata.emplace(key, value.get<std::string>());
    }
    return {};
  }

  Status read_entry(const std::string& name, const json& entry) {
    StoredTensor tensor;
    tensor.name = name;
    if (!entry.is_object()) return bad(name, "an object with dtype, shape and data_offsets expected");
    for (const auto& [key, value] : entry.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        return bad(name, "unknown key " + tensor_name(key));
    }
    AH_TRY(read_dtype(entry, tensor));
    AH_TRY(read_shape(entry, tensor));
    AH_TRY(read_offsets(entry, tensor));
    tensors.push_back(std::move(tensor));
    return {};
  }

  Status read_dtype(const json& entry, StoredTensor& tensor) const {
    const auto at = entry.find("dtype");
    if (at == entry.end() || !at->is_string()) return bad(tensor.name, "dtype is missing or no text");
    const auto name = at->get<std::string>();
    const auto* known =
        std::find_if(kStoredNames.begin(), kStoredNames.end(), [&](auto& row) { return row.name == name; });
    if (known != kStoredNames.end()) {
      tensor.layout.stored = known->stored;
      return {};
    }
    std::string all;
    for (const StoredName& row : kStoredNames) all += (all.empty() ? "" : ", ") + std::string(row.name);
    return bad(tensor.name, "element type " + tensor_name(name) + " is not read; " + all + " are");
  }

  Status read_shape(const json& entry, StoredTensor& tensor) const {
    const auto at = entry.find("shape");
    if (at == entry.end() || !at->is_array()) return bad(tensor.name, "shape is missing or no array");
    std::vector<int64_t> sizes;
    for (const json& size : *at) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX) {
        return bad(tensor.name, "the shape has a size that is no whole number from 0 to 2^63 - 1");
      }
      sizes.push_back(size.get<int64_t>());
    }
    auto shape = Shape::of(sizes);
    if (!shape) return bad(tensor.name, shape.error().message);
    tensor.layout.shape = *shape;
    return {};
  }

  Status read_offsets(const json& entry, StoredTensor& tensor) const {
    const auto at = entry.find("data_offsets");
    const bool pair = at != entry.end() && at->is_array() && at->size() == 2;
    if (!pair || !(*at)[0].is_number_unsigned() || !(*at)[1].is_number_unsigned()) {
      return bad(tensor.name, "data_offsets is missing or not two whole numbers");
    }
    tensor.begin = (*at)[0].get<uint64_t>();
    tensor.end = (*at)[1].get<uint64_t>();
    if (tensor.begin > tensor.end)
      return bad(tensor.name, "data_offsets " + span_text(tensor) + " end before they begin");
    if (tensor.end > data_bytes_) {
      return bad(tensor.name, "data_offsets " + span_text(tensor) + " exceed the " + std::to_string(data_bytes_) +
                                  " bytes of data in the file: the file is truncated or damaged");
    }
    const uint64_t bytes = static_cast<uint64_t>(tensor.layout.shape.elements()) * tensor.layout.stored.bytes;
    if (bytes == tensor.end - tensor.begin) return {};
    return bad(tensor.name, "shape " + tensor.layout.shape.print() + " needs " + std::to_string(bytes) +
                                " bytes, but data_offsets " + span_text(tensor) + " have " +
                                std::to_string(tensor.end - tensor.begin));
  }

  /// Orders the tensors by their data. Fails for data of two tensors or of none.
  Status check_cover() {
    std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    uint64_t covered = 0;
    for (const StoredTensor& tensor : tensors) {
      if (tensor.begin < covered) {
        return bad(tensor.name, "data_offsets " + span_text(tensor) +
                                    " overlap the previous tensor, which ends at byte " + std::to_string(covered));
      }
      if (tensor.begin > covered) return bad(gap_text(covered, tensor.begin));
      covered = tensor.end;
    }
    if (covered < data_bytes_) return bad(gap_text(covered, data_bytes_));
    return {};
  }

  static std::string span_text(const StoredTensor& tensor) {
    return "[" + std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) + "]";
  }
  static std::string gap_text(uint64_t begin, uint64_t end) {
    return "bytes " + std::to_string(begin) + " to " + std::to_string(end) + " of the data belong to no tensor";
  }

  std::string where_;
  uint64_t data_bytes_;
};

/// Reads exactly `out.size()` bytes of `part`.
Status read_all(ByteSource& source, std::span<std::byte> out, const std::string& where, const std::string& part) {
  AH_LET(const size_t got, read_fully(source, out));
  if (got == out.size()) return {};
  return Error{Code::bad_data, where + ": truncated " + part + ": " + std::to_string(out.size()) + " bytes expected, " +
                                   std::to_string(got) + " found"};
}

/// Reads length and header text; checks the length against the size of the file.
Result<std::string> read_header_text(ByteSource& source, uint64_t file_bytes, const std::string& where) {
  uint64_t length = 0;
  AH_TRY(read_all(source, std::as_writable_bytes(std::span(&length, 1)), where, "header length"));
  if (length > kLongestHeader || length > file_bytes - kLengthBytes) {
    return Error{Code::bad_data, where +
                                     ": not a .safetensors file, or truncated: by its first 8 bytes the header has " +
                                     std::to_string(length) + " bytes, but the file has " + std::to_string(file_bytes) +
                                     ", and a header has at most " + std::to_string(kLongestHeader)};
  }
  std::string text(length, '\0');
  AH_TRY(read_all(source, std::as_writable_bytes(std::span(text)), where, "header"));
  return text;
}

/// A name as a JSON text. Throws json::exception for invalid UTF-8.
std::string json_name(const std::string& name) { return json(name).dump(); }

/// The header of `arrays`, which are in the order of their data. Throws json::exception for invalid UTF-8.
Result<std::string> header_text(const std::vector<const NamedArray*>& arrays,
                                const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += json_name(kMetadata) + ":" + json(metadata).dump() + ",";
  std::set<std::string_view> names = {kMetadata};
  uint64_t at = 0;
  for (const NamedArray* item : arrays) {
    if (!names.insert(item->name).second) {
      const char* fault = item->name == kMetadata ? " is the name of the metadata" : " is written twice";
      return Error{Code::bad_argument, "tensor " + tensor_name(item->name) + " cannot be stored: the name" + fault};
    }
    const TensorLayout& layout = item->array;
    const uint64_t end = at + layout.bytes();
    text += json_name(item->name) + R"(:{"dtype":")" + stored_name(layout.dtype) + R"(","shape":)" +
            json(std::vector<int64_t>(layout.shape.begin(), layout.shape.end())).dump() + R"(,"data_offsets":[)" +
            std::to_string(at) + "," + std::to_string(end) + "]},";
    at = end;
  }
  if (text.back() == ',') text.pop_back();
  text += "}";
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  if (text.size() <= kLongestHeader) return text;
  return Error{Code::bad_argument, "a header of " + std::to_string(text.size()) +
                                       " bytes is too long; the format allows " + std::to_string(kLongestHeader)};
}

/// The same with an error for invalid UTF-8.
Result<std::string> checked_header(const std::vector<const NamedArray*>& arrays,
                                   const std::map<std::string, std::string>& metadata) {
  try {
    return header_text(arrays, metadata);
  } catch (const json::exception&) {
    return Error{Code::bad_argument, "names of tensors and metadata have to be UTF-8 in a .safetensors file"};
  }
}

}  // namespace

Result<Safetensors> read_safetensors(const std::filesystem::path& path) {
  AH_LET(auto file, open_for_reading(path));
  const std::string where = path.string();
  if (!file.regular) return Error{Code::bad_data, where + ": a .safetensors file has to be a regular file"};
  const uint64_t file_bytes = file.size;
  PlainSource source(std::move(file.fd), path);
  AH_LET(const auto text, read_header_text(source, file_bytes, where));
  HeaderReader header(where, file_bytes - kLengthBytes - text.size());
  AH_TRY(header.read(text));

  Safetensors content{{}, std::move(header.metadata)};
  for (StoredTensor& tensor : header.tensors) {
    const std::string part = "tensor " + tensor_name(tensor.name);
    Blob data;
    try {
      data = Blob::allocate(tensor.end - tensor.begin);
    } catch (const std::bad_alloc&) {
      return Error{Code::bad_data,
                   where + ": " + part + ": no memory for " + std::to_string(tensor.end - tensor.begin) + " bytes"};
    }
    AH_TRY(read_all(source, {data.data(), data.size()}, where, part));
    AH_LET(auto array, from_stored(tensor.layout, std::move(data), where + ": " + part));
    content.arrays.push_back({std::move(tensor.name), std::move(array)});
  }
  return content;
}

Status write_safetensors(const std::filesystem::path& path, const Safetensors& content) {
  constexpr std::array<Dtype, 6> kOrder = {Dtype::i64, Dtype::f64, Dtype::f32, Dtype::i32, Dtype::u8, Dtype::b8};
  std::vector<std::pair<size_t, const NamedArray*>> ordered;
  for (const NamedArray& item : content.arrays) {
    const auto* place = std::find(kOrder.begin(), kOrder.end(), item.array.dtype);
    ordered.emplace_back(static_cast<size_t>(place - kOrder.begin()), &item);
  }
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second->name) < std::tie(b.first, b.second->name);
  });
  std::vector<const NamedArray*> arrays;
  for (const auto& [place, item] : ordered) arrays.push_back(item);

  auto text = checked_header(arrays, content.metadata);
  if (!text) return Error{text.error().code, path.string() + ": " + text.error().message};
  const uint64_t length = text->size();
  AH_LET(auto file, AtomicFile::begin(path));
  AH_TRY(file.write(std::as_bytes(std::span(&length, 1))));
  AH_TRY(file.write(std::as_bytes(std::span(*text))));
  for (const NamedArray* item : arrays) AH_TRY(file.write({item->array.data.data(), item->array.bytes()}));
  return file.commit();
}

}  // namespace actorhost
