#include "bindings/vm/lua_codec.hpp"

#include <cstring>

#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/value_walker.hpp"
#include "host/base/task_scheduler.hpp"
#include "host/wire/value_bytes.hpp"

namespace actorhost {

namespace {

const char kStateKey = 0;  // its address is the registry key of the CodecState

// --- encoding ---

constexpr size_t kPlainItems = 32;  // shortest array for which the check for plain values pays off
constexpr int kPlainStack = 8;

struct TableSize {
  uint32_t items = 0;
  uint32_t pairs = 0;
};

class Encoder : private ValueWalker {
 public:
  Encoder(lua_State* L, const char* name, const ValueLimits& limits) : ValueWalker(L, name, limits) {
    bytes_.reserve(256);
    lua_pushnil(L);  // replaced by the array of tensors when there is a tensor
    tensors_at_ = lua_gettop(L);
  }

  Result<EncodedValue> encode(int index) {
    lua_pushvalue(L_, index);
    const bool done = value();
    lua_settop(L_, tensors_at_);
    if (done && bytes_.size() <= limits_.bytes) return EncodedValue{std::move(bytes_), tensors_};
    lua_settop(L_, tensors_at_ - 1);
    if (done)
      refuse("takes " + std::to_string(bytes_.size()) + " bytes, the limit is " + std::to_string(limits_.bytes));
    return error();
  }

 private:
  // Each function encodes the value on top of the stack and leaves it there.
  bool value();
  bool table();
  bool pair(TableSize& size);
  bool plain_array();
  bool key(int index);
  bool tensor();
  void text(int index);

  std::string bytes_;
  uint32_t tensors_ = 0;
  int tensors_at_ = 0;
};

void Encoder::text(int index) {
  size_t size = 0;
  const char* text = lua_tolstring(L_, index, &size);
  value_writer::text(bytes_, {text, size});
}

bool Encoder::value() {
  switch (kind_of_top()) {
    case ValueKind::nil: value_writer::nil(bytes_); return true;
    case ValueKind::boolean: value_writer::boolean(bytes_, lua_toboolean(L_, -1) != 0); return true;
    case ValueKind::number: value_writer::number(bytes_, lua_tonumber(L_, -1)); return true;
    case ValueKind::string: text(-1); return true;
    case ValueKind::int64:
      value_writer::whole(bytes_, *static_cast<const int64_t*>(lua_topointer(L_, -1)));
      return true;
    case ValueKind::uint64:
      value_writer::natural(bytes_, *static_cast<const uint64_t*>(lua_topointer(L_, -1)));
      return true;
    case ValueKind::tensor: return tensor();
    case ValueKind::table: return table();
    case ValueKind::refused: break;
  }
  return false;
}

bool Encoder::tensor() {
  if (tensors_ == 0) {
    lua_newtable(L_);
    lua_replace(L_, tensors_at_);
  }
  lua_pushvalue(L_, -1);
  if (state_.encode_tensor != LUA_NOREF && !call_hook(state_.encode_tensor, "encode")) return false;
  lua_rawseti(L_, tensors_at_, static_cast<int>(tensors_) + 1);
  value_writer::tensor(bytes_, tensors_++);
  return true;
}

bool Encoder::key(int index) {
  switch (lua_type(L_, index)) {
    case LUA_TSTRING: text(index); return true;
    case LUA_TNUMBER: value_writer::number(bytes_, lua_tonumber(L_, index)); return true;
    case LUA_TBOOLEAN: value_writer::boolean(bytes_, lua_toboolean(L_, index) != 0); return true;
    default: return refuse_key(index);
  }
}

// Encodes the array on top of the stack by LuaJIT's encoder if a compiled loop finds only plain values in it. Otherwise
// writes nothing and returns false; the walk below then finds the position of the other value.
bool Encoder::plain_array() {
  if (state_.plain == LUA_NOREF) {
    lua_getglobal(L_, "require");
    lua_pushliteral(L_, "actor.codec.plain");
    if (lua_pcall(L_, 1, 1, 0) != 0) {
      lua_pop(L_, 1);
      return false;
    }
    state_.plain = luaL_ref(L_, LUA_REGISTRYINDEX);
  }
  if (lua_checkstack(L_, kPlainStack) == 0) return false;
  const int at = lua_gettop(L_);
  lua_rawgeti(L_, LUA_REGISTRYINDEX, state_.plain);
  lua_pushvalue(L_, at);
  lua_pushnumber(L_, depth_left());
  lua_pushnumber(L_, static_cast<double>(slots_left()));
  const bool plain = lua_pcall(L_, 3, 1, 0) == 0 && lua_type(L_, -1) == LUA_TNUMBER;
  if (plain) {
    const double left = lua_tonumber(L_, -1);
    lua_rawgeti(L_, LUA_REGISTRYINDEX, state_.encode);
    lua_pushvalue(L_, at);
    if (lua_pcall(L_, 1, 1, 0) == 0) {
      size_t size = 0;
      const char* text = lua_tolstring(L_, -1, &size);
      bytes_.append(text, size);
      set_slots_left(static_cast<uint64_t>(left));
      lua_settop(L_, at);
      return true;
    }
  }
  lua_settop(L_, at);
  return false;
}

// Encodes a table: leading keys 1, 2, 3 ... become array items, the other keys become pairs. A rehearsal encodes the
// pairs in key order, because the order of lua_next depends on when the state made the strings.
bool Encoder::table() {
  const bool ordered = TaskScheduler::installed() != nullptr;
  if (!ordered && lua_objlen(L_, -1) >= kPlainItems && plain_array()) return true;
  if (!enter_table()) return false;
  const int at = lua_gettop(L_);
  const size_t begin = value_writer::begin_table(bytes_);
  TableSize size;
  if (ordered) {
    std::vector<Key> keys;
    if (!collect_keys(keys)) return false;
    for (const Key& key : keys) {
      push_pair(key, at);
      if (!pair(size)) return false;
      lua_pop(L_, 2);
    }
  } else {
    lua_pushnil(L_);
    while (lua_next(L_, at) != 0) {
      if (!count_slot() || !pair(size)) return false;
      lua_pop(L_, 1);
    }
  }
  value_writer::end_table(bytes_, begin, size.items, size.pairs);
  leave_table();
  return true;
}

// Encodes the key and the value on top of the stack.
bool Encoder::pair(TableSize& size) {
  const int key_at = lua_gettop(L_) - 1;  // a refused value leaves others above
  const bool item =
      size.pairs == 0 && lua_type(L_, key_at) == LUA_TNUMBER && lua_tonumber(L_, key_at) == size.items + 1.0;
  if (item) {
    ++size.items;
  } else {
    ++size.pairs;
    if (!key(key_at)) return false;
  }
  return value() || failed_below(key_at);
}

// --- decoding ---

bool is_complex(lua_State* L, const CodecState& state) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, state.is_type);
  lua_rawgeti(L, LUA_REGISTRYINDEX, state.complex_type);
  lua_pushvalue(L, -3);
  lua_call(L, 2, 1);
  const bool is = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return is;
}

