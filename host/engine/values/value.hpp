#pragma once
// The values that the parameter server stores and sends: keys in canonical form, tensors (whole or in part), and Lua
// values as encoded bytes. Also the placement of keys and tensors on shards. Plain values. Blobs are shared: treat
// their bytes as read-only.
//
//   canonical key = 0x01 number:8 bytes, big-endian, of a double mapped so that bytes order as numbers do
//                 | 0x02 text
//                 | 0x03 writer:4 number:8 index:4 key     a part of a value among peers (split_tensor.hpp)
//
// The byte order of canonical keys is therefore the order of keys: numbers before strings.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "host/base/result.hpp"
#include "host/wire/carried_value.hpp"

namespace actorhost {

class ParamKey {
 public:
  static constexpr size_t kMaxText = 4096;

  ParamKey() = default;
  /// -0 is stored as 0. NaN is refused, as Lua refuses NaN as a table key.
  static Result<ParamKey> of(double number);
  /// Text of at most kMaxText bytes.
  static Result<ParamKey> of(std::string_view text);
  /// The key of part `index` of a value of `key`; `writer` gave the value `number`. Scripts cannot name such a key.
  static ParamKey of_part(const ParamKey& key, uint32_t writer, uint64_t number, uint32_t index);
  /// Checks bytes from outside of the process.
  static Result<ParamKey> from_canonical(std::string_view bytes);

  bool is_number() const noexcept { return !bytes_.empty() && bytes_[0] == kNumber; }
  bool is_part() const noexcept { return !bytes_.empty() && bytes_[0] == kPart; }
  /// Of a part: the key of the whole value, and the index of the part.
  ParamKey whole() const;
  uint32_t part() const noexcept;
  double number() const noexcept;
  std::string_view text() const noexcept { return std::string_view(bytes_).substr(1); }
  const std::string& canonical() const noexcept { return bytes_; }
  /// For messages: `3`, `"weights"`. Long text is cut.
  std::string print() const;
  /// The same on every machine and in every run.
  uint64_t hash() const noexcept;

  friend auto operator<=>(const ParamKey&, const ParamKey&) = default;

 private:
  static constexpr char kNumber = 1;
  static constexpr char kText = 2;
  static constexpr char kPart = 3;
  static constexpr size_t kPartHead = 17;
  std::string bytes_;
};

/// Elements [first, first + count) of a tensor of that shape, row-major. `data` holds exactly these elements, or is
/// empty where only the layout is meant.
struct ParamTensor : TensorLayout {
  uint64_t first = 0;
  uint64_t count = 0;
  Blob data;

  static ParamTensor whole(const TensorLayout& layout, Blob data);
  bool is_whole() const noexcept { return first == 0 && count == elements(); }
  /// The number of elements of the whole tensor.
  uint64_t elements() const noexcept { return static_cast<uint64_t>(shape.elements()); }
  size_t bytes() const noexcept { return count * dtype_size(dtype); }
};

/// In a task: the receiving worker fetches the value from the shards.
struct ParamFetch {};

using ParamValue = std::variant<std::monostate, ParamTensor, LuaValue, ParamFetch>;

/// The bytes of a value's elements and encoding, without keys and layouts.
size_t payload_bytes(const ParamValue& value) noexcept;

struct ParamEntry {
  ParamKey key;
  ParamValue value;
  uint64_t step = 0;  // of the last writer, where it is known
};

/// Tensors are sent and stored in chunks of this size, counted from the start of the shard's range. So receiving,
/// adding and sending overlap, and a chunk is still in the cache when it is used.
inline constexpr size_t kChunkBytes = size_t{1} << 20;
/// A larger tensor is split over all shards.
inline constexpr size_t kSplitBytes = size_t{256} << 10;

constexpr uint64_t chunk_elements(Dtype dtype) noexcept { return kChunkBytes / dtype_size(dtype); }

struct ElementRange {
  uint64_t first = 0;
  uint64_t count = 0;
};

/// The shard that owns a key.
uint32_t owner_of(const ParamKey& key, uint32_t shards) noexcept;
/// The range of a split tensor that `shard` holds. Ranges are equal and start at multiples of 16 elements.
ElementRange split_range(uint64_t elements, uint32_t shard, uint32_t shards) noexcept;
/// Whether a tensor of that size is split. This depends on the size alone, so every client knows where the parts are.
constexpr bool splits(uint64_t bytes, uint32_t shards) noexcept { return shards > 1 && bytes > kSplitBytes; }

/// Cuts [part.first, part.first + part.count) into chunks, which share the bytes of `part`.
template <typename Visit>
void for_each_chunk(const ParamTensor& part, Visit&& visit) {
  const uint64_t step = chunk_elements(part.dtype);
  uint64_t at = 0;
  do {
    ParamTensor piece = part;
    piece.first = part.first + at;
    piece.count = part.count - at < step ? part.count - at : step;
    if (!part.data.empty()) piece.data = part.data.slice(at * dtype_size(part.dtype), piece.bytes());
    at += piece.count;
    visit(std::move(piece));
  } while (at < part.count);
}

/// `part` restricted to `range`, which is within `part`.
ParamTensor cut(const ParamTensor& part, const ElementRange& range);

/// Calls visit(shard, value) for each shard with the part of a whole value that the shard holds. With `split` false the
/// owner holds the whole value.
template <typename Visit>
void for_each_home(const ParamKey& key, const ParamValue& value, uint32_t shards, bool split, Visit&& visit) {
  const auto* tensor = std::get_if<ParamTensor>(&value);
  if (tensor == nullptr || !split || !splits(tensor->bytes(), shards)) return visit(owner_of(key, shards), value);
  for (uint32_t shard = 0; shard < shards; ++shard) {
    const ElementRange range = split_range(tensor->count, shard, shards);
    if (range.count != 0) visit(shard, ParamValue(cut(*tensor, range)));
  }
}

}  // namespace actorhost

template <>
struct std::hash<actorhost::ParamKey> {
  size_t operator()(const actorhost::ParamKey& key) const noexcept { return key.hash(); }
};
