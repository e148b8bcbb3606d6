#pragma once
// The coordinator's record of the numbered actions of a run and of their values. When a node enters an action, the log
// decides whether the node takes part in it, receives its recorded value (a node that started late), or fails because
// the other nodes are at another action. Passive; not thread-safe.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "host/base/result.hpp"
#include "host/cluster/cluster_messages.hpp"

namespace actorhost {

class ActionLog {
 public:
  /// Retains actions and values of up to `max_bytes` in all; see `trim`.
  explicit ActionLog(size_t max_bytes = size_t{64} << 20) : max_bytes_(max_bytes) {}

  struct Entered {
    bool replayed = false;
    bool first = false;  // no worker had entered the action before
    Blob value;          // if replayed
  };
  /// `node` is the node's name in messages ("rank 1"). Code::mismatch if another node entered a different action under
  /// this number; Code::unsupported if the action was dropped or its value was lost.
  Result<Entered> enter(uint32_t index, const ActionEnter& action, const std::string& node);
  /// Records the value. Later values of the same action are ignored.
  void finish(uint32_t index, std::string_view value);

  bool over_bound() const noexcept { return bytes_ > max_bytes_; }
  /// Takes over after a failed coordinator that had let some worker enter `entered` actions. A node that enters one of
  /// them receives its value if `finish` has recorded the value. Without a recorded value the node takes part in the
  /// newest action, and the log refuses every older action.
  void resume(uint32_t entered);

  /// Drops the oldest actions until the rest is within the bound. Keeps every action from `needed` on, because some
  /// live worker has yet to enter it. After the first drop no node can start late.
  void trim(uint32_t needed);

  uint32_t size() const noexcept { return dropped_ + static_cast<uint32_t>(actions_.size()); }
  bool finished(uint32_t index) const noexcept;
  /// The recorded value; nullptr if the action has not finished or was dropped.
  const std::string* value(uint32_t index) const noexcept;
  /// nullptr if the action has not begun or was dropped.
  const ActionEnter* at(uint32_t index) const noexcept;
  /// The node that entered the action first; empty if `at` returns nullptr.
  std::string opened_by(uint32_t index) const;
  /// False once an action was dropped or a value was lost: a late joiner could not catch up.
  bool can_catch_up() const noexcept;

 private:
  /// A job takes many actions at few places, so the log stores each place once.
  struct Place {
    ActionEnter action;
    std::string node;  // the node that entered it first
    bool operator<(const Place& other) const {
      return std::tie(action.kind, action.where, node) < std::tie(other.action.kind, other.action.where, other.node);
    }
    size_t cost() const noexcept { return sizeof(Place) + action.kind.size() + action.where.size() + node.size(); }
  };
  using Places = std::map<Place, size_t>;  // number of actions at each place
  struct Action {
    Places::iterator place;
    bool finished = false;
    std::string value = {};
    size_t cost() const noexcept { return sizeof(Action) + value.capacity(); }
  };
  const Action* find(uint32_t index) const noexcept;
  void add(Place place);
  void drop_oldest();

  size_t max_bytes_;
  size_t bytes_ = 0;
  uint32_t dropped_ = 0;  // the number of the first retained action
  uint32_t resumed_ = 0;  // number of actions that workers entered under an earlier coordinator
  Places places_;
  std::deque<Action> actions_;
};

}  // namespace actorhost