// Inserts the tensors of the array at index 2 into the decoded value on top of the stack. Raises errors of hooks.
void place_tensors(lua_State* L, const CodecState& state) {
  constexpr int kCdata = LUA_TTHREAD + 2;
  const int type = lua_type(L, -1);
  if (type == kCdata && is_complex(L, state)) {
    double index = 0;
    std::memcpy(&index, lua_topointer(L, -1), sizeof index);
    lua_pop(L, 1);
    lua_rawgeti(L, 2, static_cast<int>(index) + 1);
    if (state.decode_tensor != LUA_NOREF) {
      lua_rawgeti(L, LUA_REGISTRYINDEX, state.decode_tensor);
      lua_insert(L, -2);
      lua_call(L, 1, 1);
    }
    return;
  }
  if (type != LUA_TTABLE) return;
  luaL_checkstack(L, 8, "value nested too deeply");
  const int at = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, at) != 0) {
    const int kind = lua_type(L, -1);
    if (kind == kCdata || kind == LUA_TTABLE) {
      place_tensors(L, state);
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, at);  // assigns an existing key, which lua_next allows
    } else {
      lua_pop(L, 1);
    }
  }
}

// decode(text, tensors or nil), run in a protected call.
int decode_protected(lua_State* L) {
  const CodecState& state = CodecState::of(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, state.decode);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  if (!lua_isnil(L, 2)) place_tensors(L, state);
  return 1;
}

uint32_t count_tensors(lua_State* L, int tensors) {
  return tensors != 0 && lua_istable(L, tensors) ? static_cast<uint32_t>(lua_objlen(L, tensors)) : 0;
}

// --- the module actor.c.codec ---

