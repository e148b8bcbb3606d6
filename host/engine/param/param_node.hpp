#pragma once
// A VM's parameter-server calls, waiting included: get, set and keys for all nodes, the worker's loop for
// workers, the server's loop for servers. It hands the passive machines the frames of a channel, sends the frames that
// they return, and serves this VM's own shard while it waits for other shards. Used by the node's thread.

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

  // For all nodes. Code::timeout at the deadline (a point on the channel's clock); every error says what was waited
  // for.

  /// In the order of the keys; nil where there is nothing.
  Result<std::vector<ParamEntry>> get(std::vector<ParamKey> keys, double deadline = kForever);
  /// Values are sent by reference; they are free again on return, also after a failure.
  Status set(std::span<const ParamEntry> entries, uint64_t step = 0, double deadline = kForever);
  Result<std::vector<ParamKey>> keys(double deadline = kForever);

  // A worker's loop.

  /// Tells server 0 that the worker has come to the run.
  Status begin(const ParamWorker::Config& config);
  /// Waits for a task, the run's end, or the reason why a push was not applied.
  Result<ParamWorker::Event> next_event(double deadline = kForever);
  /// As get, for the keys of a task that chooses them itself: through the run's filter.
  Result<std::vector<ParamEntry>> fetch(std::vector<ParamKey> keys);
  /// The entries' memory must stay as it is until next_event has returned. `seconds` is how long the work took, for a
  /// timed task.
  Status push(const std::vector<ParamEntry>& entries, double seconds = 0);

  // A server's loop.

  /// From now on frames are for `server` (nullptr: for none yet); frames that came before go to it.
  void serve(ParamServer* server);
  /// Waits until there is something to decide. Nothing is returned at the deadline and when run_is_over(), or, where it
  /// is given, `enough` holds, which is asked whenever something has come. Follows the membership.
  Result<std::optional<ServerRequest>> wait(double deadline = kForever, const std::function<bool()>& enough = {});
  /// True when workers are in a later run.
  bool run_is_over() const noexcept { return !early_.empty(); }

 private:
  Result<std::vector<ParamEntry>> read(std::vector<ParamKey> keys, bool filtered, double deadline);
  Status flush_out(double deadline);
  Status receive(double deadline);
  void dispatch(Frame&& frame);
  template <typename Done>
  Status wait_until(Done&& done, double deadline, const std::string& what);
  Error explain(Error error, const std::string& what) const;

  ParamChannel& channel_;
  const uint32_t shards_;
  ParamClient client_;
  std::unique_ptr<ParamWorker> worker_;
  ParamServer* server_ = nullptr;
  std::vector<Frame> out_;
  std::vector<Frame> in_;
  std::vector<Frame> early_;  // for a server that is not there yet
};

}  // namespace actorhost
