#pragma once
// actor.c.command: the terminal, Ctrl-C and worker processes, for subcommands in Lua.

#include <atomic>
#include <string>

#include "bindings/process/console.hpp"
#include "bindings/process/worker_pool.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

/// Ctrl-C in a subcommand: it ends the script, unless the script polls for interrupts.
struct Interrupts {
  static constexpr int kMost = 3;  // unread interrupts after which a stuck script is ended
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
/// actor.c.line_editor and actor.c.own_cluster: the parts of a console.
void open_line_editor(Vm& vm);
void open_own_cluster(Vm& vm);
/// actor.c.control: finds runs on this machine, and connects to a run as an observer. The Vm owns the connections.
/// Requests block until the reply or their timeout.
void open_control(Vm& vm);
/// actor.c.dashboard: the page of a recorded run. actor.c.screen: a redrawn page of text, and keys.
void open_dashboard(Vm& vm);
void open_screen(Vm& vm);

/// A worker's message for a failure outside Lua: a byte that begins no encoded value, then the text.
std::string worker_error(const std::string& text);

}  // namespace actorhost
