#pragma once
// What a collective call is given: its arguments, its members and its connections. What it returns: the result. Plain
// values.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/log.hpp"
#include "host/engine/collective/call_ledger.hpp"
#include "host/engine/collective/collective_messages.hpp"
#include "host/engine/collective/reduction.hpp"
#include "host/engine/collective/schedule/choice.hpp"
#include "host/net/receive_buffers.hpp"

namespace actorhost {

struct CallSpec {
  CollectiveKind kind = CollectiveKind::barrier;
  std::string name;       // "allreduce"
  std::string signature;  // "allreduce sum float32[3,4]": identical on all ranks
  std::string where;      // the script's line
  CollectiveChoice choice;

  // Reductions: allreduce, reduce, reduce_scatter.
  CollectiveOp op = CollectiveOp::sum;
  Dtype dtype = Dtype::f32;
  size_t unit = 1;  // reduce_scatter: elements of a row
  Blob input;       // nothing writes it until the call is over
  /// Not empty: a loss that the script does not know of, "rank 2 lost", so the arguments may not suit the remaining
  /// members. The call fails on all ranks with that loss.
  std::string stale{};
  bool placed = false;  // the arguments suit the members LossLedger::placed

  uint32_t root = 0;                    // broadcast, reduce: place of the root in the group
  std::optional<PackedValue> parcel{};  // broadcast: at the root

  // exchange: the parcels for each member, including this rank, and the members that send a parcel to this rank
  std::vector<std::optional<PackedValue>> outgoing{};
  std::vector<bool> expected{};
  /// The caller will join the received parts in the order of the members. Where sizes are known in advance, the parts
  /// arrive in one block; elsewhere the rank's own part may be returned without a copy.
  bool joined = false;

  bool reduces() const noexcept {
    return kind == CollectiveKind::allreduce || kind == CollectiveKind::reduce ||
           kind == CollectiveKind::reduce_scatter;
  }
  size_t elements() const noexcept { return input.size() / dtype_size(dtype); }
  /// Of a reduction: the elements of the combined buffer that belong to a member's result.
  Span result_span(uint32_t member, uint32_t members) const noexcept {
    if (kind == CollectiveKind::reduce && member != root) return {};
    if (kind != CollectiveKind::reduce_scatter) return {0, elements()};
    return Place{member, members, elements(), unit}.block(member);
  }
};

struct CallResult {
  uint32_t place = 0;   // place of this rank in the group
  uint32_t places = 1;  // number of members
  Blob buffer;          // allreduce; reduce at the root; reduce_scatter: this rank's block
  PackedValue parcel;   // broadcast
  std::vector<std::optional<PackedValue>> received{};  // exchange
  uint64_t bytes_sent = 0;                             // payload that this rank sent in frames
};

/// "allreduce of 4000 bytes among 3 ranks: ring", for the log; of a successful call.
inline std::string choice_text(const CallSpec& spec, const CallResult& result, uint32_t ranks, const char* choice) {
  size_t bytes = spec.input.size() + result.parcel.body.size();
  for (const auto& parcel : spec.outgoing) bytes += parcel ? parcel->bytes() : 0;
  return spec.name + " of " + std::to_string(bytes) + " bytes among " + std::to_string(ranks) + " ranks: " + choice;
}

/// Logs each distinct choice once, not for each call. Used by one thread.
class ChoiceLog {
 public:
  void log(Log& log, const std::string& source, const std::string& choice) {
    if (logged_.size() < kMost && logged_.insert(choice).second) log.debug(source, choice);
  }

 private:
  static constexpr size_t kMost = 1000;
  std::set<std::string> logged_;
};

/// The members of a call, as its rank knows them.
struct CallGroup {
  uint32_t id = 0;
  uint32_t me = 0;  // place in the group; 0 is the leader
  uint32_t members = 1;
  std::vector<NodeId> ids{};    // of the members, increasing
  uint64_t world = 0;           // hash of the members' ids
  uint64_t epoch = 0;           // of the membership that `world` was computed from
  uint32_t actions = 0;         // number of actions that this rank has entered
  std::vector<uint32_t> ranks;  // of the members, for messages
  /// On the leader: the script line of each member's last collective, where known.
  std::vector<std::string> lines{};
  std::vector<uint32_t> homes{};  // process of each member; empty: one process for each member
  uint32_t processes = 0;         // number of distinct homes; 0 where `homes` is empty
  NodeId joined = 0;  // as far as this rank knows, all workers with lower ids take part in the calls of all workers

  uint32_t process_count() const noexcept { return homes.empty() ? members : processes; }
  Route route(uint32_t from, uint32_t to) const noexcept { return {id, ids[from], ids[to]}; }
  Route route_to(uint32_t to) const noexcept { return route(me, to); }
};

/// How a call reaches its process and the other ranks.
struct CallWiring {
  /// Sends a frame of this call to a member. A failed member is no error.
  std::function<Status(uint32_t to, Kind kind, std::string_view meta, Blob body)> send;
  /// Called when no frame refers to the call's buffers any more; on any thread, must not block.
  std::function<void()> returned;
  /// On the leader, when ranks disagree on the group's members: names the lost ranks, "rank 2 lost".
  std::function<std::string()> describe_loss;
  /// Returns the newest epoch that this rank knows.
  std::function<uint64_t()> epoch;
  /// The ledger and the call, rank and leader under which this rank decides.
  CallLedger* ledger = nullptr;
  CallKey key{};
  NodeId self = 0;
  NodeId leader = 0;
  /// The leader cannot end the call: requests an arbiter's verdict, with this error if no rank has decided.
  std::function<void(const Error&)> appeal;
  /// On the leader: requests the same if one of these ranks has decided.
  std::function<void(const Error&, std::vector<NodeId> ranks)> appeal_if_decided{};
  /// A member has sent a malformed frame. True: the link to the member is closed, so the membership will drop the
  /// member or this rank.
  std::function<bool(uint32_t from, Kind kind, const std::string& why)> distrust{};
  /// The receive buffers of the mailbox that receives this call's frames, and the frames' tag.
  ReceiveBuffers* receive_buffers = nullptr;
  uint32_t tag = 0;

  bool distrusts(uint32_t from, Kind kind, const Error& why) const {
    return distrust && distrust(from, kind, why.message);
  }
};

}  // namespace actorhost
