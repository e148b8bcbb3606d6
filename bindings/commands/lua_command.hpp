#pragma once
// actor.c.command: what a subcommand written in Lua may use beside the standard library: the terminal, worker
// processes.

#include <string>

#include "bindings/process/console.hpp"
#include "bindings/process/worker_pool.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

/// The Vm's context in a subcommand.
struct CommandContext {
  Console& console;
  const WorkerChannel* channel;  // to the parent, in a worker process
  WorkerPool pool;
};

void open_command(Vm& vm);
/// actor.c.line_editor.
void open_line_editor(Vm& vm);

/// What a worker sends when it fails outside of Lua: the text behind a byte that no encoded value begins with.
std::string worker_error(const std::string& text);

}  // namespace actorhost
