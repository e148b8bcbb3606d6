#include "host/engine/average/replica.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "host/engine/collective/reduction.hpp"

namespace actorhost {

namespace {

constexpr size_t kChunkBytes = size_t{16} << 10;  // copied and checked while in the first-level cache

size_t aligned(size_t bytes) { return (bytes + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment; }

template <typename T>
void move_by(T* x, const T* sum, const T* copy, size_t count, T divisor) {
  for (size_t i = 0; i < count; ++i) x[i] += sum[i] / divisor - copy[i];
}

template <typename T>
void replace_by(T* x, const T* sum, size_t count, T divisor) {
  for (size_t i = 0; i < count; ++i) x[i] = sum[i] / divisor;
}

/// The sum of the terms from byte `at` on, in their order; stored in `room` if there are several.
template <typename T>
const T* sum_of(const std::vector<Blob>& terms, size_t at, size_t count, T* room) {
  const Dtype dtype = sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;
  const std::byte* sum = terms[0].data() + at;
  for (size_t i = 1; i < terms.size(); ++i) {
    combine(CollectiveOp::sum, dtype, count, room, sum, terms[i].data() + at);
    sum = reinterpret_cast<const std::byte*>(room);
  }
  return reinterpret_cast<const T*>(sum);
}

/// Changes a part at byte `at` of the copy. An empty copy replaces the part.
template <typename T>
void change_part(Blob& part, size_t at, const AverageResult& result, const Blob& copy) {
  alignas(kBlobAlignment) T room[kChunkBytes / sizeof(T)];
  auto* x = reinterpret_cast<T*>(part.data());
  const auto divisor = static_cast<T>(result.count);
  for (size_t done = 0; done < part.size(); done += kChunkBytes) {
    const size_t count = std::min(kChunkBytes, part.size() - done) / sizeof(T);
    const T* sum = sum_of(result.terms, at + done, count, room);
    if (copy.empty()) {
      replace_by(x, sum, count, divisor);
    } else {
      move_by(x, sum, reinterpret_cast<const T*>(copy.data() + at + done), count, divisor);
    }
    x += count;
  }
}

template <typename T>
size_t first_not_finite(const std::byte* bytes, size_t count) {
  const auto* values = reinterpret_cast<const T*>(bytes);
  return static_cast<size_t>(std::find_if(values, values + count, [](T v) { return !std::isfinite(v); }) - values);
}

}  // namespace

AverageReplica::AverageReplica(const std::vector<Part>& parts, double long_step, const Clock& clock,
                               std::function<void()> wake_courier)
    : long_step_(long_step), clock_(clock), wake_courier_(std::move(wake_courier)) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    AverageLayout::Segment segment{dtype, aligned(layout_.bytes), 0};
    size_t at = segment.begin;
    for (const Part& part : parts) {
      if (part.dtype != dtype || part.bytes.empty()) continue;
      parts_.push_back({part, at});
      at += part.bytes.size();
    }
    segment.elements = (at - segment.begin) / dtype_size(dtype);
    if (segment.elements == 0) continue;
    layout_.segments.push_back(segment);
    layout_.bytes = at;
  }
}

Status AverageReplica::raise_fault() {
  if (std::exchange(fault_reported_, true)) return {};
  return Error{Code::bad_argument, fault_};
}

Status AverageReplica::lock() {
  const double start = clock_.now();
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    lock.lock();
    stats_.waiting += clock_.now() - start;
  }
  AH_TRY(raise_fault());
  if (last_step_ >= long_step_ && !copied_ && !change_) {
    const double from = clock_.now();
    make_copy();
    has_step_copy_ = fault_.empty();
    stats_.copying += clock_.now() - from;
    AH_TRY(raise_fault());
  }
  held_ = true;
  since_ = clock_.now();
  return {};
}

Status AverageReplica::unlock() {
  std::lock_guard lock(mutex_);
  held_ = false;
  has_step_copy_ = false;
  const double now = clock_.now();
  last_step_ = now - since_;
  ++stats_.steps;
  return serve_rounds(now);
}

Status AverageReplica::pause() {
  std::lock_guard lock(mutex_);
  has_step_copy_ = false;
  return serve_rounds(clock_.now());
}

/// Does the pending requests of rounds.
Status AverageReplica::serve_rounds(double now) {
  if (!copy_requested_ && !change_) return {};
  work();
  stats_.copying += clock_.now() - now;
  wake_courier_();
  return raise_fault();
}

bool AverageReplica::held() const {
  std::lock_guard lock(mutex_);
  return held_;
}

AverageReplica::Stats AverageReplica::stats() const {
  std::lock_guard lock(mutex_);
  Stats out = stats_;
  out.age = stats_.steps - changed_step_;
  return out;
}

