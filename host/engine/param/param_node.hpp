#pragma once
// The blocking parameter-server calls of a node: get, set and keys on all nodes, the worker's loop on workers, and the
// server's loop on servers. A ParamNode drives the passive state machines (ParamClient, ParamWorker, ParamServer): it
// receives their frames from a channel and sends the frames that they make. While a server waits for other shards, it
// serves its own shard. Used by the node's thread.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/engine/param/channel.hpp"
#include "host/engine/param/client.hpp"
#include "host/engine/param/server.hpp"
#include "host/engine/param/worker.hpp"

namespace actorhost {

class ParamNode {
 public:
  ParamNode(ParamChannel& channel, uint32_t shards);

  // All nodes. A deadline is a time of the channel's clock; the call then fails with Code::timeout. The messages of
  // Code::timeout and Code::peer_lost name the awaited reply.

  /// Returns the values in the order of the keys; the value of a missing key is nil.
  Result<std::vector<ParamEntry>> get(std::vector<ParamKey> keys, double deadline = kForever);
  /// Sends the values by reference; with a deadline, sends copies, because shards may read them after a timeout. After
  /// the call, even a failed call, the caller may write to the values again. `step` is the number of completed steps
  /// that readers get with the values.
  Status set(std::span<const ParamEntry> entries, uint64_t step = 0, double deadline = kForever);
  Result<std::vector<ParamKey>> keys(double deadline = kForever);

  // A worker's loop.

  /// Notifies server 0 that the worker has reached the run.
  Status begin(const ParamWorker::Config& config);
  /// Waits for the next task, the end of the run, or the rejection of a push.
  Result<ParamWorker::Event> next_event(double deadline = kForever);
  /// Like `get` without a deadline, but the servers filter the values as they filter the values of tasks. For workers
  /// that choose the keys of their tasks themselves.
  Result<std::vector<ParamEntry>> fetch(std::vector<ParamKey> keys);
  /// Pushes the results of the current task. The memory of the entries must not change until next_event has returned.
  /// `seconds` is the worker's working time, for a timed task.
  Status push(const std::vector<ParamEntry>& entries, double seconds = 0);

  // A server's loop.

  /// Gives `server` all frames from now on, and the frames stored so far. After serve(nullptr) frames are stored.
  void serve(ParamServer* server);
  /// Serves the shard until the policy must make a decision, and returns the request. Returns no value at the deadline,
  /// or as soon as `enough` returns true (by default: run_is_over()); the call checks `enough` after each arrival.
  /// Reports changes of the membership to the server.
  Result<std::optional<ServerRequest>> wait(double deadline = kForever, const std::function<bool()>& enough = {});
  /// True when a worker has sent a frame of a later run.
  bool run_is_over() const noexcept { return !early_.empty(); }

 private:
  Result<std::vector<ParamEntry>> read(std::vector<ParamKey> keys, bool filtered, double deadline, ParamPhase phase);
  Status flush_out(double deadline);
  Status receive(double deadline, ParamPhase phase = ParamPhase::request);
  void dispatch(Frame&& frame);
  /// `done` may change the phase, which observers see.
  template <typename Done>
  Status wait_until(Done&& done, double deadline, const std::string& awaited, const ParamPhase& phase = kRequestPhase);
  Error explain(Error error, const std::string& awaited) const;

  static constexpr ParamPhase kRequestPhase = ParamPhase::request;

  ParamChannel& channel_;
  const uint32_t shards_;
  ParamClient client_;
  std::unique_ptr<ParamWorker> worker_;
  ParamServer* server_ = nullptr;
  std::vector<Frame> out_;
  std::vector<Frame> in_;
  std::vector<Frame> early_;  // frames for the next server
};

}  // namespace actorhost
