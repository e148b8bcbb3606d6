#pragma once
// Runs Lua chunks from outside the script in a node's Vm, on its thread. Chunks of observers run one at a time within
// the waits of the script. If the script waits for chunks, each chunk runs on all nodes together. A chunk has its own
// coroutine, sends its output to its sender, and can be ended without ending the script.

#include <cstdint>
#include <string>

#include "bindings/process/node_context.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

class ConsoleRunner final : public ChunkRunner {
 public:
  ConsoleRunner(Vm& vm, NodeContext& context);
  ~ConsoleRunner() override;

  bool may_run_chunks() override;
  void run_chunks() override;
  uint64_t lua_bytes() override;

  /// Runs chunks for all nodes until a chunk calls `end`, or, on a server, until a chunk fails during the server's run.
  Status run_together(lua_State* L);
  /// Lets the script continue after the present chunk.
  void end() noexcept { over_ = true; }

 private:
  struct Threads {
    lua_State* alone;
    lua_State* together;
  };

  Status wait_for_chunk(lua_State* L);
  bool run(const ConsoleChunk& chunk, lua_State* on);
  std::string error_for_observers(const Error& error) const;
  Result<std::string> evaluate(const ConsoleChunk& chunk, lua_State* on);
  Status load(const ConsoleChunk& chunk, lua_State* on);
  Status agree(const ConsoleRequest& request, lua_State* on);

  Vm& vm_;
  NodeContext& context_;
  Node& node_;
  ChunkScheduler& chunks_;
  Threads threads_;
  uint32_t restarts_ = 0;
  bool over_ = false;
};

/// Raises when a chunk that runs only on this node calls `call` + `name`, which needs other nodes.
void refuse_alone(lua_State* L, const char* call, const char* name = "");

}  // namespace actorhost
