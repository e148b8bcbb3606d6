#pragma once
// The blocking parameter-server calls of a node: get, set and keys for all nodes, the worker's loop for workers, the
// server's loop for servers. It hands the passive machines the frames of a channel and sends their frames. While it
// waits for other shards it serves its own shard. Used by the node's thread.

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

  // For all nodes. Code::timeout at the deadline (a point on the channel's clock). Every error names the awaited reply.

  /// In the order of the keys; nil for a missing key.
  Result<std::vector<ParamEntry>> get(std::vector<ParamKey> keys, double deadline = kForever);
  /// Values are sent by reference. On return, also after a failure, the caller may write to them again.
  Status set(std::span<const ParamEntry> entries, uint64_t step = 0, double deadline = kForever);
  Result<std::vector<ParamKey>> keys(double deadline = kForever);

  // A worker's loop.

  /// Notifies server 0 that the worker has reached the run.
  Status begin(const ParamWorker::Config& config);
  /// Waits for a task, the run's end, or the reason why a push was not applied.
  Result<ParamWorker::Event> next_event(double deadline = kForever);
  /// Like get, through the run's filter: for the keys of a task that chooses its keys itself.
  Result<std::vector<ParamEntry>> fetch(std::vector<ParamKey> keys);
  /// The entries' memory must not change until next_event has returned. `seconds` is the working time, for a timed
  /// task.
  Status push(const std::vector<ParamEntry>& entries, double seconds = 0);

  // A server's loop.

  /// Passes frames to `server` from now on, earlier frames included. With nullptr frames are stored.
  void serve(ParamServer* server);
  /// Waits until the policy must make a decision. Returns nothing at the deadline, and when `enough` is true, which is
  /// checked after each arrival; without `enough`, when run_is_over(). Follows the membership.
  Result<std::optional<ServerRequest>> wait(double deadline = kForever, const std::function<bool()>& enough = {});
  /// True when workers are in a later run.
  bool run_is_over() const noexcept { return !early_.empty(); }

 private:
  Result<std::vector<ParamEntry>> read(std::vector<ParamKey> keys, bool filtered, double deadline);
  Status flush_out(double deadline);
  Status receive(double deadline);
  void dispatch(Frame&& frame);
  template <typename Done>
  Status wait_until(Done&& done, double deadline, const std::string& awaited);
  Error explain(Error error, const std::string& awaited) const;

  ParamChannel& channel_;
  const uint32_t shards_;
  ParamClient client_;
  std::unique_ptr<ParamWorker> worker_;
  ParamServer* server_ = nullptr;
  std::vector<Frame> out_;
  std::vector<Frame> in_;
  std::vector<Frame> early_;  // for the next server
};

}  // namespace actorhost
