#pragma once
// actor.c.command: what a subcommand written in Lua may use beside the standard library: the terminal, worker
// processes.

#include <atomic>
#include <string>

#include "bindings/process/console.hpp"
#include "bindings/process/worker_pool.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

/// What Ctrl-C does to a subcommand: it ends it, until the script has asked to be told instead.
struct Interrupts {
  static constexpr int kMost = 3;  // that a script may leave unread: it is stuck then, and ends
  std::atomic<bool> taken{false};
  std::atomic<int> pending{0};
};

/// The Vm's context in a subcommand.
struct CommandContext {
  Console& console;
  const WorkerChannel* channel;  // to the parent, in a worker process
  WorkerPool pool;
  Interrupts interrupts;
};

void open_command(Vm& vm);
/// actor.c.doctor (lua_doctor.cpp): facts about this machine.
void open_doctor(Vm& vm);
/// actor.c.line_editor and actor.c.own_cluster: what a console is made of.
void open_line_editor(Vm& vm);
void open_own_cluster(Vm& vm);

/// What a worker sends when it fails outside of Lua: the text behind a byte that no encoded value begins with.
std::string worker_error(const std::string& text);

}  // namespace actorhost
