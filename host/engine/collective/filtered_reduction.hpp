#pragma once
// An all-reduce whose data travels through a compression filter (filter.hpp): a passive machine of one rank, which gets
// and gives coded parcels. Each rank codes its input once, block by block, and sends block j straight to rank j. Rank j
// decodes all blocks j (its own too), combines them in rank order, codes the total, and sends these bytes to all. All
// ranks decode the same bytes, so all end with the same bits, whatever the timing.
//
//   2 steps, 2 C (n-1)/n bytes sent by each rank, where C are the coded bytes of a whole buffer
//
// Two roundings lie between inputs and result: each input's, and the total's. An element of a sum is off by the sum of
// its inputs' errors and that of the total. With error feedback both errors are kept for the next call of the same
// stream: an input's by the rank that gave it, a total's by the rank that combined it. A call that fails leaves the
// kept errors as they were. When ranks come or go totals have other blocks, and the errors kept of totals are dropped.

#include <atomic>
#include <functional>
#include <vector>

#include "host/engine/collective/collective_messages.hpp"
#include "host/engine/collective/reduction.hpp"
#include "host/engine/collective/schedule.hpp"
#include "host/engine/filter/filter.hpp"

namespace actorhost {

/// A filter with what error feedback keeps for a stream of tensors of one layout. Used by one call at a time, on
/// whichever thread carries it out; `busy` says so to the node's thread.
struct FilterStream {
  explicit FilterStream(const FilterSpec& s) : spec(s) {}

  /// False where a call under way has it.
  bool claim() noexcept { return !busy.exchange(true, std::memory_order_acq_rel); }
  void release() noexcept { busy.store(false, std::memory_order_release); }

  const FilterSpec spec;
  Blob input_rest;
  Blob total_rest;
  Span total_span{};  // whose total_rest that is
  std::atomic<bool> busy{false};
};

class FilteredReduction {
 public:
  /// Sends a coded parcel to a rank of the group.
  using Give = std::function<Status(uint32_t to, PackedValue parcel)>;

  FilteredReduction(const Place& place, CollectiveOp op, Dtype dtype, Blob input, FilterStream& stream, Give give);

  Status start();
  /// A parcel from a rank of the group; Code::bad_data for one that is not due.
  Status take(uint32_t from, const PackedValue& parcel);
  bool done() const noexcept { return started_ && inputs_due_ == 0 && totals_due_ == 0; }
  const Blob& result() const noexcept { return result_; }
  /// The call has worked: what error feedback keeps is that of the stream from now on.
  void keep();
  /// Elements that this rank has sent, before and after the filter.
  const FilterBytes& bytes() const noexcept { return bytes_; }

 private:
  Status give(uint32_t to, const char* about, const Blob& coded, const Span& span);
  Status take_input(uint32_t from, const Blob& coded);
  Status take_total(uint32_t from, const Blob& coded);
  Status combine_inputs();
  void* rest_of(Blob& kept, const Blob& before, size_t count) const;
  size_t size_of(const Span& span) const noexcept { return span.size() * dtype_size(dtype_); }

  const Place place_;
  const CollectiveOp op_;
  const Dtype dtype_;
  const Blob input_;
  FilterStream& stream_;
  const Give give_;
  Blob result_;
  Blob input_rest_, total_rest_;
  std::vector<Blob> inputs_;  // coded, of this rank's block
  std::vector<bool> got_input_, got_total_;
  size_t inputs_due_ = 0;
  size_t totals_due_ = 0;
  bool started_ = false;
  FilterBytes bytes_;
};

}  // namespace actorhost
