#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <xxhash.h>

#include "bindings/vm/lua_codec.hpp"
#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/value_walker.hpp"
#include "host/base/non_copyable.hpp"

// The hashed bytes, with tables in key order: numbers, then strings by bytes, then false and true.
//
//   value = 'z' | 'f' | 't' | 'n' f64 | 'i' i64 | 'u' u64 | 's' size:u64 bytes
//         | 'T' size:u64 text, the result of the tensor module's `hash`
//         | '{' size:u64 (key value)...
//
// -0 hashes as 0, and all NaNs hash as the same NaN.

namespace actorhost {

namespace {

class Hasher : private ValueWalker, private NonCopyable {
 public:
  Hasher(lua_State* L, const char* name, const ValueLimits& limits)
      : ValueWalker(L, name, limits), digest_(XXH64_createState()) {
    XXH64_reset(digest_, 0);
  }
  ~Hasher() { XXH64_freeState(digest_); }

  Result<uint64_t> hash(int index) {
    const int top = lua_gettop(L_);
    lua_pushvalue(L_, index);
    const bool done = value();
    lua_settop(L_, top);
    if (!done) return error();
    flush();
    return XXH64_digest(digest_);
  }

 private:
  bool value();
  bool table();
  bool tensor();
  void put_key(const Key& key);

  // Gathers small pieces: an update of the digest costs more than the copy.
  void put_bytes(const void* bytes, size_t size) {
    if (size > sizeof pending_ - used_) flush();
    if (size > sizeof pending_) {
      XXH64_update(digest_, bytes, size);
    } else if (size != 0) {
      std::memcpy(pending_ + used_, bytes, size);
      used_ += size;
    }
  }
  void flush() {
    XXH64_update(digest_, pending_, used_);
    used_ = 0;
  }
  void put(char tag, const void* bytes, size_t size) {
    put_bytes(&tag, 1);
    put_bytes(bytes, size);
  }
  void put_number(double number) {
    if (number == 0) number = 0;  // -0
    if (std::isnan(number)) number = std::numeric_limits<double>::quiet_NaN();
    put('n', &number, sizeof number);
  }
  void put_text(char tag, std::string_view text) {
    const uint64_t size = text.size();
    put(tag, &size, sizeof size);
    put_bytes(text.data(), text.size());
  }
  void put_text(char tag, int index) {
    size_t size = 0;
    const char* text = lua_tolstring(L_, index, &size);
    put_text(tag, {text, size});
  }

  XXH64_state_t* digest_;
  char pending_[1024];
  size_t used_ = 0;
};

bool Hasher::value() {
  switch (kind_of_top()) {
    case ValueKind::nil: put('z', nullptr, 0); return true;
    case ValueKind::boolean: put(lua_toboolean(L_, -1) != 0 ? 't' : 'f', nullptr, 0); return true;
    case ValueKind::number: put_number(lua_tonumber(L_, -1)); return true;
    case ValueKind::string: put_text('s', -1); return true;
    case ValueKind::int64: put('i', lua_topointer(L_, -1), 8); return true;
    case ValueKind::uint64: put('u', lua_topointer(L_, -1), 8); return true;
    case ValueKind::tensor: return tensor();
    case ValueKind::table: return table();
    case ValueKind::refused: break;
  }
  return false;
}

bool Hasher::tensor() {
  if (state_.hash_tensor == LUA_NOREF) return refuse("is a tensor, and the tensor module has registered no hash");
  lua_pushvalue(L_, -1);
  if (!call_hook(state_.hash_tensor, "hash")) return false;
  if (lua_isstring(L_, -1) == 0) return refuse("has a hash which is not a string");
  put_text('T', -1);
  lua_pop(L_, 1);
  return true;
}

void Hasher::put_key(const Key& key) {
  if (key.order == 0) {
    put_number(key.number);
  } else if (key.order == 1) {
    put_text('s', key.text);
  } else {
    put(key.number != 0 ? 't' : 'f', nullptr, 0);
  }
}

bool Hasher::table() {
  if (!enter_table()) return false;
  std::vector<Key> keys;
  if (!collect_keys(keys)) return false;
  const int at = lua_gettop(L_);
  const uint64_t count = keys.size();
  put('{', &count, sizeof count);
  for (const Key& key : keys) {
    put_key(key);
    push_pair(key, at);
    if (!value()) return failed_below(at + 1);
    lua_pop(L_, 2);
  }
  leave_table();
  return true;
}

}  // namespace

Result<uint64_t> hash_value(lua_State* L, int index, const char* name, const ValueLimits& limits) {
  if (index < 0 && index > LUA_REGISTRYINDEX) index = lua_gettop(L) + 1 + index;
  return Hasher(L, name, limits).hash(index);
}

}  // namespace actorhost
