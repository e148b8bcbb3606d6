#pragma once
// On the rendezvous host: what those who look into the run ask its nodes to do. Numbers the chunks of Lua, sends them
// to the processes of their nodes, passes on what these print and how they end, and keeps the chunks for all nodes in
// order: the next one begins when the one before is over everywhere. Holds the run, ends processes, swaps the barrier
// rule. Passive: the cluster's service thread hands in commands, frames and changes of the membership.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/base/log.hpp"
#include "host/cluster/console_messages.hpp"
#include "host/cluster/membership.hpp"
#include "host/net/transport.hpp"

namespace actorhost {

class ConsoleHub {
 public:
  /// Takes the answer to a command, or news, as JSON.
  using Told = std::function<void(const nlohmann::json&)>;

  struct Sources {
    std::function<MembershipPtr()> membership;
    std::function<void(ProcessId, Frame&&)> send;
    /// How many actions have been entered. `settle`: all of them are over, on all workers.
    std::function<uint32_t(bool settle)> actions;
    /// Workers wait in a run of the parameter server.
    std::function<bool()> serving;
    /// Workers are in a run of the peer-to-peer engine.
    std::function<bool()> peering;
  };

  ConsoleHub(Sources sources, Log& log) : sources_(std::move(sources)), log_(log) {}

  /// A command of an observer, who gets news by `news`. `who` is for the log. Answers at once or later.
  void command(uint64_t observer, const std::string& who, const nlohmann::json& command, Told answer, Told news);
  /// An observer has left: its chunks end.
  void leave(uint64_t observer);
  /// A frame of a process.
  Status take(const Frame& frame);
  void membership_changed();
  /// A node has entered an action, maybe one for which it waits for a server.
  void action_entered();

  /// Chunks get numbers above this one, so that none is taken for one of an earlier rendezvous host.
  void number_from(ChunkId newest) noexcept { newest_ = newest; }

  bool paused() const noexcept { return paused_; }
  /// All workers wait for chunks, or run one: the run is a console's.
  bool ready() const;

 private:
  struct Chunk {
    uint64_t observer = 0;  // whose leaving ends it; 0: it goes on
    uint64_t asker = 0;     // whose share of chunks it is of
    bool together = false;
    ConsoleAsk ask;
    std::string source;
    std::set<Address> missing;
    bool begun = false;
    bool failed = false;
    std::string server_error;  // a server has left it
    Told answer;               // of a command that the chunk is made for; else empty
    Told news;
  };
  using Chunks = std::map<ChunkId, Chunk>;

  void on_chunk(uint64_t observer, const nlohmann::json& command, const Told& answer, Told news);
  nlohmann::json interrupt(const nlohmann::json& command);
  nlohmann::json kill(const std::string& who, const nlohmann::json& command);
  nlohmann::json hold(const std::string& who, bool paused);
  void swap_barrier(uint64_t observer, const std::string& who, const nlohmann::json& command, Told answer);
  void ask_nodes(uint64_t observer, std::set<Address> nodes, const char* source, std::vector<std::string> arguments,
                 const std::string& what, Told answer);
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
  std::deque<ChunkId> together_;  // the first one runs
  uint32_t restarts_ = 0;         // chunks for all nodes that have failed
  std::set<Address> ready_;
  bool paused_ = false;
};

}  // namespace actorhost
