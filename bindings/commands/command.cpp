#include "bindings/commands/command.hpp"

#include <atomic>
#include <string_view>
#include <thread>

#include <lua.hpp>

#include "bindings/commands/line_editor.hpp"
#include "bindings/commands/lua_command.hpp"
#include "bindings/modules/tool/lua_sim.hpp"
#include "bindings/process/console.hpp"
#include "bindings/process/run_options.hpp"
#include "bindings/process/worker_pool.hpp"
#include "bindings/run/minute_lines.hpp"
#include "bindings/run/signal_watch.hpp"
#include "bindings/vm/embedded.hpp"
#include "bindings/vm/error_text.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

namespace {

constexpr int kBySignal = 128;             // the exit code is this plus the signal's number
constexpr int kGraceMilliseconds = 1000;   // time for a script to stop
constexpr int kStatusMilliseconds = 5000;  // between two checks for an overdue status

constexpr std::string_view kScripts = "command/";

std::string script_name(const std::string& name) { return std::string(kScripts) + name; }

/// The next signal; 0 when the script has ended. Meanwhile, without a terminal, writes the progress of a long command.
int next_signal(const SignalWatch& signals, Console& console) {
  for (;;) {
    const int signal = signals.wait(kStatusMilliseconds);
    if (signal != 0 || signals.finished()) return signal;
    if (const auto status = console.overdue_status(kQuietMinute); status && !status->empty()) console.err(*status);
  }
}

/// Whether the script polls for this signal and has read the earlier ones.
bool takes(Interrupts& interrupts, int signal) {
  if (signal == SIGINT) return interrupts.taken && ++interrupts.pending < Interrupts::kMost;
  return signal == SIGTERM && interrupts.takes_terminate && !interrupts.terminated.exchange(true);
}

/// Ends the script on a signal that the script does not take; ends the process if the script does not stop. Sets `code`
/// to the exit code of a script ended by a signal.
void follow_signals(const SignalWatch& signals, Vm& vm, SimControl& control, CommandContext& context,
                    std::atomic<int>& code) {
  int signal = next_signal(signals, context.console);
  while (takes(context.interrupts, signal)) signal = next_signal(signals, context.console);
  if (signal == 0) return;
  code = kBySignal + signal;
  control.watch.stop = true;
  vm.request_stop();
  if (signals.wait(kGraceMilliseconds) == 0 && !vm.running()) return;
  context.console.finish(false);
  LineEditor::restore_terminal();
  _exit(code);
}

/// The script's exit code; 1 instead of 0 if its output could not be written.
int exit_code_of(lua_State* L, Console& console) {
  const int code = lua_gettop(L) > 0 && lua_isnumber(L, 1) != 0 ? static_cast<int>(lua_tointeger(L, 1)) : 0;
  lua_settop(L, 0);
  const std::string lost = console.out_failure();
  if (code != 0 || lost.empty()) return code;
  console.err("actorhost: standard output cannot be written: " + lost);
  return 1;
}

/// An error's text without frames and line numbers of the standard library.
std::string without_own_frames(const std::string& text) {
  std::string out = user_traceback(text, "scripts/");
  if (out.starts_with("scripts/")) out.erase(0, out.find(": ") + 2);
  return out;
}

/// The reason of the script's end: its error, or the message about a stuck rule, which caused the error.
std::string reason_of(const Error& error, const std::string& stuck) {
  if (stuck.empty()) return without_own_frames(error.message);
  return error.code == Code::interrupted ? stuck : stuck + "\n" + without_own_frames(error.message);
}

/// Reports a stuck rule in the place of its error.
void report_stuck(Console& console, const std::optional<WorkerChannel>& channel, const std::string& message) {
  if (channel) {
    (void)channel->send(worker_error(message)).ok();
  } else {
    console.finish();
    console.err("actorhost: " + message);
  }
  _exit(1);
}

}  // namespace

bool is_command(const std::string& name) { return embedded_file(script_name(name).c_str()) != nullptr; }

std::vector<std::string> command_names() {
  std::vector<std::string> names = {"run", "agent"};
  for (const EmbeddedFile* file = embedded_files(); file->name != nullptr; ++file) {
    const std::string_view name = file->name;
    if (name.starts_with(kScripts)) names.emplace_back(name.substr(kScripts.size()));
  }
  return names;
}

int run_command(const std::string& name, const std::vector<std::string>& args) {
  const EmbeddedFile* script = embedded_file(script_name(name).c_str());
  const std::optional<WorkerChannel> channel = WorkerChannel::take_from_environment();
  const SignalWatch signals(true);
  Console console;
  CommandContext context{console, channel ? &*channel : nullptr, {}, {}, {}, {}};
  VmConfig config;
  config.args = args;
  config.context = &context;
  config.print = [&console](std::string_view line) { console.out(line); };
  auto made = Vm::create(std::move(config));
  if (!made) {
    console.err("actorhost: " + made.error().message);
    return 1;
  }
  Vm& vm = **made;
  open_command(vm);
  open_doctor(vm);
  open_control(vm);
  open_screen(vm);
  open_launch(vm);
  open_dashboard(vm);
  SimControl& control = sim_control(vm);
  control.watchdog = std::make_unique<CallWatchdog>(CallWatchdog::Limits{kRuleSeconds, kForever},
                                                    [&](const std::string& message, bool still) {
                                                      if (still) report_stuck(console, channel, message);
                                                      vm.request_stop();
                                                    });
  std::atomic<int> by_signal{0};
  std::thread watcher([&] { follow_signals(signals, vm, control, context, by_signal); });
  Status status = vm.load(script->text, "@" + std::string(script->path));
  if (status.ok()) status = vm.call(0, 1);
  signals.finish();
  watcher.join();
  console.finish();
  const std::string stuck = control.watchdog->message();
  control.watchdog.reset();
  if (by_signal != 0) return by_signal;
  if (status.ok()) return exit_code_of(vm.state(), console);
  const std::string text = reason_of(status.error(), stuck);
  if (channel) {
    (void)channel->send(worker_error(text)).ok();
  } else {
    console.err("actorhost: " + text);
  }
  return 1;
}

}  // namespace actorhost