/// Does the work between two steps: first the change, so that the next copy includes it.
void AverageReplica::work() {
  if (change_) change(*std::exchange(change_, std::nullopt));
  if (!copy_requested_) return;
  copy_requested_ = false;
  make_copy();
  copied_ = fault_.empty();
  refused_ = !copied_;
}

void AverageReplica::make_copy() {
  // Frames of a broken round may still refer to the last copy.
  if (copy_.size() != layout_.bytes || !copy_.unique()) copy_ = Blob::allocate(layout_.bytes);
  fault_.clear();
  copy_step_ = stats_.steps;
  for (const Piece& piece : parts_) {
    if (!finite_copy(piece)) return;
  }
}

bool AverageReplica::finite_copy(const Piece& piece) {
  const Blob& from = piece.part.bytes;
  const size_t size = dtype_size(piece.part.dtype);
  for (size_t at = 0; at < from.size(); at += kChunkBytes) {
    const size_t bytes = std::min(kChunkBytes, from.size() - at);
    std::byte* to = copy_.data() + piece.at + at;
    std::memcpy(to, from.data() + at, bytes);
    if (kernel::kernels().is_finite(piece.part.dtype, static_cast<int64_t>(bytes / size), to, 1)) continue;
    const size_t element = at / size + (piece.part.dtype == Dtype::f32 ? first_not_finite<float>(to, bytes / size)
                                                                       : first_not_finite<double>(to, bytes / size));
    fault_ = "tensor '" + piece.part.name + "' is not finite at element " + std::to_string(element + 1) +
             ", so it cannot be averaged";
    fault_reported_ = false;
    return false;
  }
  return true;
}

void AverageReplica::change(const Change& pending) {
  for (Piece& piece : parts_) {
    if (piece.part.dtype == Dtype::f32) {
      change_part<float>(piece.part.bytes, piece.at, pending.result, pending.copy);
    } else {
      change_part<double>(piece.part.bytes, piece.at, pending.result, pending.copy);
    }
  }
  ++stats_.rounds;
  stats_.staleness = stats_.steps - pending.step;
  stats_.all_staleness += stats_.staleness;
  changed_step_ = stats_.steps;
}

void AverageReplica::free_copy() {
  std::lock_guard lock(mutex_);
  if (!copy_requested_ && !copied_ && !change_) copy_ = {};
}

void AverageReplica::expect() {
  std::lock_guard lock(mutex_);
  awaits_outcome_ = true;
  outcome_.reset();
}

bool AverageReplica::settled() const {
  std::lock_guard lock(mutex_);
  return outcome_.has_value();
}

Status AverageReplica::outcome() {
  std::lock_guard lock(mutex_);
  awaits_outcome_ = false;
  if (!outcome_->ok()) fault_reported_ = true;  // the error explains a refusal of this model
  return *std::exchange(outcome_, std::nullopt);
}

void AverageReplica::set_wake(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void AverageReplica::settle(Status outcome) {
  std::function<void()> wake;
  {
    std::lock_guard lock(mutex_);
    if (!awaits_outcome_ || outcome_) return;
    outcome_ = std::move(outcome);
    wake = wake_;
  }
  if (wake) wake();
}

void AverageReplica::request_copy() {
  std::lock_guard lock(mutex_);
  copied_ = refused_ = false;
  if (!held_) {
    copy_requested_ = true;
    return work();
  }
  if (has_step_copy_) {
    copied_ = true;
  } else if (change_ && last_step_ >= long_step_) {
    refused_ = true;
  } else {
    copy_requested_ = true;
  }
}

AverageReplica::Copied AverageReplica::copied() const {
  std::lock_guard lock(mutex_);
  return copied_ ? Copied::yes : refused_ ? Copied::refused : Copied::no;
}

std::string AverageReplica::fault() const {
  std::lock_guard lock(mutex_);
  return fault_;
}

Blob AverageReplica::copy() const {
  std::lock_guard lock(mutex_);
  return copy_;
}

void AverageReplica::forget_copy(bool missed) {
  std::lock_guard lock(mutex_);
  copy_requested_ = copied_ = refused_ = false;
  if (missed) ++stats_.missed;
}

void AverageReplica::apply(const AverageResult& result, bool full, uint64_t bytes_sent) {
  std::lock_guard lock(mutex_);
  stats_.bytes += bytes_sent;
  change_ = Change{result, full ? Blob() : copy_, copy_step_};
  copied_ = has_step_copy_ = false;
  if (!held_) work();
}

void AverageReplica::broken() {
  std::lock_guard lock(mutex_);
  copy_requested_ = copied_ = refused_ = false;
  ++stats_.broken;
}

}  // namespace actorhost
