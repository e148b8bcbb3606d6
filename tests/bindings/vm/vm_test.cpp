#include "bindings/vm/vm.hpp"

#include <stdexcept>

#include "tests/bindings/vm_fixture.hpp"
#include "tests/test.hpp"

using Catch::Equals;
using TextLines = std::vector<std::string>;

namespace {

int throws(lua_State* L) { throw std::runtime_error(std::string("no ") + luaL_checkstring(L, 1)); }

int loses_peer(lua_State* L) { actorhost::raise_error(L, Error{Code::peer_lost, "barrier: rank 2 is gone"}); }

int checks(lua_State* L) {
  actorhost::check_integer(L, 1, "steps", "param.run", 0, 10);
  actorhost::check_text(L, 2, "name", "param.run");
  return 0;
}

int calls_back(lua_State* L) {
  lua_settop(L, 1);
  const auto status = Vm::from(L).call(L, 0, 1);
  if (!status.ok()) actorhost::raise_error(L, status.error());
  return 1;
}

void add(VmFixture& fixture, const char* name, lua_CFunction function) {
  lua_pushcfunction(fixture.vm->state(), function);
  lua_setglobal(fixture.vm->state(), name);
}

struct Unwound : private NonCopyable {
  explicit Unwound(bool* flag) : flag_(flag) {}
  ~Unwound() { *flag_ = true; }
  bool* flag_;
};

bool unwound = false;
int raises_over_destructor(lua_State* L) {
  const Unwound mark(&unwound);
  return luaL_error(L, "raised");
}

}  // namespace

TEST_CASE("print sends whole lines with tab-separated values to the sink") {
  VmFixture f;
  f.run("print(1, nil, 'x', true) print() print(setmetatable({}, {__tostring = function() return 'T' end}))");
  CHECK(f.lines == TextLines{"1\tnil\tx\ttrue", "", "T"});
}

TEST_CASE("the script gets its arguments as ... and as actor.args") {
  actorhost::VmConfig config;
  config.args = {"a", "b c"};
  VmFixture f(std::move(config));
  f.run("print(select('#', ...), ...) print(#require('actor').args, require('actor').args[2])");
  CHECK(f.lines == TextLines{"2\ta\tb c", "2\tb c"});
}

TEST_CASE("an error names the rank, the file, the line and the functions on its way") {
  VmFixture f;
  const std::string message =
      f.error_of("local function inner()\n  error('broken')\nend\nlocal x = inner()\nreturn x\n");
  CHECK_THAT(message,
             Equals("rank 3: job.lua:2: broken\nstack traceback:\n"
                    "\t[C]: in function 'error'\n\tjob.lua:2: in function 'inner'\n\tjob.lua:4: in main chunk"));
  CHECK(f.code == Code::script);
}

TEST_CASE("error values other than strings are reported too") {
  VmFixture f;
  CHECK(f.first_line_of_error("error(nil)") == "rank 3: (error object is a nil value)");
  CHECK(f.first_line_of_error("error({})") == "rank 3: (error object is an empty table)");
  CHECK(f.first_line_of_error("error({ code = 3, why = 'no room', path = { 'a', [7] = true } })") ==
        "rank 3: {code = 3, path = {\"a\", [7] = true}, why = \"no room\"}");
  CHECK(f.first_line_of_error("error({ message = 'no room', code = 3 })") == "rank 3: no room {code = 3}");
  CHECK(f.first_line_of_error("local t = { 1 } t[2] = t error(t)") == "rank 3: {1, {1, {1, {...}}}}");
  CHECK(f.first_line_of_error("error({message = 'as a field'})") == "rank 3: as a field");
  CHECK(f.first_line_of_error("error(setmetatable({}, {__tostring = function() return 'own text' end}))") ==
        "rank 3: own text");
  CHECK_THAT(f.error_of("error(setmetatable({}, {__tostring = function() error('again') end}))"),
             Contains("error was being handled"));
  CHECK_THAT(f.error_of("local function f() return 1 + f() end f()"), Contains("stack overflow"));
}

TEST_CASE("a script that does not parse is an error with its file and line") {
  VmFixture f;
  CHECK_THAT(f.error_of("local a = 1\nlocal = 2\n"), Contains("rank 3: job.lua:2:") && Contains("near '='"));
  CHECK(f.code == Code::script);
}

TEST_CASE("a script may begin with a #! line and keeps its line numbers") {
  VmFixture f;
  CHECK_THAT(f.error_of("#!/usr/bin/env actorhost\nerror('second')"), Contains("job.lua:2: second"));
}

