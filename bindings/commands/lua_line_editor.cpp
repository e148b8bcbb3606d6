// actor.c.line_editor: a prompt in a terminal. open(file, most) -> editor | nil, message, code; editor:read(prompt,
// complete, idle) -> line | nil, "interrupt" | "end" | "woken"; editor:remember(line) -> true | nil, message, code.

#include <lua.hpp>
#include <unistd.h>

#include "bindings/commands/line_editor.hpp"
#include "bindings/commands/lua_command.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

constexpr const char* kEditorKind = "actor.c.line_editor";

LineEditor& editor_of(lua_State* L) { return *object_at<LineEditor>(L, 1, kEditorKind); }

/// The text returned by a callback; empty for other values.
std::string returned_text(lua_State* L, int index) {
  size_t size = 0;
  const char* text = lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &size) : nullptr;
  return text != nullptr ? std::string(text, size) : std::string();
}

LineEditor::Completion call_complete(lua_State* L, std::string_view before, std::string_view after) {
  lua_pushvalue(L, 3);
  lua_pushlstring(L, before.data(), before.size());
  lua_pushlstring(L, after.data(), after.size());
  if (const Status called = Vm::from(L).call(L, 2, 2); !called) return {{}, called.error().message};
  LineEditor::Completion found{returned_text(L, -2), returned_text(L, -1)};
  lua_pop(L, 2);
  return found;
}

LineEditor::IdleResult call_idle(lua_State* L) {
  if (Vm::from(L).stop_requested()) return {{}, true};
  lua_pushvalue(L, 4);
  if (const Status called = Vm::from(L).call(L, 0, 2); !called) return {called.error().message, true};
  LineEditor::IdleResult result{returned_text(L, -2), lua_toboolean(L, -1) != 0};
  lua_pop(L, 2);
  return result;
}

int editor_read(lua_State* L) {
  static const char* const kOutcomes[] = {"line", "interrupt", "end", "woken"};
  LineEditor& editor = editor_of(L);
  const std::string prompt(check_text(L, 2, "prompt", "editor:read"));
  check_function(L, 3, "complete", "editor:read");
  check_function(L, 4, "idle", "editor:read");
  const LineEditor::Read read = editor.read(
      prompt, {[L](std::string_view before, std::string_view after) { return call_complete(L, before, after); },
               [L] { return call_idle(L); }});
  Vm::from(L).check_stop(L);
  if (read.outcome == LineEditor::Outcome::line) {
    return push(L, read.line);
  }
  lua_pushnil(L);
  lua_pushstring(L, kOutcomes[static_cast<int>(read.outcome)]);
  return 2;
}

int editor_remember(lua_State* L) {
  const Status saved = editor_of(L).remember(std::string(check_text(L, 2, "line", "editor:remember")));
  if (!saved) return push_failure(L, saved.error());
  return push(L, true);
}

constexpr luaL_Reg kEditorMethods[] = {{"read", guarded<editor_read>}, {"remember", guarded<editor_remember>}};

int editor_open(lua_State* L) {
  const std::string file(check_text(L, 1, "file", "line_editor.open"));
  const auto most = static_cast<size_t>(check_integer(L, 2, "most", "line_editor.open", 1, 1 << 20));
  auto opened = LineEditor::open(file, most);
  if (!opened) return push_failure(L, opened.error());
  push_object<LineEditor>(L, kEditorKind, kEditorMethods) = std::move(*opened);
  return 1;
}

// is_terminal(): whether standard input is a terminal.
int editor_is_terminal(lua_State* L) { return push(L, isatty(STDIN_FILENO) != 0); }

}  // namespace

void open_line_editor(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {{"open", guarded<editor_open>}, {"is_terminal", editor_is_terminal}};
  vm.register_module(kEditorKind, open_functions<kFunctions>);
}

}  // namespace actorhost
