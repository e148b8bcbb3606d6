#pragma once
// What a worker, or a server's Lua, asks the shards for: get, set and keys. A passive state machine of one
// thread: a call begins a request and adds its frames to `out`, answers are handed in, the result is taken when it is
// finished. (param_node.hpp waits.)
//
// Values that come out are the caller's own memory; values that go in are sent by reference and must not be written to
// before the request is finished.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host/engine/param/assembler.hpp"
#include "host/engine/param/param_messages.hpp"

namespace actorhost {

class ParamClient {
 public:
  using Request = uint32_t;

  explicit ParamClient(uint32_t shards) : shards_(shards) {}

  /// Reads ask a key's owner first: for runs whose pull is in Lua, where pushes go whole to the owners.
  void set_whole(bool whole) { whole_ = whole; }
  /// Requests are answered even while a shard is in a Lua pull: for calls from inside one.
  void set_now(bool now) { now_ = now; }

  /// `filtered`: values may come through the run's filter.
  Request get(std::vector<ParamKey> keys, std::vector<Frame>& out, bool filtered = false);
  /// What filtered requests have brought since the last call.
  FilterBytes take_pulled() { return std::exchange(pulled_, {}); }
  /// `step` is what later readers are told.
  Request set(std::span<const ParamEntry> entries, uint64_t step, std::vector<Frame>& out);
  Request keys(std::vector<Frame>& out);
  /// A request to shards without content: when it is finished they have dealt with all that was sent to them before.
  Request fence(const std::vector<uint32_t>& shards, std::vector<Frame>& out);

  /// values, key_list, done, failed. Frames that belong to no request of ours are ignored.
  void handle(Frame&& frame, std::vector<Frame>& out);
  static bool wants(const Frame& frame) noexcept {
    return frame.kind == param_kind::values || frame.kind == param_kind::key_list || frame.kind == param_kind::done ||
           frame.kind == param_kind::failed;
  }

  /// Every shard has answered: nothing that was sent is in use any more.
  bool finished(Request request) const;
  /// Which shards have not answered: for messages.
  std::vector<uint32_t> missing(Request request) const;
  /// Gives up: later answers are ignored.
  void forget(Request request) { requests_.erase(request); }
  // The results of finished requests; taking one ends it.
  /// In the order of the keys, nil where there is nothing.
  Result<std::vector<ParamEntry>> take_values(Request request);
  Result<std::vector<ParamKey>> take_keys(Request request);
  Status take_done(Request request);

 private:
  struct Pending {
    std::vector<uint32_t> waiting;  // shards that have not answered in full
    std::optional<Error> error;
    std::vector<ParamKey> keys;  // asked for, or listed
    std::vector<ParamAssembler::Partial> values;
    std::unordered_map<ParamKey, std::vector<uint32_t>> places;  // of a key in values
    std::vector<uint8_t> asked_all;                              // beyond the owner
    int rounds = 0;
    bool filtered = false;
  };

  uint8_t flags() const noexcept { return now_ ? param::kNow : uint8_t{0}; }
  Pending& begin(Request& number);
  void ask(Request number, Pending& pending, const std::vector<uint32_t>& places, bool owner, bool others,
           std::vector<Frame>& out);
  void on_values(Frame&& frame, Pending& pending);
  void after_round(Request number, Pending& pending, std::vector<Frame>& out);

  uint32_t shards_;
  bool whole_ = false;
  bool now_ = false;
  Request next_ = 1;
  std::map<Request, Pending> requests_;
  std::unordered_set<ParamKey> split_;  // keys that were split when last read: all shards are asked at once
  FilterBytes pulled_;
};

}  // namespace actorhost
