#pragma once
// What a node answers about the keys that it leads. Questions that cannot be answered yet wait: while the node is about
// to take over, while a write of the key is under way, while a Lua pull works, while its lease has to be renewed.
// Passive.

#include <functional>
#include <list>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "host/engine/peer/key_outcomes.hpp"

namespace actorhost {

class KeyHolder {
 public:
  /// Updates that a Lua pull is to merge; answered by answer_pull before there are others.
  using OnPull = std::function<void(std::vector<PullEntry>)>;

  KeyHolder(Overlay& overlay, PeerCalls& calls, KeyTable& table, KeyLog& log, KeySuccession& succession,
            KeyClient& client);

  /// From now on the node merges what Lua pulls have to merge (nullptr: no longer; such pushes wait).
  void on_pull(OnPull pull);
  /// New values of keys of the batch. Code::bad_argument for another key.
  Status answer_pull(std::vector<ParamEntry> values);
  /// All live nodes have completed the step: what is staged of it and earlier ones is merged.
  void pass(Mark mark);
  /// The same again, for keys that the node has come to lead since.
  void pass_again() { pass(passed_); }

  /// The key's value, if the node leads it and can answer by itself at that time; parts of a value are not put
  /// together.
  std::optional<ParamEntry> read(const ParamKey& key, Mark mark, double now) const;
  void on_ask(Frame&& frame, const Ask& ask, Unpacker& in);
  void on_poke(const Frame& frame, const Envelope& poke);
  /// Answers what can be answered by now.
  void look();
  double tick();

 private:
  struct Asked {
    Peer from;
    uint32_t tag = 0;
    friend bool operator<(const Asked& a, const Asked& b) {
      return std::pair(a.from.node, a.tag) < std::pair(b.from.node, b.tag);
    }
  };
  struct Question {
    Asked asked;
    Ask ask;
    std::vector<ParamKey> keys;
    std::vector<ParamEntry> entries;
    double came = 0;
  };
  struct Batch {
    std::vector<PullEntry> entries;
    std::unordered_set<ParamKey> keys;
    std::vector<TakenUpdate> covered;
    std::vector<Asked> askers;
    uint64_t step = 0;
    bool staged = false;
  };

  bool try_answer(Question& question);
  bool get(Question& question);
  bool write(Question& question);
  std::optional<KeyOperation> operation_of(Question& question);
  bool count(Question& question);
  bool outcome(Question& question);
  bool all_have(const Question& question) const;
  std::optional<Error> too_late(const Question& question) const;
  void tell(const Asked& asked, Told::How how, Status status = {});
  void acknowledge(const Asked& asked);
  void commit(const Arc& arc, Mark below);
  void commit_passed();
  void to_pull(std::vector<PullEntry> entries, std::vector<TakenUpdate> covered, std::vector<Asked> askers,
               bool staged);
  bool in_pull(const ParamKey& key) const;
  void next_pull();

  Overlay& overlay_;
  PeerCalls& calls_;
  KeyTable& table_;
  KeyLog& log_;
  KeySuccession& succession_;
  KeyOutcomes outcomes_;
  std::map<Asked, std::vector<ParamEntry>> collecting_;  // entries of messages that have not come whole
  std::list<Question> waiting_;
  std::set<Asked> working_;            // questions that have come and are not answered
  std::vector<Asked> unacknowledged_;  // writes that are made, while the run's lease is missing
  bool looking_ = false;
  bool look_again_ = false;
  Mark passed_ = 0;
  OnPull pull_;
  std::list<Batch> batches_;  // the first is being pulled
  bool pulling_ = false;
};

}  // namespace actorhost
