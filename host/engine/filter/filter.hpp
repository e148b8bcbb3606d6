#pragma once
// Compression of tensors on their way: a Filter turns elements into fewer bytes, decode_filtered turns these back. It
// is lossy, made for updates and gradients, and deterministic: the same elements give the same bytes on every machine
// and instruction set, and the same elements back. A Filter belongs to one thread at a time (it keeps scratch memory);
// decoding is a pure function that trusts no byte.
//
// A filter is a selection (all elements, or the k of largest magnitude: topk.hpp) and then a form of the values (as
// they are; halves: half.hpp; 256 levels a block: minmax.hpp). Little-endian, `T` an element:
//
//   filtered  = version:u8 (1) type:u8 (0 float32, 1 float64) selection:u8 values:u8 [chosen] zeros payload
//   selection = 0: all `count` elements | 1: chosen as gaps | 2: chosen as a bitmap
//   chosen    = m:u32 gaps                     m elements are there, all others are 0
//             | m:u32 bitmap                   a bit for each of `count` elements, the first in the lowest bit; m are
//             set
//   gaps      = gap*m                          from one index to the next, the first one from -1: LEB128, at least 1
//   zeros     = up to the next multiple of 8 from the first byte
//   payload   = T*m                            values 0: as they are
//             | u16*m                          values 1: halves (IEEE 754 binary16)
//             | block:u32 0:u32 range*b bytes  values 2: levels, b = the blocks of `block` elements that hold m
//   range     = low:T high:T                   finite: a byte q for each element of the block, which is
//                                              low + q * (high - low) / 255; both NaN: its elements as they are
//
// The decoder knows the type and `count`: they travel in the message around it. What cannot be told in the
// form asked for goes as it is, so that a finite element stays finite and an infinite one or a NaN is not lost: a piece
// with an element beyond the halves (65,520 and up), a block of levels with an infinite element or a NaN.
//
// Error feedback. `rest` is a tensor of the same type and size, zeros at first, that the caller keeps for each stream
// of tensors (for a worker and a key): what was not sent of the last one, because it was rounded or not chosen, is
// added to the next one. Over many rounds the sum of what is decoded so differs from the sum of what went in by `rest`
// alone.
//
// In pieces. A tensor that travels in chunks is begun as a whole, so that top-k chooses among all its elements, then
// encoded chunk by chunk, each of its elements once, in any order:
//
//   Filter filter(spec);
//   filter.begin(dtype, count, values, rest);
//   for (chunk of it) send(filter.piece(chunk.first, chunk.count));
//
// A ring that adds to chunks as they pass encodes each as a tensor of its own instead, with its part of `rest`:
//
//   Blob bytes = filter.encode(dtype, chunk.count, sums + chunk.first, rest + chunk.first);   // at each hop
//   decode_filtered(bytes.view(), dtype, chunk.count, incoming);                              // then sums += incoming
//   // The last hop's bytes are passed on unchanged and decoded by all, the one that made them too: the same
//   everywhere.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"
#include "host/engine/filter/topk.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

struct FilterSpec {
  enum class Values : uint8_t { raw = 0, half = 1, levels = 2 };
  static constexpr uint32_t kMinBlock = 16;
  static constexpr uint32_t kMaxBlock = 65536;

  double fraction = 0;  // top-k: this share of the elements, rounded up; 0: see count
  uint64_t count = 0;   // top-k: so many elements; both 0: all
  Values values = Values::raw;
  uint32_t block = 1024;  // of levels
  bool feedback = false;  // for the caller: whether to keep a rest

  bool selects() const noexcept { return fraction > 0 || count > 0; }
  /// False for a filter that changes nothing.
  bool any() const noexcept { return selects() || values != Values::raw; }
  /// How many of n elements are sent.
  uint64_t kept_of(uint64_t n) const noexcept;
};

/// Code::bad_argument when a number is out of its range.
Status check(const FilterSpec& spec);
/// "topk:0.01+fp16", "int8", "none": as actor.filter spells it, without its options.
std::string print(const FilterSpec& spec);

/// Bytes of elements before and after a filter.
struct FilterBytes {
  uint64_t before = 0;
  uint64_t after = 0;
  static void fields(auto& m, auto&& field) { field(m.before, m.after); }
  FilterBytes& operator+=(const FilterBytes& other) noexcept {
    before += other.before;
    after += other.after;
    return *this;
  }
  friend bool operator==(const FilterBytes&, const FilterBytes&) = default;
};

/// How many times smaller; 1 for nothing.
inline double ratio_of(const FilterBytes& bytes) noexcept {
  return bytes.after == 0 ? 1 : static_cast<double>(bytes.before) / static_cast<double>(bytes.after);
}

/// What error feedback keeps of one stream of tensors.
class FilterRest {
 public:
  /// The rest for a tensor of that type and size: what was kept, or zeros when it had another.
  void* fit(Dtype dtype, uint64_t count);
  const Blob& bytes() const noexcept { return bytes_; }

 private:
  Dtype dtype_ = Dtype::f32;
  Blob bytes_;
};

class Filter {
 public:
  /// Indices are 32 bits wide; larger tensors are encoded in several.
  static constexpr uint64_t kMaxElements = 0xffffffff;

  explicit Filter(const FilterSpec& spec, const kernel::Kernels& kernels = kernel::kernels())
      : spec_(spec), kernels_(&kernels) {}

  /// A tensor of at most kMaxElements elements. `values`, and `rest` unless it is null, stay as they are until the last
  /// piece is made; they do not overlap.
  void begin(Dtype dtype, uint64_t count, const void* values, void* rest = nullptr);
  /// Elements [first, first + count) of it.
  Blob piece(uint64_t first, uint64_t count);
  /// All in one.
  Blob encode(Dtype dtype, uint64_t count, const void* values, void* rest = nullptr) {
    begin(dtype, count, values, rest);
    return piece(0, count);
  }

  const FilterSpec& spec() const noexcept { return spec_; }
  /// Of all pieces so far.
  const FilterBytes& bytes() const noexcept { return bytes_; }

 private:
  void write_values(uint64_t n, const void* values, void* rest);
  void write_chosen(uint64_t first, uint64_t count);

  FilterSpec spec_;
  const kernel::Kernels* kernels_;
  FilterBytes bytes_;
  // Of the tensor that was begun.
  Dtype dtype_ = Dtype::f32;
  const std::byte* values_ = nullptr;
  std::byte* rest_ = nullptr;
  // Scratch.
  TopkChoice choice_;
  FilterWriter out_;
  std::vector<uint32_t> indices_;
  std::vector<std::byte> chosen_;  // elements
};

/// Writes the `count` elements that `bytes` stands for to `out`. Code::bad_data, and `out` undefined, when they are not
/// what a Filter makes of so many elements of that type. Takes memory in proportion to `count` at most.
Status decode_filtered(std::string_view bytes, Dtype dtype, uint64_t count, void* out,
                       const kernel::Kernels& kernels = kernel::kernels());

}  // namespace actorhost
