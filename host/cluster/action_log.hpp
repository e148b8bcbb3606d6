#pragma once
// The numbered actions of a run and the values that they returned, kept by the rendezvous host. It answers a node that
// enters an action: take part in it; or take its recorded value (a node that started late); or an error, since the node
// is at another action than the others. Pure state, one thread.

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
  /// Actions and their values are kept up to this many bytes in all; see `trim`.
  explicit ActionLog(size_t max_bytes = size_t{64} << 20) : max_bytes_(max_bytes) {}

  struct Entered {
    bool replayed = false;
    bool first = false;  // no worker had entered it before
    Blob value;          // when replayed
  };
  /// `who` speaks in messages ("rank 1"). Code::mismatch when this action is another one for `who` than for the first
  /// that entered it; Code::unsupported when it is no longer kept.
  Result<Entered> enter(uint32_t index, const ActionEnter& action, const std::string& who);
  /// Records the value; the first one counts.
  void finish(uint32_t index, std::string_view value);

  bool over_bound() const noexcept { return bytes_ > max_bytes_; }
  /// An earlier rendezvous host, which is lost, has let some worker enter this many. Who enters one of them gets its
  /// value if somebody has kept it, and told it to `finish`. Otherwise who enters the newest takes part in it, and
  /// who enters another one is too late.
  void resume(uint32_t entered);

  /// Drops the oldest actions until the rest is within the bound, but none from `needed` on, which some live worker has
  /// yet to enter. After the first drop no node can start late any more.
  void trim(uint32_t needed);

  uint32_t size() const noexcept { return dropped_ + static_cast<uint32_t>(actions_.size()); }
  bool finished(uint32_t index) const noexcept;
  /// The recorded value; nullptr when the action has not finished or is no longer kept.
  const std::string* value(uint32_t index) const noexcept;
  /// Nothing when the action has not begun or is no longer kept.
  const ActionEnter* at(uint32_t index) const noexcept;
  /// The node that entered it first; empty when `at` has nothing.
  std::string opened_by(uint32_t index) const;
  /// False once an action had to be dropped or its value is lost: a late start could not catch up.
  bool can_catch_up() const noexcept;

 private:
  /// A job takes many actions at few places, so each place is kept once.
  struct Place {
    ActionEnter action;
    std::string who;  // entered it first
    bool operator<(const Place& other) const {
      return std::tie(action.kind, action.where, who) < std::tie(other.action.kind, other.action.where, other.who);
    }
    size_t cost() const noexcept { return sizeof(Place) + action.kind.size() + action.where.size() + who.size(); }
  };
  using Places = std::map<Place, size_t>;  // how many actions are from there
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
  uint32_t dropped_ = 0;  // the number of the first action that is kept
  uint32_t resumed_ = 0;  // an earlier rendezvous host knew more of the actions below
  Places places_;
  std::deque<Action> actions_;
};

}  // namespace actorhost
