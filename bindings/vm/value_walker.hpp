#pragma once
// The shared part of the encoder and the hasher of Lua values: it checks types, limits and cycles and builds the path
// of a refused value. A walker serves one call on the Vm's thread. Only `kind_of_top` knows how to recognise a tensor.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lua.hpp>

#include "host/base/result.hpp"
#include "host/wire/value_check.hpp"

namespace actorhost {

/// Registry references of one Vm's codec; stored in the registry itself.
struct CodecState {
  int decode = LUA_NOREF;  // of string.buffer
  int encode = LUA_NOREF;
  int plain = LUA_NOREF;    // actor.codec.plain, loaded on first use
  int is_type = LUA_NOREF;  // ffi.istype and its type arguments
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
  /// The kind of the value on top of the stack; records the reason of `refused`.
  ValueKind kind_of_top();
  /// Whether the walk may enter the table on top: no metatable, no cycle, not too deep, enough stack space.
  bool enter_table();
  void leave_table() { ancestors_.pop_back(); }
  /// Counts a table, item or pair.
  bool count_slot();
  uint64_t slots_left() const { return slots_; }
  void set_slots_left(uint64_t slots) { slots_ = slots; }
  uint32_t depth_left() const { return limits_.depth - static_cast<uint32_t>(ancestors_.size()); }
  struct Key {
    int order;  // number, string, boolean
    double number;
    std::string_view text;  // the table keeps the string alive

    friend bool operator<(const Key& a, const Key& b) {
      if (a.order != b.order) return a.order < b.order;
      return a.order == 1 ? a.text < b.text : a.number < b.number;
    }
  };
  /// Appends the keys of the table on top in order, and counts the pairs. False for a refused key.
  bool collect_keys(std::vector<Key>& keys);
  /// Pushes the key and its value in the table at `table`.
  void push_pair(const Key& key, int table);
  /// Prepends the key at stack index `index` to the path of a failure. Returns false.
  bool failed_below(int index);
  /// Records why the key is refused. Returns false.
  bool refuse_key(int index);
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  /// Calls the referenced function with the value on top, which the result replaces. Returns false if the function
  /// raised.
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
  int cycle_to_ = -1;  // number of path pieces to the ancestor that closes a cycle
};

}  // namespace actorhost
