#include "host/engine/collective/filtered_reduction.hpp"

#include <cstring>
#include <utility>

namespace actorhost {

namespace {

constexpr const char* kInput = "i";
constexpr const char* kTotal = "t";

}  // namespace

FilteredReduction::FilteredReduction(const Place& place, CollectiveOp op, Dtype dtype, Blob input, FilterStream& stream,
                                     SendParcel send_parcel)
    : place_(place),
      op_(op),
      dtype_(dtype),
      input_(std::move(input)),
      stream_(stream),
      send_parcel_(std::move(send_parcel)),
      result_(Blob::allocate(input_.size())),
      inputs_(place.ranks),
      got_input_(place.ranks),
      got_total_(place.ranks) {
  const bool combines = !place_.block(place_.rank).empty();
  inputs_due_ = combines ? place_.ranks : 0;
  for (uint32_t rank = 0; rank < place_.ranks; ++rank) totals_due_ += !place_.block(rank).empty();
}

/// A copy of the retained errors, or zeros; null without error feedback.
void* FilteredReduction::residual_of(Blob& residual, const Blob& before, size_t count) const {
  if (!stream_.spec.feedback) return nullptr;
  const size_t size = count * dtype_size(dtype_);
  if (before.size() == size) {
    residual = Blob::copy_of(before.data(), size);
  } else {
    residual = Blob::allocate(size);
    if (size > 0) std::memset(residual.data(), 0, size);
  }
  return residual.data();
}

Status FilteredReduction::start() {
  started_ = true;
  if (place_.elements == 0) return {};
  Filter filter(stream_.spec);
  filter.begin(dtype_, place_.elements, input_.data(),
               residual_of(input_residual_, stream_.input_residual, place_.elements));
  // Each rank begins with its successor, so the ranks do not all send to the same rank.
  for (uint32_t i = 1; i <= place_.ranks; ++i) {
    const uint32_t to = (place_.rank + i) % place_.ranks;
    const Span block = place_.block(to);
    if (block.empty()) continue;
    const Blob coded = filter.piece(block.begin, block.size());
    AH_TRY(to == place_.rank ? take_input(to, coded) : send_coded(to, kInput, coded, block));
  }
  return {};
}

Status FilteredReduction::send_coded(uint32_t to, const char* about, const Blob& coded, const Span& span) {
  bytes_ += {size_of(span), coded.size()};
  return send_parcel_(to, {about, coded});
}

Status FilteredReduction::take(uint32_t from, const PackedValue& parcel) {
  if (from < place_.ranks && parcel.head == kInput) return take_input(from, parcel.body);
  if (from < place_.ranks && parcel.head == kTotal) return take_total(from, parcel.body);
  return Error{Code::bad_data, "an unexpected parcel"};
}

Status FilteredReduction::take_input(uint32_t from, const Blob& coded) {
  if (inputs_due_ == 0 || got_input_[from]) return Error{Code::bad_data, "an unexpected parcel"};
  got_input_[from] = true;
  inputs_[from] = coded;
  return --inputs_due_ == 0 ? combine_inputs() : Status();
}

/// All inputs of this rank's block have arrived: sends their total to all ranks.
Status FilteredReduction::combine_inputs() {
  const Span block = place_.block(place_.rank);
  Blob total = Blob::allocate(size_of(block));
  Blob other = Blob::allocate(place_.ranks > 1 ? size_of(block) : 0);
  for (uint32_t rank = 0; rank < place_.ranks; ++rank) {
    Blob& decoded = rank == 0 ? total : other;
    AH_TRY(decode_filtered(inputs_[rank].view(), dtype_, block.size(), decoded.data()));
    if (rank > 0) combine(op_, dtype_, block.size(), total.data(), total.data(), other.data());
    inputs_[rank] = {};
  }
  actorhost::finish(op_, dtype_, block.size(), total.data(), place_.ranks);
  const bool same = stream_.total_span.begin == block.begin && stream_.total_span.end == block.end;
  Filter filter(stream_.spec);
  const Blob coded = filter.encode(dtype_, block.size(), total.data(),
                                   residual_of(total_residual_, same ? stream_.total_residual : Blob(), block.size()));
  for (uint32_t i = 1; i < place_.ranks; ++i) {
    AH_TRY(send_coded((place_.rank + i) % place_.ranks, kTotal, coded, block));
  }
  return take_total(place_.rank, coded);
}

Status FilteredReduction::take_total(uint32_t from, const Blob& coded) {
  const Span block = place_.block(from);
  if (got_total_[from] || block.empty()) return Error{Code::bad_data, "an unexpected parcel"};
  got_total_[from] = true;
  --totals_due_;
  return decode_filtered(coded.view(), dtype_, block.size(), result_.data() + size_of({0, block.begin}));
}

void FilteredReduction::save_residuals() {
  if (!stream_.spec.feedback || place_.elements == 0) return;
  stream_.input_residual = std::move(input_residual_);
  stream_.total_residual = std::move(total_residual_);
  stream_.total_span = place_.block(place_.rank);
}

}  // namespace actorhost
