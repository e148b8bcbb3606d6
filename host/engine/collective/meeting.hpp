#pragma once
// Collectives of ranks in one process, in shared memory: each rank publishes its input, and once all ranks have
// arrived, each rank reads the others' buffers directly.
//
//   allreduce       each rank combines one block of all inputs and writes it into every rank's result. For each rank,
//                   every byte is read and written once. Up to 4 KiB each rank combines all blocks itself, from copies
//                   of the inputs, which saves the second synchronisation
//   reduce_scatter, reduce, broadcast, exchange   every byte of a rank's result is read once and written once. In a
//                   large broadcast all ranks copy pieces for ranks with incomplete results, so the root is not idle
//
// Inputs are combined in rank order, so the result has the bits of a loop over the ranks.
//
// Until all ranks have entered a round, any rank can cancel the round for all of them (on a timeout or a stop). Once
// all ranks have entered, the round always completes, in the time that its copying takes. So no rank reads a buffer
// whose owner has left. Each rank calls `run` on its own thread; the meeting outlives all ranks.

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "host/base/spin_wait.hpp"
#include "host/cluster/node.hpp"
#include "host/engine/collective/call_clock.hpp"
#include "host/engine/collective/call_spec.hpp"

namespace actorhost {

class Meeting {
 public:
  explicit Meeting(uint32_t ranks);

  struct Waiting {
    const std::vector<uint32_t>& ranks;  // ranks of the members, for messages
    CallClock& clock;                    // follows the node's clock
    /// Called when a check is due; an error ends the wait.
    std::function<Status(const std::vector<uint32_t>& missing)> on_check;
    /// Matches frames of this call (some rank makes it over frames, so all must) and of earlier calls.
    Port::Match stray;
    std::vector<Frame>& strays;  // the received frames that match
  };

  /// Makes call `number` (counted from 1) for place `me`. Blocks until all ranks have made the call or the clock is out
  /// of time; serves control frames meanwhile. Code::unsupported: a rank has cancelled the round to make the call over
  /// frames.
  Result<CallResult> run(Node& node, uint32_t me, uint32_t number, uint32_t actions, const CallSpec& spec,
                         const Waiting& waiting);
  /// Place `me` makes call `number` over frames: cancels the round, so all ranks use frames and the leader compares
  /// their arguments. To be called before the first frame of the call.
  void cancel_for_frames(uint32_t me, uint32_t number);

 private:
  static constexpr size_t kRounds = 4;  // rounds in use at the same time
  static constexpr size_t kSmallBytes = 4096;

  /// The data that a rank publishes. The rank writes the data before it arrives; the others read it after the last
  /// arrival and before they leave.
  struct alignas(128) Place {
    const CallSpec* spec = nullptr;
    uint64_t arguments_hash = 0;  // hash of the arguments that all ranks must share
    uint32_t actions = 0;
    std::byte* result = nullptr;
    std::array<std::byte, kSmallBytes> small;
    // For a broadcast, which the root and finished ranks help to copy: the round that may write `result`, and the
    // number of its bytes that some rank has copied or is copying.
    std::atomic<uint32_t> to_fill{0};
    std::atomic<size_t> taken{0};
  };
  struct Round {
    alignas(128) std::atomic<uint64_t> state{0};     // number << 32 | cancelled << 31 | arrivals
    alignas(128) std::atomic<uint64_t> finished{0};  // number << 32 | ranks with a finished part
    std::atomic<uint64_t> failed{0};                 // number << 32 | place of a rank that ran out of memory
    std::unique_ptr<Place[]> places;
  };
  struct alignas(128) Rank {
    std::atomic<bool> asleep{false};
    std::atomic<uint32_t> entered{0};  // newest round of the rank
    std::atomic<uint32_t> left{0};
    SpinWait spin;     // used by the rank's own thread only
    std::mutex mutex;  // guards the members below
    std::function<void()> wake;
    std::string line;  // of the rank's newest call in the script, for messages
  };

  Round& round_of(uint32_t number) { return rounds_[number % kRounds]; }
  bool arrive(Round& round, uint32_t number);
  bool cancel(Round& round, uint32_t number, const Error& error);
  void store_error(uint32_t number, const Error& error);
  /// 0: ranks are missing, 1: all ranks have arrived, -1: the round is cancelled.
  int poll(const Round& round, uint32_t number) const;
  Status wait_for_all(Node& node, Round& round, uint32_t number, const CallSpec& spec, uint32_t me,
                      const Waiting& waiting);
  Status sleep_until_all_here(Node& node, Round& round, uint32_t number, const CallSpec& spec, const Waiting& waiting);
  Error timed_out(uint32_t number, const CallSpec& spec, const Waiting& waiting);
  void wake_others(uint32_t me);
  void wait_until_left(uint32_t number);
  std::vector<uint32_t> missing(uint32_t number) const;
  Error cancel_reason(uint32_t number, const CallSpec& spec) const;
  Status check(const Round& round, const CallSpec& spec, const Waiting& waiting) const;
  static Status all_had_memory(const Round& round, uint32_t number, const CallSpec& spec, const Waiting& waiting);
  void take_part(Round& round, uint32_t number, uint32_t me, const CallSpec& spec, CallResult& result);
  void broadcast(Round& round, uint32_t number, uint32_t me, const CallSpec& spec, CallResult& result);
  bool help_to_fill(Place& place, uint32_t number, const Blob& given) const;
  void exchange(const Round& round, uint32_t me, bool joined, CallResult& result) const;
  void combine_span(const Round& round, const CallSpec& spec, Span span, std::byte* out) const;
  void finish_together(Round& round, uint32_t number, uint32_t me);

  const uint32_t ranks_;
  std::array<Round, kRounds> rounds_;
  std::unique_ptr<Rank[]> members_;
  std::atomic<bool> ever_cancelled_{false};
  mutable std::mutex mutex_;  // guards cancelled_
  std::map<uint32_t, Error> cancelled_;
};

/// The meetings of a process, by group. Thread-safe.
class Meetings {
 public:
  /// The meeting of the group with these members; the first caller creates it.
  std::shared_ptr<Meeting> find(uint32_t group, uint64_t world, uint32_t ranks);

 private:
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint64_t>, std::shared_ptr<Meeting>> all_;  // shared by the ranks
};

}  // namespace actorhost