int codec_encode(lua_State* L) {
  auto encoded = encode_value(L, 1);
  if (!encoded.ok()) raise_at_user(L, encoded.error().message);
  lua_pushlstring(L, encoded->bytes.data(), encoded->bytes.size());
  lua_insert(L, -2);
  return 2;
}

int codec_decode(lua_State* L) {
  const std::string_view bytes = check_text(L, 1, "bytes", "codec.decode");
  if (!lua_isnoneornil(L, 2)) check_table(L, 2, "tensors", "codec.decode");
  const Status status = decode_value(L, bytes, lua_isnoneornil(L, 2) ? 0 : 2);
  return status.ok() ? 1 : push_failure(L, status.error());
}

int codec_hash(lua_State* L) {
  const auto hash = hash_value(L, 1);
  if (!hash.ok()) raise_at_user(L, hash.error().message);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(*hash));
  lua_pushstring(L, text);
  return 1;
}

void take_hook(lua_State* L, const char* name, int& ref) {
  lua_getfield(L, 1, name);
  luaL_unref(L, LUA_REGISTRYINDEX, ref);
  ref = LUA_NOREF;
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
  } else {
    ref = luaL_ref(L, LUA_REGISTRYINDEX);
  }
}

int codec_register_tensor(lua_State* L) {
  check_table(L, 1, "hooks", "codec.register_tensor");
  CodecState& state = CodecState::of(L);
  take_hook(L, "is", state.is_tensor);
  take_hook(L, "encode", state.encode_tensor);
  take_hook(L, "decode", state.decode_tensor);
  take_hook(L, "hash", state.hash_tensor);
  return 0;
}

int take_type(lua_State* L, int ffi, const char* name) {
  lua_getfield(L, ffi, "typeof");
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
  return luaL_ref(L, LUA_REGISTRYINDEX);
}

void require(lua_State* L, const char* name) {
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
}

}  // namespace

CodecState& CodecState::of(lua_State* L) {
  lua_pushlightuserdata(L, const_cast<char*>(&kStateKey));
  lua_rawget(L, LUA_REGISTRYINDEX);
  auto* state = static_cast<CodecState*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return *state;
}

Result<EncodedValue> encode_value(lua_State* L, int index, const char* name, const ValueLimits& limits) {
  if (index < 0 && index > LUA_REGISTRYINDEX) index = lua_gettop(L) + 1 + index;
  return Encoder(L, name, limits).encode(index);
}

Status decode_value(lua_State* L, std::string_view bytes, int tensors, const ValueLimits& limits) {
  AH_TRY(check_value(bytes, count_tensors(L, tensors), limits));
  const bool has_tensors = count_tensors(L, tensors) > 0;
  if (has_tensors && tensors < 0) tensors = lua_gettop(L) + 1 + tensors;
  lua_pushcfunction(L, decode_protected);
  lua_pushlstring(L, bytes.data(), bytes.size());
  if (has_tensors) {
    lua_pushvalue(L, tensors);
  } else {
    lua_pushnil(L);
  }
  if (lua_pcall(L, 2, 1, 0) == 0) return {};
  const char* text = lua_tostring(L, -1);
  Error error{Code::bad_data, std::string("encoded value: ") + (text != nullptr ? text : "?")};
  lua_pop(L, 1);
  return error;
}

void open_codec(Vm& vm) {
  lua_State* L = vm.state();
  lua_pushlightuserdata(L, const_cast<char*>(&kStateKey));
  auto* state = new (lua_newuserdata(L, sizeof(CodecState))) CodecState();
  lua_rawset(L, LUA_REGISTRYINDEX);
  require(L, "string.buffer");
  lua_getfield(L, -1, "decode");
  state->decode = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_getfield(L, -1, "encode");
  state->encode = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pop(L, 1);
  require(L, "ffi");
  lua_getfield(L, -1, "istype");
  state->is_type = luaL_ref(L, LUA_REGISTRYINDEX);
  const int ffi = lua_gettop(L);
  state->int64_type = take_type(L, ffi, "int64_t");
  state->uint64_type = take_type(L, ffi, "uint64_t");
  state->complex_type = take_type(L, ffi, "complex");
  lua_pop(L, 1);
  static constexpr luaL_Reg kFunctions[] = {
      {"encode", guarded<codec_encode>},
      {"decode", guarded<codec_decode>},
      {"hash", guarded<codec_hash>},
      {"register_tensor", guarded<codec_register_tensor>},
  };
  vm.register_module("actor.c.codec", open_functions<kFunctions>);
}

}  // namespace actorhost
