#pragma once
// Runs chunks of Lua that come from outside in the Vm of a node, on its thread: one at a time within the waits of the
// script (those of observers), or, where the script waits for them, one after the other on all nodes together. A chunk
// has a coroutine of its own, what it prints goes to whoever has sent it, and it can be ended without the script.

#include <cstdint>
#include <string>

#include "bindings/process/node_context.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

class ConsoleRunner final : public NodeGuest {
 public:
  ConsoleRunner(Vm& vm, NodeContext& context);
  ~ConsoleRunner() override;

  bool may_answer() override;
  void answer() override;
  uint64_t lua_bytes() override;

  /// Runs chunks for all nodes until one of them has called `end`, or, on a server, until it has failed in its run.
  Status run_together(lua_State* L);
  /// The script goes on after the present chunk.
  void end() noexcept { over_ = true; }

 private:
  struct Threads {
    lua_State* alone;
    lua_State* together;
  };

  Status wait_for_chunk(lua_State* L);
  bool run(const Question& question, lua_State* on);
  std::string told(const Error& error) const;
  Result<std::string> evaluate(const Question& question, lua_State* on);
  Status load(const Question& question, lua_State* on);
  Status agree(const ConsoleAsk& ask, lua_State* on);

  Vm& vm_;
  NodeContext& context_;
  Node& node_;
  QuestionDesk& desk_;
  Threads threads_;
  uint32_t restarts_ = 0;
  bool over_ = false;
};

/// Raises when a chunk that runs on this node alone makes the call `call` + `name`, in which other nodes have to take
/// part.
void refuse_alone(lua_State* L, const char* call, const char* name = "");

}  // namespace actorhost
