#pragma once
// Requests of a worker, or of a server's Lua script, to the shards: get, set and keys. Passive; not thread-safe. A call
// begins a request and adds its frames to `out`. The owner hands in replies and takes the result when the request is
// finished. (param_node.hpp does the waiting.)
//
// Returned values are the caller's own memory. Values to set are sent by reference: the caller must not write to them
// before the request is finished.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host/engine/param/param_messages.hpp"
#include "host/engine/values/assembler.hpp"

namespace actorhost {

class ParamClient {
 public:
  using Request = uint32_t;

  explicit ParamClient(uint32_t shards) : shards_(shards) {}

  /// Reads contact a key's owner first: for runs with a Lua pull, where pushes are sent whole to the owners.
  void set_whole(bool whole) { whole_ = whole; }
  /// Shards reply to these requests even during a Lua pull: for calls from inside a pull.
  void set_now(bool now) { now_ = now; }

  /// `filtered`: values may pass through the run's filter.
  Request get(std::vector<ParamKey> keys, std::vector<Frame>& out, bool filtered = false);
  /// Bytes that filtered requests have received since the last call.
  FilterBytes take_pulled() { return std::exchange(pulled_, {}); }
  /// `step` is reported to later readers.
  Request set(std::span<const ParamEntry> entries, uint64_t step, std::vector<Frame>& out);
  Request keys(std::vector<Frame>& out);
  /// A request without content. When it is finished, the shards have handled all earlier frames to them.
  Request fence(const std::vector<uint32_t>& shards, std::vector<Frame>& out);

  /// Handles values, key_list, done and failed. Ignores frames that match no request.
  void handle(Frame&& frame, std::vector<Frame>& out);
  static bool handles(const Frame& frame) noexcept {
    return frame.kind == param_kind::values || frame.kind == param_kind::key_list || frame.kind == param_kind::done ||
           frame.kind == param_kind::failed;
  }

  /// True when every shard has replied: the sent memory is no longer in use.
  bool finished(Request request) const;
  /// Shards without a complete reply; for messages.
  std::vector<uint32_t> missing(Request request) const;
  /// Abandons the request; later replies are ignored.
  void forget(Request request) { requests_.erase(request); }
  // Results of finished requests. Taking a result ends its request.
  /// In the order of the keys; nil for a missing key.
  Result<std::vector<ParamEntry>> take_values(Request request);
  Result<std::vector<ParamKey>> take_keys(Request request);
  Status take_done(Request request);

 private:
  struct Pending {
    std::vector<uint32_t> waiting;  // shards with an incomplete reply
    std::optional<Error> error;
    std::vector<ParamKey> keys;  // requested or listed keys
    std::vector<ParamAssembler::Partial> values;
    std::unordered_map<ParamKey, std::vector<uint32_t>> places;  // the indices of a key in `values`
    std::vector<uint8_t> requested_from_all;                     // whether it was requested from all shards
    int rounds = 0;
    bool filtered = false;
  };

  uint8_t flags() const noexcept { return now_ ? param::kNow : uint8_t{0}; }
  Pending& begin(Request& number);
  void send_gets(Request number, Pending& pending, const std::vector<uint32_t>& places, bool owner, bool others,
                 std::vector<Frame>& out);
  void on_values(Frame&& frame, Pending& pending);
  void after_round(Request number, Pending& pending, std::vector<Frame>& out);

  uint32_t shards_;
  bool whole_ = false;
  bool now_ = false;
  Request next_ = 1;
  std::map<Request, Pending> requests_;
  std::unordered_set<ParamKey> split_;  // keys found split at the last read: requested from all shards at once
  FilterBytes pulled_;
};

}  // namespace actorhost
