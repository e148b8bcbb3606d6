#pragma once
// How a node's thread asks its peer, which lives on the courier's thread. Used by the node's thread.

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "host/cluster/node.hpp"
#include "host/engine/peer/peer_service.hpp"

namespace actorhost {

/// What the courier's thread leaves for the node's.
template <typename T>
struct PeerAnswer {
  std::atomic<bool> there{false};
  bool entered = false;
  bool joined = false;
  std::optional<T> value;
};

/// What a call asks of the peer: gives its answer, at once or later, on the courier's thread.
template <typename T>
using PeerAsk = std::function<void(PeerService::PeerNode&, double now, std::function<void(T)> give)>;

class PeerBridge {
 public:
  /// `seed` and `replicas` are the run's. All must outlive it.
  PeerBridge(Node& node, PeerService& service, uint64_t seed, uint32_t replicas)
      : node_(node), service_(service), seed_(seed), replicas_(replicas) {}

  Node& node() noexcept { return node_; }

  /// Has `ask` called once this node has joined the overlay, which it enters if it has not, and waits for what it
  /// gives. Code::timeout when for 20 s no other worker has answered, unless there is `meanwhile`, which is called now
  /// and then as long as none has, and whose error ends the wait; Code::bad_argument when a console asks and the job
  /// has not entered.
  template <typename T>
  Result<T> ask(const char* what, const PeerAsk<T>& ask, const std::function<Status()>& meanwhile = {}) {
    static constexpr EngineCall kCall{Cause::peer, "peer"};
    const Activity activity(node_.stats(), kCall);
    const double limit = node_.clock().now() + kJoinSeconds;
    for (;;) {
      if (!node_.answering()) service_.enter(node_.index(), seed_, replicas_, node_.shared_stats());
      const auto answer = std::make_shared<PeerAnswer<T>>();
      service_.with(node_.index(), [answer, ask, wake = node_.port().waker()](PeerService::PeerNode* peer, double now) {
        const auto give = [answer, wake](T value) {
          answer->value = std::move(value);
          answer->there = true;
          wake();
        };
        answer->entered = peer != nullptr;
        answer->joined = peer != nullptr && peer->overlay.joined();
        if (answer->joined) {
          return ask(*peer, now, give);
        }
        answer->there = true;
        wake();
      });
      AH_TRY(node_.wait_until([&] { return answer->there.load(); }, {}, what, kForever,
                              [this] { return describe(open()); }));
      if (answer->joined) return std::move(*answer->value);
      if (node_.answering() && !answer->entered) {
        return Error{Code::bad_argument, std::string(what) + ": this worker's script uses no actor.peer so far"};
      }
      if (!meanwhile && node_.clock().now() > limit) {
        return Error{Code::timeout, std::string(what) +
                                        ": no other worker has answered within 20 s; each has to use "
                                        "actor.peer, too"};
      }
      if (meanwhile) AH_TRY(meanwhile());
      AH_TRY(pause(what));
    }
  }

  /// The questions about keys to which this node has no answer so far. It waits a moment for the courier.
  std::vector<KeyClient::Open> open();
  /// "rank 1 (worker 1 on alpha:4711) for key w, a peer that answers for key b": for messages.
  std::string describe(const std::vector<KeyClient::Open>& questions);
  std::string describe(NodeId node) { return node_.newest_membership()->describe(worker_address(node)); }

  /// Values of keys that this node leads, at once; nothing where it has to ask.
  std::optional<LedValues> read(std::span<const ParamKey> keys, Mark mark) {
    return service_.read(node_.index(), keys, mark, node_.clock().now());
  }

  /// Has `call` called on the courier's thread, soon or with the next such call; never if the node has left.
  void post(std::function<void(PeerService::PeerNode&, double now)> call, bool soon = true) {
    const auto there = [call = std::move(call)](PeerService::PeerNode* peer, double now) {
      if (peer != nullptr) call(*peer, now);
    };
    service_.with(node_.index(), there, soon);
  }
  void look() { service_.look(); }

  /// Waits for a moment.
  Status pause(const char* what) {
    const Status waited = node_.wait_until([] { return false; }, {}, what, node_.clock().now() + kLook);
    return !waited.ok() && waited.error().code != Code::timeout ? waited : Status();
  }

 private:
  // How long a node looks for the overlay, and how often it asks whether it has found it.
  static constexpr double kJoinSeconds = 20;
  static constexpr double kLook = 0.01;

  Node& node_;
  PeerService& service_;
  uint64_t seed_;
  uint32_t replicas_;
};

}  // namespace actorhost
