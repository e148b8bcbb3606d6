#pragma once
// Gets, sets and pushes of split tensors: splits large tensors into parts and assembles them, so that no single node
// has to hold a large tensor (split_tensor.hpp). All other values pass through to KeyClient. Sets and replacements of
// values are split. A native update is prepared at all parts, counts once the owner of the description has accepted it,
// and is then merged at the parts (NOTES.md). A Lua pull receives whole updates, and its results are stored whole at
// the key's owner. Passive; PeerKeys owns it.

#include <map>
#include <memory>

#include "host/engine/peer/key_client.hpp"
#include "host/engine/values/split_tensor.hpp"

namespace actorhost {

class SplitClient {
 public:
  using OnValues = KeyClient::OnValues;
  using OnDone = KeyClient::OnDone;

  /// Splits tensors of more than `part_bytes` into parts of this size.
  SplitClient(Overlay& overlay, KeyClient& client, size_t part_bytes)
      : overlay_(overlay), client_(client), part_bytes_(part_bytes) {}

  /// As KeyClient's. Code::timeout: for a minute no peer has replied for some key, or another node was setting the key
  /// at each attempt.
  void get(std::vector<ParamKey> keys, Mark mark, double now, OnValues done);
  void set(std::vector<ParamEntry> entries, Mark mark, double now, OnDone done);
  void push(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now, OnDone done);
  /// Removes the parts of a replaced value.
  void remove(const ParamKey& key, const SplitTensor& split, double now);
  /// Call regularly with the parts that this node leads: removes parts that have long had no value.
  void remove_strays(const std::vector<ParamKey>& parts, double now);

 private:
  struct Get {
    std::vector<ParamKey> keys;
    Mark mark;
    int attempts;  // remaining
    OnValues done;
    std::map<ParamKey, SplitTensor> torn = {};  // values with a missing part at the last attempt
  };
  /// A native update of one large tensor.
  struct Push {
    ParamEntry entry;
    Mark mark;
    PushRule rule;
    int attempts;  // remaining
    OnDone done;
    uint64_t number = 0;  // of the attempt
    std::optional<SplitTensor> split = {};
  };
  using PushPtr = std::shared_ptr<Push>;  // shared by its requests in flight

  bool is_large(const ParamValue& value) const;
  uint64_t next_number(double now);
  void get_all(const std::shared_ptr<Get>& job, double now);
  void get_parts(const std::shared_ptr<Get>& job, std::vector<ParamEntry> values, double now);
  std::vector<ParamEntry> split(std::vector<ParamEntry>& entries, double now);
  void set_parts(std::vector<ParamEntry> parts, double now, OnDone done);
  void push_native(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now, OnDone done);
  void prepare(const PushPtr& job, double now);
  void push_description(const PushPtr& job, double now);
  void count(const PushPtr& job, double now);
  bool ended(const PushPtr& job, const Status& pushed);
  void restart(const PushPtr& job, double now);
  void note(const ParamKey& key, const ParamValue& value);

  Overlay& overlay_;
  KeyClient& client_;
  size_t part_bytes_;
  uint64_t number_ = 0;
  std::unordered_map<ParamKey, SplitTensor> known_;  // as last seen
  std::map<ParamKey, double> strays_;                // since when
};

}  // namespace actorhost
