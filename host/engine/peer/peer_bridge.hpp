#pragma once
// The calls of a node's thread to its peer, which runs on the courier thread. Used by the node's thread; blocks.

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "host/cluster/node.hpp"
#include "host/engine/peer/peer_service.hpp"

namespace actorhost {

/// A result from the courier thread for the node's thread.
template <typename T>
struct PeerResult {
  std::atomic<bool> ready{false};
  bool entered = false;
  bool joined = false;
  std::optional<T> value;
};

/// A request to the peer. It runs on the courier thread and calls `reply` with the result, at once or later.
template <typename T>
using PeerRequest = std::function<void(PeerService::PeerNode&, double now, std::function<void(T)> reply)>;

class PeerBridge {
 public:
  /// `seed` and `replicas` are the run's. All references must outlive this object.
  PeerBridge(Node& node, PeerService& service, uint64_t seed, uint32_t replicas)
      : node_(node), service_(service), seed_(seed), replicas_(replicas) {}

  Node& node() noexcept { return node_; }

  /// Runs `request` once this node has joined the overlay, and waits for its result. Enters the overlay if necessary;
  /// after peer.leave it first waits until other workers have taken over its keys. Code::timeout: in the 20 s after it
  /// has entered no other worker has replied. With `meanwhile` there is no such limit: it is called repeatedly until
  /// the node has joined, and its error ends the wait. Code::bad_argument: a console calls this before the job has
  /// entered the overlay.
  template <typename T>
  Result<T> call(const char* operation, const PeerRequest<T>& request, const std::function<Status()>& meanwhile = {}) {
    static constexpr EngineCall kCall{Cause::peer, "peer"};
    const Activity activity(node_.stats(), kCall);
    const double since = node_.clock().now();
    double limit = since + kJoinSeconds;
    for (bool logged = false;;) {
      if (!node_.in_chunk()) service_.enter(node_.index(), seed_, replicas_, node_.shared_stats());
      const auto result = std::make_shared<PeerResult<T>>();
      service_.with(node_.index(),
                    [result, request, wake = node_.port().waker()](PeerService::PeerNode* peer, double now) {
                      const auto reply = [result, wake](T value) {
                        result->value = std::move(value);
                        result->ready = true;
                        wake();
                      };
                      result->entered = peer != nullptr;
                      if (peer != nullptr && peer->overlay.joined()) {
                        result->joined = true;
                        return request(*peer, now, reply);
                      }
                      result->ready = true;
                      wake();
                    });
      AH_TRY(node_.wait_until([&] { return result->ready.load(); }, {}, operation, kForever,
                              [this] { return describe(pending()); }));
      if (result->joined) return std::move(*result->value);
      if (node_.in_chunk() && !result->entered) {
        return Error{Code::bad_argument, std::string(operation) + ": this worker's script has not used actor.peer"};
      }
      const double now = node_.clock().now();
      if (!result->entered) limit = now + kJoinSeconds;
      if (!logged && now >= since + Node::kLongWait) {
        logged = true;
        node_.log_long_wait(operation, result->entered
                                           ? "a reply of " + describe_others()
                                           : describe_others() + ", to take over the keys that this worker left");
      }
      if (!meanwhile && now > limit) {
        return Error{Code::timeout, std::string(operation) +
                                        ": no other worker has replied within 20 s; each must use "
                                        "actor.peer as well"};
      }
      if (meanwhile) AH_TRY(meanwhile());
      AH_TRY(pause(operation));
    }
  }

  /// During a partition only the side with a majority continues (host/cluster/coordinator_lease.hpp).
  bool leased() const { return node_.clock().now() < node_.cluster().leased_until(); }

  /// This node's requests for keys without a reply. Blocks shortly for the courier.
  std::vector<KeyClient::Pending> pending() {
    const auto result = std::make_shared<PeerResult<std::vector<KeyClient::Pending>>>();
    service_.with(node_.index(), [result, wake = node_.port().waker()](PeerService::PeerNode* peer, double) {
      result->value = peer != nullptr ? peer->keys.pending() : std::vector<KeyClient::Pending>();
      result->ready = true;
      wake();
    });
    const Status there = node_.wait_until([&] { return result->ready.load(); }, {}, "peer");
    return there.ok() ? *std::move(result->value) : std::vector<KeyClient::Pending>();
  }
  /// "rank 1 (worker 1 on alpha:4711) for key w, an unknown owner for key b": for messages.
  std::string describe(const std::vector<KeyClient::Pending>& requests) {
    std::string out;
    for (const KeyClient::Pending& request : requests) {
      out += out.empty() ? "" : "; ";
      out += request.owner ? describe(*request.owner) : "an unknown owner";
      out += " for key " + request.key.print();
      for (const NodeId node : request.awaited) {
        out += (node == request.awaited.front() ? ", which waits for " : ", ") + describe(node);
      }
    }
    return out;
  }
  /// Some of the other workers that count.
  std::string describe_others() {
    constexpr size_t kMostNamed = 4;
    size_t others = 0;
    std::string out;
    for (const Member& member : node_.newest_membership()->workers()) {
      if (!member.votes || member.id == node_.index() || ++others > kMostNamed) continue;
      out += (out.empty() ? "" : ", ") + describe(member.id);
    }
    if (others > kMostNamed) out += " and " + std::to_string(others - kMostNamed) + " other workers";
    return out;
  }
  std::string describe(NodeId node) { return node_.newest_membership()->describe(worker_address(node)); }

  /// Values of keys that this node leads, without waiting; nullopt if it must send a request.
  std::optional<LedValues> read(std::span<const ParamKey> keys, Mark mark) {
    return service_.read(node_.index(), keys, mark, node_.clock().now());
  }

  /// Posts `call` to the courier thread, at once or with the next such call; dropped if the node has left.
  void post(std::function<void(PeerService::PeerNode&, double now)> call, bool soon = true) {
    const auto there = [call = std::move(call)](PeerService::PeerNode* peer, double now) {
      if (peer != nullptr) call(*peer, now);
    };
    service_.with(node_.index(), there, soon);
  }
  void flush() { service_.flush(); }

  /// Waits for kPollInterval seconds.
  Status pause(const char* operation) {
    const Status waited = node_.wait_until([] { return false; }, {}, operation, node_.clock().now() + kPollInterval);
    return !waited.ok() && waited.error().code != Code::timeout ? waited : Status();
  }

 private:
  // Seconds to find the overlay, and between checks whether it has been found.
  static constexpr double kJoinSeconds = 20;
  static constexpr double kPollInterval = 0.01;

  Node& node_;
  PeerService& service_;
  uint64_t seed_;
  uint32_t replicas_;
};

}  // namespace actorhost
