#pragma once
// actor.c.command: the terminal, Ctrl-C and worker processes, for subcommands in Lua.

#include <atomic>
#include <optional>
#include <string>

#include "bindings/process/console.hpp"
#include "bindings/process/program_pool.hpp"
#include "bindings/process/worker_pool.hpp"
#include "bindings/run/private_folder.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

/// Ctrl-C and SIGTERM in a subcommand: they end the script, unless the script polls for them.
struct Interrupts {
  static constexpr int kMost = 3;  // unread interrupts after which a stuck script is ended
  std::atomic<bool> taken{false};
  std::atomic<int> pending{0};
  std::atomic<bool> takes_terminate{false};
  std::atomic<bool> terminated{false};  // a second SIGTERM ends the script
};

/// The Vm's context in a subcommand.
struct CommandContext {
  Console& console;
  const WorkerChannel* channel;  // to the parent, in a worker process
  WorkerPool pool;
  ProgramPool programs;
  std::optional<PrivateFolder> folder;  // of the files of a launched job
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
/// actor.c.launch: programs as children, and the command line of a job, for `actorhost launch`.
void open_launch(Vm& vm);
/// actor.c.dashboard: the page of a recorded run. actor.c.screen: a redrawn page of text, and keys.
void open_dashboard(Vm& vm);
void open_screen(Vm& vm);

/// A worker's message for a failure outside Lua: a byte that begins no encoded value, then the text.
std::string worker_error(const std::string& text);

}  // namespace actorhost
