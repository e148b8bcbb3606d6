#pragma once
// The coordinator's side of the console. Numbers the observers' chunks of Lua, sends them to the processes of their
// nodes, and forwards their output and results. Chunks for all nodes run in order: the next begins after the previous
// has ended on every node. Also pauses the run, kills processes and swaps the barrier rule. Passive: the cluster's
// service thread hands in commands, frames and membership changes.

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/base/log.hpp"
#include "host/cluster/look/console_messages.hpp"
#include "host/cluster/membership.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

class ConsoleHub {
 public:
  /// Receives the reply to a command, or an event, as JSON.
  using Callback = std::function<void(const nlohmann::json&)>;

  struct Sources {
    std::function<MembershipPtr()> membership;
    std::function<void(ProcessId, Frame&&)> send;
    /// The number of entered actions. `settle`: marks all of them as finished on all workers.
    std::function<uint32_t(bool settle)> actions;
    /// Workers wait in a run of the parameter server.
    std::function<bool()> serving;
    /// Workers are in a run of the peer-to-peer engine.
    std::function<bool()> peering;
  };

  ConsoleHub(Sources sources, Log& log) : sources_(std::move(sources)), log_(log) {}

  /// Executes a command of an observer. `observer_name` is for the log. Calls `reply` at once or later, and `news` for
  /// each later event of the command.
  void command(uint64_t observer, const std::string& observer_name, const nlohmann::json& command, Callback reply,
               Callback news);
  /// An observer has left: ends its chunks.
  void leave(uint64_t observer);
  /// Handles a frame of a process.
  Status take(const Frame& frame);
  void membership_changed();
  /// A node has entered an action; it may wait for a server there.
  void action_entered();

  /// Numbers further chunks from `newest` + 1, so that they differ from those of an earlier coordinator.
  void number_from(ChunkId newest) noexcept { newest_ = newest; }

  bool paused() const noexcept { return paused_; }
  /// All workers wait for chunks or run one: the run belongs to a console.
  bool ready() const;

 private:
  struct Chunk {
    uint64_t observer = 0;        // the chunk ends if this observer leaves; 0: it continues
    uint64_t quota_observer = 0;  // it counts against this observer's quota
    bool together = false;
    ConsoleRequest request;
    std::string source;
    std::set<Address> missing;
    bool begun = false;
    bool failed = false;
    std::string server_error;  // a server has ended with this error
    // of the command that the chunk executes; else empty
    Callback reply;
    Callback news;
  };
  using Chunks = std::map<ChunkId, Chunk>;

  void on_chunk(uint64_t observer, const nlohmann::json& command, const Callback& reply, Callback news);
  nlohmann::json interrupt(const nlohmann::json& command);
  nlohmann::json kill(const std::string& observer_name, const nlohmann::json& command);
  nlohmann::json hold(const std::string& observer_name, bool paused);
  void swap_rule(uint64_t observer, const std::string& observer_name, const nlohmann::json& command, Callback reply);
  void run_on_nodes(uint64_t observer, std::set<Address> nodes, const char* source, std::vector<std::string> arguments,
                    const std::string& what, Callback reply);
  Status has_room(uint64_t observer, size_t bytes) const;
  Chunk& add(Chunk chunk);
  void begin(ChunkId id, Chunk& chunk);
  void begin_next();
  void cut(const Chunk& chunk, const std::string& why);
  void on_output(const ConsoleFrom& from, std::string_view text);
  void on_done(const ConsoleDone& done, std::string_view values);
  void end_of(Chunk& chunk, const ConsoleDone& done, std::string_view values);
  void fail(Chunk& chunk, const std::string& why);
  void close(Chunks::iterator at);
  void to_all(Kind kind, const std::string& meta);
  ProcessId home_of(Address node) const;
  std::string name_of(Address node) const;
  nlohmann::json news_of(const char* event, ChunkId chunk, Address node) const;

  Sources sources_;
  Log& log_;
  Chunks chunks_;
  ChunkId newest_ = 0;
  std::deque<ChunkId> together_;  // the first runs
  uint32_t restarts_ = 0;         // number of failed chunks for all nodes
  std::set<Address> ready_;
  bool paused_ = false;
};

}  // namespace actorhost
