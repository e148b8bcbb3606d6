#pragma once
// Lossy compression of tensors in frames: a Filter encodes elements into fewer bytes, decode_filtered decodes them.
// Made for updates and gradients. Deterministic: the same elements give the same bytes and the same decoded elements on
// every machine and instruction set. A Filter has scratch memory, so one thread at a time may use it. Decoding is a
// pure function that checks every byte.
//
// A filter is a selection (all elements, the k of largest magnitude, or k random elements: topk.hpp) followed by a form
// of the values (raw; halves: half.hpp; 256 levels a block: minmax.hpp; signs: sign.hpp). Little-endian, `T` an
// element:
//
//   filtered  = version:u8 (1) type:u8 (0 float32, 1 float64) selection:u8 values:u8 [chosen] zeros payload
//   selection = 0: all `count` elements | 1: chosen as gaps | 2: chosen as a bitmap
//   chosen    = m:u32 gaps                     m elements are present, all others are 0
//             | m:u32 bitmap                   a bit for each of `count` elements, the first in the lowest bit; m are
//             set
//   gaps      = gap*m                          from one index to the next, the first from -1: LEB128, at least 1
//   zeros     = up to the next multiple of 8 from the first byte
//   payload   = T*m                            values 0: raw elements
//             | u16*m                          values 1: halves (IEEE 754 binary16)
//             | block:u32 0:u32 range*b bytes  values 2: levels, b = the blocks of `block` elements that hold m
//             | scale:T sign bits              values 3: a bit an element, 1 for negative; scale * sign; zeros to the
//             end of the last byte
//   range     = low:T high:T                   finite: a byte q for each element of the block, which is
//                                              low + q * (high - low) / 255; both NaN: its elements, raw
//
// The decoder knows the type and `count`, which the enclosing message carries. Elements that the requested form cannot
// represent are sent raw, so a finite element stays finite, and infinite elements and NaN are not lost: a piece with an
// element beyond the halves (65,520 and up), a block of levels or a piece of signs with an infinite element or a NaN.
//
// Error feedback. `residual` is a tensor of the same type and size, zeros at first. The caller stores one for each
// stream of tensors (for a worker and a key). The parts of a tensor that were rounded or not chosen are added to the
// next tensor. So over many rounds the sum of the decoded tensors differs from the sum of the inputs by `residual`
// alone.
//
// In pieces. A tensor that is sent in chunks is begun as a whole, so that top-k chooses among all of its elements. Then
// it is encoded chunk by chunk, each of its elements once, in any order:
//
//   Filter filter(spec);
//   filter.begin(dtype, count, values, residual);
//   for (chunk of it) send(filter.piece(chunk.first, chunk.count));
//
// At once. A tensor that is sent in one piece:
//
//   Blob bytes = filter.encode(dtype, count, values, residual);
//   decode_filtered(bytes.view(), dtype, count, out);

#include <cstdint>
#include <string_view>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/random.hpp"
#include "host/base/result.hpp"
#include "host/engine/filter/bytes.hpp"
#include "host/engine/filter/topk.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

struct FilterSpec {
  enum class Values : uint8_t { raw = 0, half = 1, levels = 2, sign = 3 };
  static constexpr uint32_t kMinBlock = 16;
  static constexpr uint32_t kMaxBlock = 65536;

  double fraction = 0;  // this share of the elements, rounded up; 0: see count
  uint64_t count = 0;   // this many elements; both 0: all
  bool random = false;  // random elements, instead of the largest
  Values values = Values::raw;
  uint32_t block = 1024;  // elements of a block of levels
  bool feedback = false;  // for the caller: whether to store a residual

  bool selects() const noexcept { return fraction > 0 || count > 0; }
  /// False for a filter that changes nothing.
  bool any() const noexcept { return selects() || values != Values::raw; }
  /// The number of sent elements of n.
  uint64_t selected_count(uint64_t n) const noexcept;
};

/// Code::bad_argument for a number out of its range.
Status check(const FilterSpec& spec);

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

/// The compression factor; 1 for no bytes.
inline double ratio_of(const FilterBytes& bytes) noexcept {
  return bytes.after == 0 ? 1 : static_cast<double>(bytes.before) / static_cast<double>(bytes.after);
}

/// The residual of error feedback for one stream of tensors.
class FilterResidual {
 public:
  /// The residual for a tensor of that type and size: the stored residual, or zeros if its type or size differs.
  void* fit(Dtype dtype, uint64_t count);
  const Blob& bytes() const noexcept { return bytes_; }

 private:
  Dtype dtype_ = Dtype::f32;
  Blob bytes_;
};

class Filter {
 public:
  /// Indices have 32 bits; larger tensors are encoded in several parts.
  static constexpr uint64_t kMaxElements = 0xffffffff;

  explicit Filter(const FilterSpec& spec, const kernel::Kernels& kernels = kernel::kernels())
      : spec_(spec), kernels_(&kernels) {}

  /// Begins a tensor of at most kMaxElements elements. `values` and `residual`, which may be null, must not change
  /// until the last piece is made, and must not overlap.
  void begin(Dtype dtype, uint64_t count, const void* values, void* residual = nullptr);
  /// Encodes elements [first, first + count) of the begun tensor.
  Blob piece(uint64_t first, uint64_t count);
  /// Encodes a whole tensor.
  Blob encode(Dtype dtype, uint64_t count, const void* values, void* residual = nullptr) {
    begin(dtype, count, values, residual);
    return piece(0, count);
  }

  const FilterSpec& spec() const noexcept { return spec_; }
  /// Of all pieces so far.
  const FilterBytes& bytes() const noexcept { return bytes_; }

 private:
  void write_values(uint64_t n, const void* values, void* residual);
  void write_chosen(uint64_t first, uint64_t count);

  FilterSpec spec_;
  const kernel::Kernels* kernels_;
  FilterBytes bytes_;
  // The begun tensor.
  Dtype dtype_ = Dtype::f32;
  const std::byte* values_ = nullptr;
  std::byte* residual_ = nullptr;
  Rng rng_;  // of random elements: filters with the same numbers of tensors choose the same elements
  // Scratch.
  TopkChoice choice_;
  FilterWriter out_;
  std::vector<uint32_t> indices_;
  std::vector<std::byte> chosen_;  // elements
};

/// Decodes `bytes` into `count` elements at `out`. Code::bad_data, and `out` undefined, if a Filter cannot have made
/// these bytes from so many elements of that type. Allocates memory proportional to `count` at most.
Status decode_filtered(std::string_view bytes, Dtype dtype, uint64_t count, void* out,
                       const kernel::Kernels& kernels = kernel::kernels());

}  // namespace actorhost
