#pragma once
// Counts the memory of a process's map-reduce data against the limit, the process's share of `--memory`. A budget never
// refuses memory. Tables and sorts limit themselves to their `share`: they spill further rows to disk. If the process
// still exceeds the limit, its block store spills outputs. All objects of a process that hold rows share one budget.
// Thread-safe; only `relieve` may block.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "host/base/non_copyable.hpp"

namespace actorhost {

/// The least memory of a table or sort: with less it would spill every few rows.
inline constexpr size_t kLeastMemory = size_t{64} << 10;

class MemoryBudget : private NonCopyable {
 public:
  /// `users`: the number of tasks that run at the same time, one per worker.
  explicit MemoryBudget(size_t limit, uint32_t users = 1) : limit_(limit), users_(users == 0 ? 1 : users) {}

  /// Counts memory that the caller has taken, also beyond the limit.
  void take(size_t bytes) noexcept { raise_peak(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes); }
  /// Counts memory that the caller has freed.
  void give(size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// Sets the function that frees memory when the limit is exceeded: the block store spills. To be called before other
  /// threads use the budget.
  void set_relief(std::function<void()> relief) { relief_ = std::move(relief); }
  /// Frees memory if the limit is exceeded. Runs on the caller's thread and blocks on the disk.
  void relieve() noexcept {
    if (relief_ && exceeded()) relief_();
  }

  size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  size_t limit() const noexcept { return limit_; }
  bool exceeded() const noexcept { return used() > limit_; }
  /// The limit for one user, including its outputs.
  size_t each() const noexcept { return limit_ / users_; }
  /// The limit for the tables, sorts and buffers of one task. All tasks together get half of the budget's limit; the
  /// other half is for the outputs.
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

/// The bytes that one owner has taken from a budget. The destructor returns them. Without a budget a Reservation only
/// counts. One thread at a time may use it; it may block where it grows (MemoryBudget::relieve).
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
