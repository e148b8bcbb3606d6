#include "host/engine/filter/filter.hpp"

#include <algorithm>
#include <cmath>

#include "host/engine/filter/half.hpp"
#include "host/engine/filter/minmax.hpp"
#include "host/engine/filter/sign.hpp"

namespace actorhost {

namespace {

using kernel::Kernels;
using Values = FilterSpec::Values;

constexpr uint8_t kVersion = 1;
constexpr size_t kValuesPlace = 3;  // of the byte with the form of the values

// Removes infinite elements and NaN from the residual, where they would stay forever unless chosen.
template <typename T>
void drop_non_finite(const TopkChoice& choice, uint64_t first, uint64_t count, T* residual) {
  for (uint64_t i = first; i < first + count; ++i) {
    if (!std::isfinite(residual[i]) && !choice.chosen(i)) residual[i] = 0;
  }
}

template <typename T>
void gather(const std::vector<uint32_t>& indices, const T* from, T* to) {
  for (const uint32_t i : indices) *to++ = from[i];
}

template <typename T>
void scatter(const std::vector<uint32_t>& indices, const T* from, T* to) {
  for (const uint32_t i : indices) to[i] = *from++;  // NOLINT(clang-analyzer-core.NullDereference): each has a value
}

Status read_values(const Kernels& k, FilterReader& in, Values values, Dtype dtype, uint64_t n, void* out) {
  switch (values) {
    case Values::half: return read_halves(k, in, dtype, n, out);
    case Values::levels: return read_levels(k, in, dtype, n, out);
    case Values::sign: return read_signs(in, dtype, n, out);
    case Values::raw: break;
  }
  if (n > in.left() / dtype_size(dtype)) return malformed_filtered("fewer values than elements");
  if (n != 0) std::memcpy(out, in.take(n * dtype_size(dtype)), n * dtype_size(dtype));
  return {};
}

Status read_chosen(const Kernels& k, FilterReader& in, Selection selection, Values values, Dtype dtype, uint64_t count,
                   void* out) {
  std::vector<uint32_t> indices;
  AH_TRY(read_indices(in, selection, count, indices));
  if (!in.align()) return malformed_filtered("bytes other than zeros before the values");
  std::vector<std::byte> chosen(indices.size() * dtype_size(dtype));
  AH_TRY(read_values(k, in, values, dtype, indices.size(), chosen.data()));
  if (count != 0) std::memset(out, 0, count * dtype_size(dtype));
  if (dtype == Dtype::f32) {
    scatter(indices, reinterpret_cast<const float*>(chosen.data()), static_cast<float*>(out));
  } else {
    scatter(indices, reinterpret_cast<const double*>(chosen.data()), static_cast<double*>(out));
  }
  return {};
}

}  // namespace

uint64_t FilterSpec::selected_count(uint64_t n) const noexcept {
  if (count > 0) return std::min(count, n);
  if (fraction <= 0) return n;
  return std::min(n, static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(n))));
}

Status check(const FilterSpec& spec) {
  const auto wrong = [](const char* what) { return Error{Code::bad_argument, std::string("filter: ") + what}; };
  if (!(spec.fraction >= 0 && spec.fraction <= 1)) return wrong("a fraction is a number above 0, at most 1");
  if (spec.fraction > 0 && spec.count > 0) return wrong("give a fraction or a count");
  if (spec.values > Values::sign) return wrong("unknown form of values");
  if (spec.block < FilterSpec::kMinBlock || spec.block > FilterSpec::kMaxBlock) {
    return wrong("int8's block is 16 to 65536 elements");
  }
  return {};
}

void* FilterResidual::fit(Dtype dtype, uint64_t count) {
  const size_t size = count * dtype_size(dtype);
  if (size == 0) return nullptr;
  if (dtype != dtype_ || bytes_.size() != size) {
    bytes_ = Blob::allocate(size);
    std::memset(bytes_.data(), 0, size);
    dtype_ = dtype;
  }
  return bytes_.data();
}

void Filter::begin(Dtype dtype, uint64_t count, const void* values, void* residual) {
  dtype_ = dtype;
  values_ = static_cast<const std::byte*>(values);
  residual_ = static_cast<std::byte*>(residual);
  if (!spec_.selects()) return;
  if (residual != nullptr) {
    kernels_->axpy(dtype, static_cast<int64_t>(count), 1, values, 1, residual, 1);
    values_ = residual_;
  }
  if (spec_.random) {
    choice_.choose_random(count, spec_.selected_count(count), rng_);
  } else {
    choice_.choose(*kernels_, dtype, count, values_, spec_.selected_count(count));
  }
}

