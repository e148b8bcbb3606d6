// actor.c.program: works() -> whether the program that embeds this host does the steps of this worker; serve(): runs
// the program's calls until one of them calls finish(); finish(); pause(summary): the worker's run has ended.

#include <utility>

#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/console_runner.hpp"
#include "bindings/modules/tool/program_values.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/error_text.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

constexpr const char* kServedKey = "actor.program";
constexpr double kServeSeconds = 5;  // limit of one wait: a longer wait would be logged as a wait for other nodes

/// The worker's side of the program's calls.
struct Served {
  Program& program;
  bool over = false;  // a call has finished `serve`

  Served(Program& serves, Node& node) : program(serves) {
    program.set_wake([&node] { node.wake(); });
  }
  ~Served() { program.set_wake({}); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
};

bool program_works(lua_State* L) {
  const NodeContext& context = NodeContext::of(L);
  return context.shared.program && context.shared.program->works && context.node.role() == Role::worker;
}

Served& served(lua_State* L) { return RegistryObject<Served>::find(L, kServedKey); }

/// Pushes the function and the arguments of a call; a function for Vm::call, which turns a failure into an error.
int push_call(lua_State* L) {
  const auto& call = *static_cast<const ProgramCall*>(lua_touserdata(L, 1));
  lua_settop(L, 0);
  luaL_checkstack(L, static_cast<int>(call.arguments.size()) + 3, "too many arguments");
  lua_pushcfunction(L, guarded<load_chunk>);
  push(L, std::string_view(call.source));
  push(L, std::string_view(call.name));
  lua_call(L, 2, 1);
  for (const ProgramValue& argument : call.arguments) push_program_value(L, argument);
  return lua_gettop(L);
}

Status run_call(lua_State* L, const ProgramCall& call, std::vector<ProgramValue>& values) {
  Vm& vm = Vm::from(L);
  const int top = lua_gettop(L);
  lua_pushcfunction(L, guarded<push_call>);
  lua_pushlightuserdata(L, const_cast<ProgramCall*>(&call));
  AH_TRY(vm.call(L, 1, LUA_MULTRET));
  AH_TRY(vm.call(L, lua_gettop(L) - top - 1, LUA_MULTRET));
  auto read = program_values_at(L, top + 1);
  lua_settop(L, top);
  if (!read) return read.error();
  values = std::move(*read);
  return {};
}

int serve_program(lua_State* L) {
  NodeContext& context = NodeContext::of(L);
  Node& node = context.node;
  Served& state = served(L);
  state.program.resume();
  state.over = false;
  while (!state.over) {
    const Status waited = [&] {
      static constexpr EngineCall kCall{Cause::sleep,
                                        "push by the program"};  // its time counts as work, not as waiting
      const Activity activity(node.stats(), kCall);
      return node.wait_until([&] { return state.program.has_call(); }, {}, "the program",
                             node.clock().now() + kServeSeconds);
    }();
    if (!waited && waited.error().code != Code::timeout) raise_error(L, waited.error());
    const ProgramCallPtr call = state.program.take();
    if (!call) continue;
    std::vector<ProgramValue> values;
    Status ran = run_call(L, *call, values);
    if (ran) {
      call->give(0, std::move(values));
      call->end({});
      continue;
    }
    Error error = ran.error();
    error.message = user_traceback(error.message);
    const std::string prefix = node.name() + ": ";
    if (error.message.starts_with(prefix)) error.message.erase(0, prefix.size());
    expect(L, node.check());  // the end of the run ends the call too, with the run's own message
    call->end(error);
  }
  return 0;
}

int works_for_program(lua_State* L) { return push(L, program_works(L)); }

int finish_serving(lua_State* L) {
  served(L).over = true;
  return 0;
}

int pause_calls(lua_State* L) {
  lua_settop(L, 1);
  auto summary = program_values_at(L, 1);
  if (!summary) raise_at_user(L, summary.error().message);
  served(L).program.pause(std::move(summary->front()));
  return 0;
}

}  // namespace

void open_program(Vm& vm) {
  auto& context = *static_cast<NodeContext*>(vm.context());
  static constexpr luaL_Reg kFunctions[] = {{"works", guarded<works_for_program>},
                                            {"serve", guarded<serve_program>},
                                            {"finish", guarded<finish_serving>},
                                            {"pause", guarded<pause_calls>}};
  vm.register_module("actor.c.program", open_functions<kFunctions>);
  if (!program_works(vm.state())) return;
  RegistryObject<Served>::store(vm.state(), kServedKey,
                                std::make_shared<Served>(*context.shared.program, context.node));
}

}  // namespace actorhost
