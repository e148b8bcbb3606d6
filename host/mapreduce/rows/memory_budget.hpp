#pragma once
// How much of `--memory` a process's map-reduce data takes. One per process, handed to whoever keeps rows; any thread,
// never blocks. It refuses nothing that cannot be done otherwise: a caller that takes more than there is gives some
// back by spilling (BlockStore), or takes no more than its share to begin with (tables and sorters).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace actorhost {

/// A table or a sort with less memory would spill every few rows.
inline constexpr size_t kLeastMemory = size_t{64} << 10;

class MemoryBudget {
 public:
  /// `users`: how many tasks work at the same time, one a worker.
  explicit MemoryBudget(size_t limit, uint32_t users = 1) : limit_(limit), users_(users == 0 ? 1 : users) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// Also when there is not as much left.
  void take(size_t bytes) noexcept { raise_peak(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes); }
  void give(size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// What gives memory back when a task's tables and sorts need it: the store. Before other threads use the budget.
  void set_relief(std::function<void()> relief) { relief_ = std::move(relief); }
  /// Called by a user of memory that has taken more than there is, on its thread; may wait for the disk.
  void relieve() noexcept {
    if (relief_ && exceeded()) relief_();
  }

  size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  size_t limit() const noexcept { return limit_; }
  bool exceeded() const noexcept { return used() > limit_; }
  /// What there is for each user.
  size_t each() const noexcept { return limit_ / users_; }
  /// What one task may take for its tables, sorts and buffers: half of the limit goes to all tasks, the rest is for
  /// what they have put out.
  size_t share() const noexcept { return limit_ / 2 / users_; }

 private:
  void raise_peak(size_t used) noexcept {
    size_t peak = peak_.load(std::memory_order_relaxed);
    while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
    }
  }

  const size_t limit_;
  const uint32_t users_;
  std::atomic<size_t> used_{0};
  std::atomic<size_t> peak_{0};
  std::function<void()> relief_;
};

/// Bytes that one owner has taken of a budget; they go back with it. One thread at a time. Without a budget it only
/// counts.
class Reservation {
 public:
  explicit Reservation(MemoryBudget* budget = nullptr) noexcept : budget_(budget) {}
  Reservation(Reservation&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    if (this == &other) return *this;
    release();
    budget_ = other.budget_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~Reservation() { release(); }

  size_t bytes() const noexcept { return bytes_; }
  void grow(size_t bytes) noexcept {
    bytes_ += bytes;
    if (budget_ == nullptr) return;
    budget_->take(bytes);
    budget_->relieve();
  }
  void shrink(size_t bytes) noexcept {
    if (budget_ != nullptr) budget_->give(bytes);
    bytes_ -= bytes;
  }
  void resize(size_t bytes) noexcept { bytes > bytes_ ? grow(bytes - bytes_) : shrink(bytes_ - bytes); }
  void release() noexcept { shrink(bytes_); }

 private:
  MemoryBudget* budget_;
  size_t bytes_ = 0;
};

}  // namespace actorhost
