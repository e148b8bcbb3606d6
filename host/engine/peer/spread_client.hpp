#pragma once
// Values of keys as a node asks for them: large tensors are taken apart and put together here, so that no node has to
// hold one alone (spread_value.hpp); everything else goes on to KeyClient. What is set is spread, and what replaces a
// value. A native update is first prepared at all parts, counts once the description's owner has taken it, and is then
// merged at the parts (README.md). A Lua pull gets its updates whole, and what it makes of them lies whole with the
// key's owner. Passive.

#include <map>
#include <memory>

#include "host/engine/peer/key_client.hpp"
#include "host/engine/peer/spread_value.hpp"

namespace actorhost {

class SpreadClient {
 public:
  using OnValues = KeyClient::OnValues;
  using OnDone = KeyClient::OnDone;

  /// Tensors of more bytes are spread, in parts of so many.
  SpreadClient(Overlay& overlay, KeyClient& client, size_t part_bytes)
      : overlay_(overlay), client_(client), part_bytes_(part_bytes) {}

  /// As KeyClient's. Code::timeout: for a minute nobody has answered for some key; or whenever this node has looked,
  /// another one was setting it.
  void get(std::vector<ParamKey> keys, Mark mark, double now, OnValues done);
  void set(std::vector<ParamEntry> entries, Mark mark, double now, OnDone done);
  void push(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now, OnDone done);
  /// The parts of a value that the key no longer has.
  void remove(const ParamKey& key, const SpreadValue& spread, double now);
  /// To be called now and then with the parts that this node leads: removes those that have long had no value.
  void look_for_strays(const std::vector<ParamKey>& parts, double now);

 private:
  struct Get {
    std::vector<ParamKey> keys;
    Mark mark;
    int looks;  // that are left
    OnValues done;
    std::map<ParamKey, SpreadValue> torn = {};  // values of which a part was missing at the last look
  };
  /// A native update of one large tensor.
  struct Push {
    ParamEntry entry;
    Mark mark;
    PushRule rule;
    int looks;  // that are left
    OnDone done;
    uint64_t number = 0;  // of the attempt
    std::optional<SpreadValue> spread = {};
  };
  using PushPtr = std::shared_ptr<Push>;  // shared by the questions under way

  bool is_large(const ParamValue& value) const;
  uint64_t next_number(double now);
  void get_all(const std::shared_ptr<Get>& job, double now);
  void get_parts(const std::shared_ptr<Get>& job, std::vector<ParamEntry> values, double now);
  std::vector<ParamEntry> spread(std::vector<ParamEntry>& entries, double now);
  void set_parts(std::vector<ParamEntry> parts, double now, OnDone done);
  void push_native(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now, OnDone done);
  void prepare(const PushPtr& job, double now);
  void push_description(const PushPtr& job, double now);
  void count(const PushPtr& job, double now);
  bool ended(const PushPtr& job, const Status& pushed);
  void look_again(const PushPtr& job, double now);
  void note(const ParamKey& key, const ParamValue& value);

  Overlay& overlay_;
  KeyClient& client_;
  size_t part_bytes_;
  uint64_t number_ = 0;
  std::unordered_map<ParamKey, SpreadValue> known_;  // as they were last seen
  std::map<ParamKey, double> strays_;                // since when
};

}  // namespace actorhost
