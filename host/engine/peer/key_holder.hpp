#pragma once
// What a node answers about the keys that it owns. Passive.

#include <functional>
#include <map>
#include <vector>

#include "host/base/log.hpp"
#include "host/engine/peer/key_table.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

class KeyHolder {
 public:
  /// Updates that a Lua pull is to merge; answered by answer_pull before there are others.
  using OnPull = std::function<void(std::vector<PullEntry>)>;

  explicit KeyHolder(Overlay& overlay) : overlay_(overlay) {}

  const KeyTable& table() const noexcept { return table_; }

  /// From now on the node merges what Lua pulls have to merge (nullptr: no longer; such pushes wait).
  void on_pull(OnPull pull);
  /// New values of the keys of the batch. Code::bad_argument for another key.
  Status answer_pull(std::vector<ParamEntry> values);
  /// All live nodes have completed the step: what is staged of it and earlier ones is merged.
  void pass(Mark mark);

  void on_ask(Frame&& frame, Ask&& ask, Unpacker& in);
  void on_poke(const Frame& frame, const Envelope& poke);
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  struct Asked {
    Peer from;
    uint32_t tag = 0;
    friend bool operator<(const Asked& a, const Asked& b) {
      return std::pair(a.from.node, a.tag) < std::pair(b.from.node, b.tag);
    }
  };

  void get(const Asked& asked, const Ask& ask, const std::vector<ParamKey>& keys);
  void write(const Asked& asked, const Ask& ask, std::vector<ParamEntry> entries);
  void tell(const Asked& asked, Told::How how, Status status = {});
  void commit(Mark below);
  void to_pull(std::vector<PullEntry> batch, std::vector<Asked> askers);
  void next_pull();
  bool mine(const ParamKey& key) const { return overlay_.near().owns(place_of(key)); }

  Overlay& overlay_;
  KeyTable table_;
  std::map<Asked, std::vector<ParamEntry>> collecting_;  // entries of messages that have not come whole
  OnPull pull_;
  struct Batch {
    std::vector<PullEntry> entries;
    std::vector<ParamKey> keys;
    std::vector<Asked> askers;
  };
  std::vector<Batch> batches_;  // the first is being pulled
  bool pulling_ = false;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