Blob Filter::piece(uint64_t first, uint64_t count) {
  const size_t item = dtype_size(dtype_);
  out_.cut(0);
  out_.put(kVersion).put(static_cast<uint8_t>(dtype_)).put(Selection::all).put(spec_.values);
  if (spec_.selects()) {
    write_chosen(first, count);
  } else {
    out_.align();
    std::byte* residual = residual_ == nullptr ? nullptr : residual_ + first * item;
    const std::byte* values = values_ == nullptr ? nullptr : values_ + first * item;
    if (residual != nullptr) {
      kernels_->axpy(dtype_, static_cast<int64_t>(count), 1, values, 1, residual, 1);
      values = residual;
    }
    write_values(count, values, residual);
  }
  Blob bytes = out_.blob();
  bytes_ += {count * item, bytes.size()};
  return bytes;
}

void Filter::write_chosen(uint64_t first, uint64_t count) {
  indices_.clear();
  choice_.for_each(first, count, [&](uint64_t i) { indices_.push_back(static_cast<uint32_t>(i - first)); });
  const Selection form = shorter_form(indices_, count);
  *out_.at(2) = static_cast<std::byte>(form);
  write_indices(indices_, count, form, out_);
  out_.align();
  chosen_.resize(indices_.size() * dtype_size(dtype_));
  const auto run = [&]<typename T>(const T* values, T* residual) {
    T* chosen = reinterpret_cast<T*>(chosen_.data());
    gather(indices_, values + first, chosen);
    write_values(indices_.size(), chosen, residual == nullptr ? nullptr : chosen);
    if (residual == nullptr) return;
    scatter(indices_, chosen, residual + first);
    if (choice_.left_non_finite()) drop_non_finite(choice_, first, count, residual);
  };
  if (dtype_ == Dtype::f32) {
    run(reinterpret_cast<const float*>(values_), reinterpret_cast<float*>(residual_));
  } else {
    run(reinterpret_cast<const double*>(values_), reinterpret_cast<double*>(residual_));
  }
}

void Filter::write_values(uint64_t n, const void* values, void* residual) {
  if (spec_.values == Values::levels) return write_levels(*kernels_, dtype_, n, spec_.block, values, residual, out_);
  if (spec_.values == Values::sign && write_signs(dtype_, n, values, residual, out_)) return;
  if (spec_.values == Values::half && write_halves(*kernels_, dtype_, n, values, residual, out_)) return;
  *out_.at(kValuesPlace) = static_cast<std::byte>(Values::raw);
  const size_t size = n * dtype_size(dtype_);
  if (size == 0 || values == nullptr) return;  // null: there are no elements
  std::memcpy(out_.take(size), values, size);
  if (residual != nullptr) std::memset(residual, 0, size);
}

Status decode_filtered(std::string_view bytes, Dtype dtype, uint64_t count, void* out, const Kernels& k) {
  FilterReader in(bytes);
  uint8_t version = 0;
  uint8_t type = 0;
  uint8_t selection = 0;
  uint8_t values = 0;
  if (!in.get(version) || !in.get(type) || !in.get(selection) || !in.get(values)) return malformed_filtered("no head");
  if (version != kVersion) return malformed_filtered("written in another version");
  if (type != static_cast<uint8_t>(dtype)) return malformed_filtered("elements of another type");
  if (selection > static_cast<uint8_t>(Selection::bitmap)) return malformed_filtered("an unknown selection");
  if (values > static_cast<uint8_t>(Values::sign)) return malformed_filtered("an unknown form of values");
  if (count > Filter::kMaxElements) return malformed_filtered("too many elements");
  if (static_cast<Selection>(selection) != Selection::all) {
    AH_TRY(read_chosen(k, in, static_cast<Selection>(selection), static_cast<Values>(values), dtype, count, out));
  } else {
    if (!in.align()) return malformed_filtered("bytes other than zeros before the values");
    AH_TRY(read_values(k, in, static_cast<Values>(values), dtype, count, out));
  }
  if (in.left() != 0) return malformed_filtered("more bytes than it needs");
  return {};
}

}  // namespace actorhost
