#include "bindings/commands/lua_command.hpp"

#include <array>

#include <lua.hpp>

#include "bindings/process/run_options.hpp"
#include "bindings/process/usage_text.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/allowance.hpp"

namespace actorhost {

namespace {

constexpr char kErrorMark = '\x1b';
constexpr int kPollMilliseconds = 100;  // between two checks for Ctrl-C

CommandContext& context_of(lua_State* L) { return *static_cast<CommandContext*>(Vm::from(L).context()); }

int command_error(lua_State* L) {
  context_of(L).console.err(check_text(L, 1, "line", "command.err"));
  return 0;
}

int command_status(lua_State* L) {
  context_of(L).console.status(check_text(L, 1, "text", "command.status"));
  return 0;
}

int command_columns(lua_State* L) { return push(L, Console::status_columns()); }

int command_cores(lua_State* L) { return push(L, own_allowance().cores); }

// usage(name): the output of `actorhost NAME --help` for subcommands in C++.
int command_usage(lua_State* L) {
  const std::string text = parse_command({std::string(check_text(L, 1, "name", "command.usage")), "--help"}).output;
  return push(L, text);
}

// flags(name): the flags of a subcommand in C++, as arrays of {names, value, help}; empty for a subcommand in Lua.
int command_flags(lua_State* L) {
  return push_list(L, flag_texts(std::string(check_text(L, 1, "name", "command.flags"))), [L](const FlagText& flag) {
    push_list(L, std::array{flag.names, flag.value, flag.help});
  });
}

// commands(): all subcommands, as arrays of {name, words, purpose}.
int command_commands(lua_State* L) {
  return push_list(L, command_texts(), [L](const CommandText& command) {
    push_list(L, std::array{command.name, command.words, command.purpose});
  });
}

// spawn(args, file): the worker's number. `file` gets the worker's output; without it the terminal does.
int command_spawn(lua_State* L) {
  const bool to_file = !lua_isnoneornil(L, 2);
  const std::string file = to_file ? std::string(check_text(L, 2, "file", "command.spawn")) : "";
  const auto worker = context_of(L).pool.spawn(check_texts(L, 1, "args", "command.spawn"), file);
  if (!worker) raise_error(L, worker.error());
  return push(L, *worker);
}

// send(worker, text): true; or nil, message, code.
int command_send(lua_State* L) {
  const auto worker = static_cast<size_t>(check_integer(L, 1, "worker", "command.send", 0, 1 << 20));
  const Status sent = context_of(L).pool.send(worker, std::string(check_text(L, 2, "text", "command.send")));
  if (!sent) return push_failure(L, sent.error());
  return push(L, true);
}

// receive(): worker, text; or worker, nil, how it ended; or worker, false, error.
int command_receive(lua_State* L) {
  Vm& vm = Vm::from(L);
  for (;;) {
    vm.check_stop(L);
    auto received = context_of(L).pool.receive(kPollMilliseconds);
    if (!received) raise_error(L, received.error());
    if (!*received) continue;
    const WorkerPool::Received& got = **received;
    lua_pushinteger(L, static_cast<lua_Integer>(got.worker));
    if (!got.message) {
      lua_pushnil(L);
      lua_pushlstring(L, got.how.data(), got.how.size());
      return 3;
    }
    const bool error = got.message->starts_with(kErrorMark);
    if (error) lua_pushboolean(L, 0);
    lua_pushlstring(L, got.message->data() + (error ? 1 : 0), got.message->size() - (error ? 1 : 0));
    return error ? 3 : 2;
  }
}

// next_task(): the parent's next message, or nil without further messages; reply(text).
int command_next_task(lua_State* L) {
  const WorkerChannel* channel = context_of(L).channel;
  if (channel == nullptr) raise_at_user(L, "this process is no worker");
  const auto message = channel->receive();
  if (!message) return 0;
  return push(L, *message);
}

int command_reply(lua_State* L) {
  const WorkerChannel* channel = context_of(L).channel;
  if (channel == nullptr) raise_at_user(L, "this process is no worker");
  const Status sent = channel->send(std::string(check_text(L, 1, "text", "command.reply")));
  if (!sent) raise_error(L, sent.error());
  return 0;
}

// interrupts(): the number of Ctrl-C presses since the last call. After the first call Ctrl-C does not end the script.
int command_interrupts(lua_State* L) {
  Interrupts& interrupts = context_of(L).interrupts;
  interrupts.taken = true;
  return push(L, interrupts.pending.exchange(0));
}

}  // namespace

std::string worker_error(const std::string& text) { return kErrorMark + text; }

void open_command(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {
      {"err", guarded<command_error>},
      {"status", guarded<command_status>},
      {"cores", guarded<command_cores>},
      {"status_columns", guarded<command_columns>},
      {"spawn", guarded<command_spawn>},
      {"send", guarded<command_send>},
      {"receive", guarded<command_receive>},
      {"next_task", guarded<command_next_task>},
      {"reply", guarded<command_reply>},
      {"usage", guarded<command_usage>},
      {"flags", guarded<command_flags>},
      {"commands", guarded<command_commands>},
      {"interrupts", guarded<command_interrupts>},
  };
  vm.register_module("actor.c.command", open_functions<kFunctions>);
  open_line_editor(vm);
  open_own_cluster(vm);
}

}  // namespace actorhost