TEST_CASE("bytecode is refused by every loader") {
  lua_State* plain = luaL_newstate();
  luaL_openlibs(plain);
  REQUIRE(luaL_dostring(plain, "return string.dump(function() return 1 end)") == 0);
  size_t size = 0;
  const char* bytes = lua_tolstring(plain, -1, &size);
  const std::string bytecode(bytes, size);
  lua_close(plain);
  VmFixture f;
  CHECK_THAT(f.error_of(bytecode), Contains("job.lua is LuaJIT bytecode"));
  f.modules.files["evil"] = bytecode;
  CHECK_THAT(f.error_of("require 'evil'"), Contains("module 'evil' (evil.lua) is LuaJIT bytecode"));
  lua_pushlstring(f.vm->state(), bytecode.data(), bytecode.size());
  lua_setglobal(f.vm->state(), "bytecode");
  f.run(text_of_script("load_bytecode.lua"));
  CHECK(f.lines.back() == "nil");
}

TEST_CASE("load takes text, a reader function, an environment and a mode that allows text") {
  VmFixture f;
  f.run(text_of_script("load_text.lua"));
  CHECK(TextLines(f.lines.begin(), f.lines.begin() + 5) == TextLines{"2", "from env", "3", "4", "5"});
  CHECK_THAT(f.lines[5], Contains("nil\t[string \"return =\"]:1: unexpected symbol"));
  CHECK_THAT(f.lines[6], Contains("cannot open /nonexistent.lua"));
  CHECK_THAT(f.lines[7], Contains("false\tcannot open /nonexistent.lua"));
}

TEST_CASE("a module beside the script is found and runs once") {
  VmFixture f;
  f.modules.files["lib.util"] = "print('loading', ...) return {answer = 42}";
  f.run("print(require('lib.util').answer, require('lib.util').answer)");
  CHECK(f.lines == TextLines{"loading\tlib.util", "42\t42"});
}

TEST_CASE("a missing, malformed or refused module is an error with names and lines") {
  VmFixture f;
  f.modules.files["lib"] = "local x = 1\nlocal y = = 2";
  f.modules.files["other"] = "refused";
  CHECK_THAT(f.error_of("require 'nowhere'"), Contains("module 'nowhere' not found") && Contains("beside the script"));
  CHECK_THAT(f.error_of("require 'lib'"), Contains("module 'lib' does not load: lib.lua:2: unexpected symbol"));
  CHECK_THAT(f.error_of("\nrequire 'other'"),
             Contains("job.lua:2: module 'other': its hash differs from the cluster's"));
  f.modules.files["named"] = "named";
  CHECK_THAT(f.error_of("\nrequire 'named'"), Contains("job.lua:2: module 'named' on alpha:1 differs"));
}

TEST_CASE("an interrupted search for a module ends the script as an interruption, not as its error") {
  VmFixture f;
  f.modules.files["other"] = "interrupted";
  CHECK_THAT(f.error_of("require('other')"), Contains("interrupted"));
  CHECK(f.code == Code::interrupted);
}

TEST_CASE("LuaJIT's own modules are available and a C module is opened by its name") {
  VmFixture f;
  f.vm->register_module("actor.c.extra", [](lua_State* L) {
    lua_pushliteral(L, "opened");
    return 1;
  });
  f.run(
      "print(require 'actor.c.extra', require 'ffi' ~= nil, require 'bit' ~= nil, require 'jit' ~= nil, "
      "require 'string.buffer' ~= nil, require 'table.new' ~= nil)");
  CHECK(f.lines == TextLines{"opened\ttrue\ttrue\ttrue\ttrue\ttrue"});
}

TEST_CASE("a C++ exception in a binding is a Lua error with its text and the caller's line") {
  VmFixture f;
  add(f, "throws", guarded<throws>);
  CHECK_THAT(f.error_of("\nthrows('disk')"), Contains("rank 3: job.lua:2: no disk\nstack traceback:"));
  f.run("print(pcall(throws, 'paper'))");
  CHECK_THAT(f.lines[0], Equals("false\tno paper"));
}

TEST_CASE("a Lua error runs the destructors of the C++ frames it passes") {
  VmFixture f;
  add(f, "raises", guarded<raises_over_destructor>);
  unwound = false;
  CHECK_THAT(f.error_of("raises()"), Contains("raised"));
  CHECK(unwound);
}

TEST_CASE("an engine's failure keeps its code unless the script catches it") {
  VmFixture f;
  add(f, "barrier", guarded<loses_peer>);
  CHECK_THAT(f.error_of("\n\nbarrier()"), Contains("job.lua:3: barrier: rank 2 is gone"));
  CHECK(f.code == Code::peer_lost);
  CHECK_THAT(f.error_of("pcall(barrier) error('own')"), Contains("own"));
  CHECK(f.code == Code::script);
}

