#pragma once
// An all-reduce that compresses its data with a filter (filter.hpp). A passive machine of one rank: encoded parcels go
// in and out. Each rank encodes its input once, block by block, and sends block j directly to rank j. Rank j decodes
// its block of all inputs (including its own), combines them in rank order, encodes the total, and sends the encoded
// total to all ranks. All ranks decode the same bytes, so all results have the same bits, whatever the timing.
//
//   2 steps, each rank sends 2 C (n-1)/n bytes, where C is the encoded size of a whole buffer
//
// Data is rounded twice: each input once, and the total once. So the error of an element of a sum is the sum of its
// inputs' errors plus the error of the total. With error feedback the next call of the same stream compensates both
// errors: the rank that encoded an input retains the input's error, the rank that combined a total retains the total's.
// A failed call does not change the retained errors. When the members change, totals have other blocks, and ranks
// discard the retained errors of totals.

#include <atomic>
#include <functional>
#include <vector>

#include "host/engine/collective/collective_messages.hpp"
#include "host/engine/collective/reduction.hpp"
#include "host/engine/collective/schedule/schedule.hpp"
#include "host/engine/filter/filter.hpp"

namespace actorhost {

/// A filter and the errors that error feedback retains for a stream of tensors of one layout. One call at a time uses a
/// stream, on any thread; `busy` shows the use to the node's thread.
struct FilterStream {
  explicit FilterStream(const FilterSpec& s) : spec(s) {}

  /// False where a call in progress uses the stream.
  bool claim() noexcept { return !busy.exchange(true, std::memory_order_acq_rel); }
  void release() noexcept { busy.store(false, std::memory_order_release); }

  const FilterSpec spec;
  Blob input_residual;
  Blob total_residual;
  Span total_span{};  // the elements that total_residual belongs to
  std::atomic<bool> busy{false};
};

class FilteredReduction {
 public:
  /// Sends an encoded parcel to a rank of the group.
  using SendParcel = std::function<Status(uint32_t to, PackedValue parcel)>;

  FilteredReduction(const Place& place, CollectiveOp op, Dtype dtype, Blob input, FilterStream& stream,
                    SendParcel send_parcel);

  Status start();
  /// Delivers a parcel from a rank of the group; Code::bad_data for an unexpected parcel.
  Status take(uint32_t from, const PackedValue& parcel);
  bool done() const noexcept { return started_ && inputs_due_ == 0 && totals_due_ == 0; }
  const Blob& result() const noexcept { return result_; }
  /// After success: stores the new errors in the stream.
  void save_residuals();
  /// Size of the data that this rank has sent, before and after encoding.
  const FilterBytes& bytes() const noexcept { return bytes_; }

 private:
  Status send_coded(uint32_t to, const char* about, const Blob& coded, const Span& span);
  Status take_input(uint32_t from, const Blob& coded);
  Status take_total(uint32_t from, const Blob& coded);
  Status combine_inputs();
  void* residual_of(Blob& residual, const Blob& before, size_t count) const;
  size_t size_of(const Span& span) const noexcept { return span.size() * dtype_size(dtype_); }

  const Place place_;
  const CollectiveOp op_;
  const Dtype dtype_;
  const Blob input_;
  FilterStream& stream_;
  const SendParcel send_parcel_;
  Blob result_;
  Blob input_residual_, total_residual_;
  std::vector<Blob> inputs_;  // encoded inputs of this rank's block
  std::vector<bool> got_input_, got_total_;
  size_t inputs_due_ = 0;
  size_t totals_due_ = 0;
  bool started_ = false;
  FilterBytes bytes_;
};

}  // namespace actorhost
