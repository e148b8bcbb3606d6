#pragma once
// The functions behind ffi_data.h. Stateless and thread-safe.

#include <memory>

#include "bindings/modules/array/batch_loader.hpp"
#include "bindings/modules/array/ffi_data.h"
#include "host/base/blob.hpp"

namespace actorhost {

extern const ah_data_api kDataApi;

/// The interpretation of a row of bytes.
struct RowMeaning {
  double scale = 1;
  double shift = 0;
  int ndim = 2;
};

/// Fills `rows`, which must be empty, with `n` rows of `width` bytes at `bytes`; `holder` keeps the bytes alive.
void set_rows(ah_rows& rows, std::shared_ptr<const void> holder, const Blob& bytes, size_t n, size_t width,
              const RowMeaning& meaning) noexcept;

/// Gathers rows of `rows` as float32; keeps their bytes alive.
Gather gather_of(const ah_rows& rows);

/// Gathers rows of `row_bytes` bytes unchanged; `block` keeps `from` alive.
Gather gather_of(Blob block, const void* from, int64_t n, int64_t row_bytes);

}  // namespace actorhost