TEST_CASE("an error in a callback passes the engine call with one traceback and one rank") {
  VmFixture f;
  add(f, "calls_back", guarded<calls_back>);
  const std::string message = f.error_of("calls_back(function()\n  error('in the callback')\nend)");
  CHECK_THAT(message, Contains("job.lua:2: in the callback"));
  CHECK(message.find("stack traceback") == message.rfind("stack traceback"));
  CHECK(message.find("rank 3: ") == message.rfind("rank 3: "));
  f.run("print(coroutine.wrap(function() return calls_back(function() return 'from a coroutine' end) end)())");
  CHECK(f.lines == TextLines{"from a coroutine"});
}

TEST_CASE("call through a reference returns results and restores the stack after a failure") {
  VmFixture f;
  lua_State* L = f.vm->state();
  REQUIRE(f.vm->load("local a, b = ... if not b then error('no b') end return a + b, 'sum'", "@add.lua").ok());
  LuaRef add_function = LuaRef::pop(L);
  add_function.push(L);
  lua_pushinteger(L, 2);
  lua_pushinteger(L, 3);
  REQUIRE(f.vm->call(2, 2).ok());
  CHECK(lua_tointeger(L, -2) == 5);
  lua_pop(L, 2);
  add_function.push(L);
  lua_pushinteger(L, 2);
  CHECK_THAT(f.vm->call(1, 2).error().message, Contains("rank 3: add.lua:1: no b"));
  CHECK(lua_gettop(L) == 0);
}

TEST_CASE("a wrong argument names the argument, the types and the caller's line") {
  VmFixture f;
  add(f, "run", guarded<checks>);
  CHECK(f.first_line_of_error("\nrun('x')") ==
        "rank 3: job.lua:2: bad argument 'steps' to param.run: expected number, got string");
  CHECK(f.first_line_of_error("run(1)") ==
        "rank 3: job.lua:1: bad argument 'name' to param.run: expected string, got nil");
  CHECK(f.first_line_of_error("run(1.5)") ==
        "rank 3: job.lua:1: bad argument 'steps' to param.run: expected an integer from 0 to 10, got 1.5");
}

TEST_CASE("reading an undefined global or making one inside a function is an error with its name and line") {
  VmFixture f;
  CHECK(f.first_line_of_error("\nlocal x = counter") == "rank 3: job.lua:2: undefined global 'counter'");
  CHECK_THAT(f.first_line_of_error("local function f()\n  total = 1\nend\nf()"),
             Contains("rank 3: job.lua:2: assignment to undeclared global 'total' inside a function"));
  f.run("top = 1 empty = nil\nlocal function f() top = top + 1 empty = 5 end f() print(top, empty)");
  CHECK(f.lines == TextLines{"2\t5"});
}

TEST_CASE("a script cannot end the process") {
  VmFixture f;
  CHECK_THAT(f.error_of("os.exit(0)"), Contains("job.lua:1: os.exit would end every node"));
}

TEST_CASE("actor.ffi returns the FFI table of a module") {
  actorhost::ManualClock clock(17.5);
  actorhost::VmConfig config;
  config.clock = &clock;
  VmFixture f(std::move(config));
  f.run("print(require('actor').now(), require('actor.ffi')('core') == require('actor.ffi')('core'))");
  CHECK(f.lines == TextLines{"17.5\ttrue"});
  CHECK_THAT(f.error_of("require('actor.ffi')('nothing')"),
             Contains("job.lua:1: actor.ffi: there is no FFI module 'nothing'"));
}

TEST_CASE("log lines have the rank, are formatted, and are dropped below the level") {
  VmFixture f;
  f.run(
      "local log = require('actor').log log.info('step %d of %s', 3, 'ten') log.debug('hidden') log.warn({} "
      "~= nil, 2)");
  CHECK(f.log_lines == TextLines{"rank 3: step 3 of ten", "rank 3: true 2"});
}

TEST_CASE("a node's identity is an error without a node, and the host's module provides it with a node") {
  VmFixture f;
  CHECK_THAT(f.error_of("print(require('actor').rank)"),
             Contains("job.lua:1: actor.rank: this Lua state is not a node"));
  CHECK_THAT(f.error_of("print(require('actor').nonsense)"), Contains("job.lua:1: there is no actor.nonsense"));
  f.vm->register_module("actor.c.node", [](lua_State* L) {
    lua_newtable(L);
    lua_pushinteger(L, 3);
    lua_setfield(L, -2, "rank");
    return 1;
  });
  f.vm->register_module("actor.c.collective", [](lua_State* L) {
    lua_newtable(L);
    return 1;
  });
  f.run("print(require('actor').rank, require('actor').shard)");
  CHECK(f.lines == TextLines{"3\tnil"});
}
