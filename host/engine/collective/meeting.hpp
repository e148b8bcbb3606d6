#pragma once
// Collectives of ranks that live in one process, in shared memory: each rank shows its input, and when all have, each
// takes what it needs straight out of the others' buffers.
//
//   allreduce       each rank combines one block of all inputs and writes it into every rank's result: for each rank,
//                   every byte is read and written once, nothing is copied twice. Up to 4 KiB each rank combines
//                   everything itself, from copies, which saves the second meeting
//   reduce_scatter, reduce, broadcast, exchange   each byte that a rank gets is read once and written once; in a large
//                   broadcast each rank copies pieces for ranks that still lack some, so the root does not stand by
//
// Ranks are combined in rank order, so the bits are those of a loop over the ranks.
//
// A round that not all ranks have entered can be called off (a timeout, a stop), for all of them at once. A round that
// all have entered is carried to its end, which takes no longer than its copying. So no buffer is read after its rank
// has left. Each rank's own thread calls `run`; the meeting outlives all of them.

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/engine/collective/brief_wait.hpp"
#include "host/engine/collective/call.hpp"

namespace actorhost {

class Meeting {
 public:
  explicit Meeting(uint32_t ranks);

  struct Waiting {
    const std::vector<uint32_t>& ranks;                                    // of the members, for messages
    CallClock& clock;                                                      // by that of the node
    std::function<Status(const std::vector<uint32_t>& missing)> patience;  // when the clock looks; an error ends it
    Port::Match stray;  // a frame of this call (a rank makes it with frames, so all have to), or of an earlier one
    std::vector<Frame>& strays;  // those that have come
  };

  /// The `number`-th call, counted from 1, of place `me`. Blocks until all have made it or the clock is out of time;
  /// serves control frames meanwhile. Code::unsupported: one of them has called it off to make it with frames.
  Result<CallResult> run(Node& node, uint32_t me, uint32_t number, uint32_t actions, const CallSpec& spec,
                         const Waiting& waiting);
  /// Place `me` makes that call with frames, so all ranks have to, and learn by frames what does not fit. To be called
  /// before the first of its frames.
  void call_off_for_frames(uint32_t me, uint32_t number);

 private:
  static constexpr size_t kRounds = 4;  // that may be in use at a time
  static constexpr size_t kSmallBytes = 4096;

  /// What a rank shows the others. It writes this before it arrives; the others read it between the last arrival and
  /// its leaving.
  struct alignas(128) Place {
    const CallSpec* spec = nullptr;
    uint64_t fits = 0;  // hash of what has to be the same on all ranks
    uint32_t actions = 0;
    std::byte* result = nullptr;
    std::array<std::byte, kSmallBytes> small;
    // For a broadcast, which the root and ranks that are done help to copy: the round for which `result` may be
    // written, and how many of its bytes are done or being copied by some rank.
    std::atomic<uint32_t> to_fill{0};
    std::atomic<size_t> taken{0};
  };
  struct Round {
    alignas(128) std::atomic<uint64_t> state{0};     // number << 32 | called off << 31 | arrivals
    alignas(128) std::atomic<uint64_t> finished{0};  // number << 32 | ranks that have done their part
    std::atomic<uint64_t> failed{0};                 // number << 32 | place of one that had no memory for its part
    std::unique_ptr<Place[]> places;
  };
  struct alignas(128) Rank {
    std::atomic<bool> asleep{false};
    std::atomic<uint32_t> entered{0};  // its newest round
    std::atomic<uint32_t> left{0};
    BriefWait brief;   // its own thread's
    std::mutex mutex;  // guards what follows
    std::function<void()> wake;
    std::string line;  // of its newest call in the script, for messages
  };

  Round& round_of(uint32_t number) { return rounds_[number % kRounds]; }
  bool arrive(Round& round, uint32_t number);
  bool call_off(Round& round, uint32_t number, const Error& error);
  void remember(uint32_t number, const Error& error);
  /// 0: not yet, 1: all are here, -1: called off.
  int look(const Round& round, uint32_t number) const;
  Status wait_for_all(Node& node, Round& round, uint32_t number, const CallSpec& spec, uint32_t me,
                      const Waiting& waiting);
  Status sleep_until_all_here(Node& node, Round& round, uint32_t number, const CallSpec& spec, const Waiting& waiting);
  Error timed_out(uint32_t number, const CallSpec& spec, const Waiting& waiting);
  void wake_others(uint32_t me);
  void wait_until_left(uint32_t number);
  std::vector<uint32_t> missing(uint32_t number) const;
  Error why(uint32_t number, const CallSpec& spec) const;
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
  std::atomic<bool> ever_called_off_{false};
  mutable std::mutex mutex_;  // guards called_off_
  std::map<uint32_t, Error> called_off_;
};

/// The meetings of a process, by group. Any thread.
class Meetings {
 public:
  /// The meeting of the group with these members; the first rank that asks makes it.
  std::shared_ptr<Meeting> find(uint32_t group, uint64_t world, uint32_t ranks);

 private:
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint64_t>, std::shared_ptr<Meeting>> all_;  // shared with the ranks
};

}  // namespace actorhost
