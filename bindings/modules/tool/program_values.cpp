#include "bindings/modules/tool/program_values.hpp"

#include <cmath>
#include <utility>

#include "bindings/modules/array/lua_tensor.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/value_walker.hpp"

namespace actorhost {

namespace {

constexpr int kStackPerValue = 6;

/// Reads one value. The walk refuses the values that the codec refuses, with the same words.
class ProgramReader : private ValueWalker {
 public:
  ProgramReader(lua_State* L, const char* name) : ValueWalker(L, name, {}) {}

  Result<ProgramValue> read(int index) {
    const int top = lua_gettop(L_);
    lua_pushvalue(L_, index);
    ProgramValue out;
    const bool done = value(out);
    lua_settop(L_, top);
    if (!done) return error();
    return out;
  }

 private:
  bool value(ProgramValue& out);
  bool table(ProgramValue& out);
  bool key(ProgramValue& out);
};

/// The value on top of the stack, which stays there.
bool ProgramReader::value(ProgramValue& out) {
  if (is_tensor(L_, -1)) {  // the codec knows tensors only once the script has loaded the tensor module
    out.value = tensor_at(L_, lua_gettop(L_));
    return true;
  }
  switch (kind_of_top()) {
    case ValueKind::nil: return true;
    case ValueKind::boolean: out.value = lua_toboolean(L_, -1) != 0; return true;
    case ValueKind::number: out.value = lua_tonumber(L_, -1); return true;
    case ValueKind::int64: out.value = *static_cast<const int64_t*>(lua_topointer(L_, -1)); return true;
    case ValueKind::uint64: {
      const uint64_t number = *static_cast<const uint64_t*>(lua_topointer(L_, -1));
      if (number > INT64_MAX) return refuse("is a whole number above 2^63 - 1");
      out.value = static_cast<int64_t>(number);
      return true;
    }
    case ValueKind::string: {
      size_t size = 0;
      const char* text = lua_tolstring(L_, -1, &size);
      out.value = std::string(text, size);
      return true;
    }
    case ValueKind::table: return table(out);
    case ValueKind::tensor:
    case ValueKind::refused: break;
  }
  return false;
}

bool ProgramReader::key(ProgramValue& out) {
  const int type = lua_type(L_, -2);
  if (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TBOOLEAN) return refuse_key(-2);
  lua_pushvalue(L_, -2);
  const bool done = value(out);
  lua_pop(L_, 1);
  return done;
}

/// A table with the keys 1, 2, ... n and no other becomes a list, so does an empty table.
bool ProgramReader::table(ProgramValue& out) {
  if (!enter_table()) return false;
  const int at = lua_gettop(L_);
  const size_t length = lua_objlen(L_, at);
  ProgramValue::Map map;
  size_t pairs = 0;
  bool listed = true;
  lua_pushnil(L_);
  while (lua_next(L_, at) != 0) {
    ProgramValue name;
    ProgramValue item;
    if (!count_slot() || !key(name)) return false;
    if (!value(item)) return failed_below(at + 1);
    const double* number = std::get_if<double>(&name.value);
    listed = listed && number != nullptr && *number >= 1 && *number <= static_cast<double>(length) &&
             *number == std::floor(*number);
    map.items.push_back(std::move(name));
    map.items.push_back(std::move(item));
    ++pairs;
    lua_pop(L_, 1);
  }
  leave_table();
  if (!listed || pairs != length) {
    out.value = std::move(map);
    return true;
  }
  ProgramValue::List list(length);
  for (size_t i = 0; i < map.items.size(); i += 2) {
    list[static_cast<size_t>(std::get<double>(map.items[i].value)) - 1] = std::move(map.items[i + 1]);
  }
  out.value = std::move(list);
  return true;
}

/// Pushes a 64-bit integer: a number if it represents the integer, else an int64_t of the FFI.
void push_integer(lua_State* L, int64_t value) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (value >= -kExact && value <= kExact) return lua_pushnumber(L, static_cast<lua_Number>(value));
  lua_getglobal(L, "require");
  lua_pushliteral(L, "ffi");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "new");
  lua_pushliteral(L, "int64_t");
  lua_call(L, 1, 1);
  *static_cast<int64_t*>(const_cast<void*>(lua_topointer(L, -1))) = value;
  lua_remove(L, -2);
}

struct PushValue {
  lua_State* L;
  void operator()(std::monostate) const { lua_pushnil(L); }
  void operator()(bool value) const { lua_pushboolean(L, value ? 1 : 0); }
  void operator()(double value) const { lua_pushnumber(L, value); }
  void operator()(int64_t value) const { push_integer(L, value); }
  void operator()(const std::string& value) const { lua_pushlstring(L, value.data(), value.size()); }
  void operator()(const Tensor& value) const { push_tensor(L, value); }
  void operator()(const ProgramValue::List& value) const {
    push_list(L, value, [this](const ProgramValue& item) { push_program_value(L, item); });
  }
  void operator()(const ProgramValue::Map& value) const {
    lua_createtable(L, 0, static_cast<int>(value.items.size() / 2));
    for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
      push_program_value(L, value.items[i]);
      push_program_value(L, value.items[i + 1]);
      lua_rawset(L, -3);
    }
  }
};

ProgramCallPtr call_at(lua_State* L) {
  const auto& program = NodeContext::of(L).shared.program;
  return program ? program->find(static_cast<uint64_t>(lua_tonumber(L, 1))) : nullptr;
}

}  // namespace

Result<std::vector<ProgramValue>> program_values_at(lua_State* L, int first) {
  std::vector<ProgramValue> values;
  const int last = lua_gettop(L);
  for (int i = first; i <= last; ++i) {
    const std::string name = last == first ? "value" : "value " + std::to_string(i - first + 1);
    auto value = ProgramReader(L, name.c_str()).read(i);
    if (!value) return Error{Code::bad_argument, "a program cannot read this: " + value.error().message};
    values.push_back(std::move(*value));
  }
  return values;
}

void push_program_value(lua_State* L, const ProgramValue& value) {
  luaL_checkstack(L, kStackPerValue, "a value that is nested too deeply");
  std::visit(PushValue{L}, value.value);
}

int push_call_arguments(lua_State* L) {
  const ProgramCallPtr call = call_at(L);
  lua_settop(L, 0);
  if (!call) return 0;
  luaL_checkstack(L, static_cast<int>(call->arguments.size()), "too many arguments");
  for (const ProgramValue& argument : call->arguments) push_program_value(L, argument);
  return lua_gettop(L);
}

int give_call_values(lua_State* L) {
  const ProgramCallPtr call = call_at(L);
  if (!call) return 0;
  auto values = program_values_at(L, 2);
  if (!values) raise_at_user(L, values.error().message);
  call->give(NodeContext::of(L).node.rank().value_or(0), std::move(*values));
  return 0;
}

}  // namespace actorhost
