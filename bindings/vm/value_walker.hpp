#pragma once
// What encoding and hashing of Lua values share: which values may travel, the path to one that may not, cycles and
// limits. A walker lives for one call on the Vm's thread; `kind_of` is the only place that knows what a tensor is.

#include <cstdint>
#include <string>
#include <vector>

#include <lua.hpp>

#include "host/base/result.hpp"
#include "host/wire/value_check.hpp"

namespace actorhost {

/// Registry references of one Vm's codec; lives in the registry itself.
struct CodecState {
  int decode = LUA_NOREF;  // string.buffer's
  int encode = LUA_NOREF;
  int plain = LUA_NOREF;    // actor.codec.plain, once it was needed
  int is_type = LUA_NOREF;  // ffi.istype, and the types it is asked about
  int int64_type = LUA_NOREF;
  int uint64_type = LUA_NOREF;
  int complex_type = LUA_NOREF;
  int is_tensor = LUA_NOREF;  // given to register_tensor
  int encode_tensor = LUA_NOREF;
  int decode_tensor = LUA_NOREF;
  int hash_tensor = LUA_NOREF;

  static CodecState& of(lua_State* L);
};

enum class ValueKind { nil, boolean, number, string, table, int64, uint64, tensor, refused };

class ValueWalker {
 public:
  ValueWalker(lua_State* L, const char* name, const ValueLimits& limits)
      : L_(L), state_(CodecState::of(L)), name_(name), limits_(limits), slots_(limits.slots) {}

 protected:
  /// What the value on top of the stack is; explains `refused`.
  ValueKind kind_of_top();
  /// Whether the table on top may be entered: no metatable, no cycle, not too deep, stack space there.
  bool enter_table();
  void leave_table() { ancestors_.pop_back(); }
  /// Counts a table, item or pair.
  bool count_slot();
  uint64_t slots_left() const { return slots_; }
  void set_slots_left(uint64_t slots) { slots_ = slots; }
  uint32_t depth_left() const { return limits_.depth - static_cast<uint32_t>(ancestors_.size()); }
  /// Adds the key at stack index `index` to the path of a failure on its way out. Returns false.
  bool failed_below(int index);
  /// Explains a key that may not travel. Returns false.
  bool refuse_key(int index);
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  /// Calls the referenced function with the value on top; its result replaces the value. False when it raised.
  bool call_hook(int function, const char* what);
  Error error() const;

  lua_State* L_;
  CodecState& state_;
  const char* name_;
  ValueLimits limits_;

 private:
  ValueKind kind_of_special(int type);
  bool is_type(int type_ref);
  std::string path(size_t pieces) const;

  uint64_t slots_;
  std::vector<const void*> ancestors_;
  std::vector<std::string> pieces_;  // of the path, innermost first
  std::string reason_;
  int cycle_to_ = -1;  // how many pieces lead to the ancestor that a cycle comes back to
};

}  // namespace actorhost
