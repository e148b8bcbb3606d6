// actor.c.launch: programs as children with their events, and the command line of a job, for `actorhost launch`.

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <lua.hpp>
#include <unistd.h>

#include "bindings/commands/lua_command.hpp"
#include "bindings/process/run_options.hpp"
#include "bindings/run/cluster_config.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/fd.hpp"
#include "host/base/log.hpp"
#include "host/base/system_random.hpp"

namespace actorhost {

namespace {

CommandContext& launch_context(lua_State* L) { return *static_cast<CommandContext*>(Vm::from(L).context()); }

size_t check_program(lua_State* L, const char* function) {
  return static_cast<size_t>(check_integer(L, 1, "program", function, 0, 1 << 20));
}

// start({path=, words=, variables={NAME=VALUE}, folder=, piped=}): the program's number; or nil, message, code. Without
// a path it is this program. A piped program does not receive Ctrl-C.
int launch_start(lua_State* L) {
  check_table(L, 1, "program", "launch.start");
  ChildProgram program;
  program.path = text_field(L, 1, "path");
  program.folder = text_field(L, 1, "folder");
  const bool piped = boolean_field(L, 1, "piped");
  program.interrupt = piped ? Interrupt::ignored : Interrupt::inherited;
  lua_getfield(L, 1, "words");
  program.words = check_texts(L, lua_gettop(L), "words", "launch.start");
  lua_getfield(L, 1, "variables");
  if (lua_istable(L, -1)) {
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
      if (lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING) {
        program.variables[lua_tostring(L, -2)] = lua_tostring(L, -1);
      }
      lua_pop(L, 1);
    }
  }
  const auto number = launch_context(L).programs.start(std::move(program), piped);
  if (!number) return push_failure(L, number.error());
  return push(L, *number);
}

// send(program, text): sends text to the program's standard input.
int launch_send(lua_State* L) {
  const size_t program = check_program(L, "launch.send");
  launch_context(L).programs.send(program, check_text(L, 2, "text", "launch.send"));
  return 0;
}

// signal(program, "INT"|"TERM"|"KILL")
int launch_signal(lua_State* L) {
  static constexpr std::array<std::pair<std::string_view, int>, 3> kSignals{
      {{"INT", SIGINT}, {"TERM", SIGTERM}, {"KILL", SIGKILL}}};
  const size_t program = check_program(L, "launch.signal");
  const std::string_view name = check_text(L, 2, "name", "launch.signal");
  const auto* known =
      std::find_if(kSignals.begin(), kSignals.end(), [&](const auto& each) { return each.first == name; });
  if (known == kSignals.end()) raise_at_user(L, "launch.signal: INT, TERM or KILL");
  launch_context(L).programs.signal(program, known->second);
  return 0;
}

// watch_input(): `next` reports the standard input of this process, too.
int launch_watch_input(lua_State* L) {
  launch_context(L).programs.watch_input();
  return 0;
}

// next(seconds): "output"|"error", program, text; "end", program, code; "input", nil, text (empty at its end); nothing
// when nothing happens within that time.
int launch_next(lua_State* L) {
  static constexpr std::array<const char*, 4> kNames = {"output", "error", "end", "input"};
  using What = ProgramPool::What;
  Vm::from(L).check_stop(L);
  const double seconds = check_number(L, 1, "seconds", "launch.next");
  auto event = launch_context(L).programs.next(static_cast<int>(seconds * 1000));
  if (!event) raise_error(L, event.error());
  if (!*event) return 0;
  const ProgramPool::Event& got = **event;
  push(L, std::string_view(kNames.at(static_cast<size_t>(got.what))));
  if (got.what == What::input) {
    lua_pushnil(L);
  } else {
    push(L, got.program);
  }
  if (got.what == What::end) {
    push(L, got.code);
  } else {
    push(L, got.text);
  }
  return 3;
}

// signals(): the number of Ctrl-C presses since the last call, and whether SIGTERM has arrived. After the first call
// neither ends the script.
int launch_signals(lua_State* L) {
  Interrupts& interrupts = launch_context(L).interrupts;
  interrupts.taken = true;
  interrupts.takes_terminate = true;
  push(L, interrupts.pending.exchange(0));
  push(L, interrupts.terminated.load());
  return 2;
}

/// A folder with the file "token", which only this user can read.
Result<PrivateFolder> folder_with(std::string_view token) {
  AH_LET(auto folder, PrivateFolder::make());
  AH_TRY(folder.own_files());
  const std::string path = folder.path() + "/token";
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const int error = !file.valid() ? errno : transfer(token.data(), token.size(), [&](auto* at, size_t left) {
    return ::write(file.get(), at, left);
  });
  if (error != 0) return file_error(path, "writing", error);
  AH_TRY(file.close(path));
  return folder;
}

// folder(token): makes a folder for the files of a job, with the token in its file "token". Only this user can enter
// the folder, which is removed at the end of this process. Returns its path; or nil, message, code.
int launch_folder(lua_State* L) {
  auto made = folder_with(check_text(L, 1, "token", "launch.folder"));
  if (!made) return push_failure(L, made.error());
  std::optional<PrivateFolder>& folder = launch_context(L).folder;
  folder.emplace(std::move(*made));
  return push(L, folder->path());
}

// token(file): the token in the file; without a file the user's token, made on first use. Or nil, message, code.
int launch_token(lua_State* L) {
  RunOptions options;
  if (!lua_isnoneornil(L, 1)) options.token_file = check_text(L, 1, "file", "launch.token");
  Log silent(LogLevel::off);
  const auto token = load_token(options, silent);
  if (!token) return push_failure(L, token.error());
  return push(L, *token);
}

// here(): {program=, folder=, id=}: the path of this program, the present folder as the user names it, and a new run
// id.
int launch_here(lua_State* L) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::string folder = fs::current_path(ignored).string();
  const char* named = std::getenv("PWD");
  if (named != nullptr && *named == '/' && fs::equivalent(named, folder, ignored)) folder = named;
  lua_newtable(L);
  set_field(L, "program", std::string_view(fs::read_symlink("/proc/self/exe", ignored).string()));
  set_field(L, "folder", std::string_view(folder));
  set_field(L, "id", std::string_view("launch-" + std::to_string(system_random() % 1'000'000'000)));
  return 1;
}

// job(words): the script of a job's command line and its flags that concern a launcher; or nil, message.
int launch_job(lua_State* L) {
  const ParsedCommand parsed = parse_command(check_texts(L, 1, "words", "launch.job"));
  const RunOptions& options = parsed.options;
  if (parsed.exit_code) {
    const std::string text = parsed.output.substr(0, parsed.output.find('\n'));
    return push_failure(L, Error{Code::bad_argument, text.substr(std::min(text.find(' ') + 1, text.size()))});
  }
  lua_newtable(L);
  const auto set_given = [L](const char* name, const std::optional<std::string>& text) {
    if (text && !text->empty()) set_field(L, name, std::string_view(*text));
  };
  set_given("script", options.script);
  set_given("barrier", options.barrier);
  set_given("merge", options.merge);
  set_given("token_file", options.token_file);
  set_given("nodes", options.placement.nproc_per_node);
  set_given("hosts", options.placement.nnodes);
  set_given("rank", options.placement.node_rank);
  set_given("endpoint", options.placement.rdzv_endpoint);
  set_given("id", options.placement.rdzv_id);
  set_field(L, "arguments", options.args.size());
  set_field(L, "insecure", options.insecure);
  set_field(L, "start_timeout", options.start_timeout);
  set_field(L, "grace", options.grace);
  return 1;
}

}  // namespace

void open_launch(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {
      {"start", guarded<launch_start>},   {"send", guarded<launch_send>},
      {"signal", guarded<launch_signal>}, {"watch_input", guarded<launch_watch_input>},
      {"next", guarded<launch_next>},     {"signals", guarded<launch_signals>},
      {"folder", guarded<launch_folder>}, {"token", guarded<launch_token>},
      {"job", guarded<launch_job>},       {"here", guarded<launch_here>},
  };
  vm.register_module("actor.c.launch", open_functions<kFunctions>);
}

}  // namespace actorhost
