#pragma once
// Runs the Lua chunks of observers (consoles) in a node's Vm, on the node's thread. There are two kinds of chunks. In a
// running job each node runs a chunk by itself ("alone"), where its script enters an engine call or waits in it. In a
// console's own cluster the script only waits for chunks, and all nodes run each chunk at the same time ("together").
// A node runs one chunk at a time. Each kind has its own coroutine. The output of a chunk goes to its observer. An
// observer can interrupt a chunk without ending the script.

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

  /// The main loop of a console's own cluster: runs the chunks for all nodes until a chunk calls `end`. On a server the
  /// loop also ends when a chunk fails during the server's run.
  Status run_together(lua_State* L);
  /// Ends `run_together` after the current chunk.
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
  uint32_t restarts_ = 0;  // ConsoleRequest::restarts of the newest common chunk
  bool over_ = false;
};

/// (source, name, script) -> function. Loads a chunk as an expression, so that it returns its values, or else as
/// statements. The chunk sees the library's modules beside the variables of the script, a coroutine; beside the globals
/// without a script. A lua_CFunction for guarded<>; raises an error that the source has.
int load_chunk(lua_State* L);

/// For calls that need other nodes: raises an error that names the function, `call` + `name`, if a chunk that runs only
/// on this node calls it.
void refuse_alone(lua_State* L, const char* call, const char* name = "");

}  // namespace actorhost
