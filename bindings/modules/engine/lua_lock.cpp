#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/modules/engine/carried_values.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/engine/param_values.hpp"
#include "bindings/modules/tool/console_runner.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/base/non_copyable.hpp"
#include "host/engine/share/lock_client.hpp"

namespace actorhost {

namespace {

constexpr const char* kLockModule = "actor.lock";
constexpr int64_t kMaxId = int64_t{1} << 53;  // largest exact whole number in Lua

struct LockModule {
  LockClient client;
  uint32_t handle = 0;  // of the newest lock; valid while the client holds this lock
};

LockModule& module_of(lua_State* L) { return RegistryObject<LockModule>::find(L, kLockModule); }
LockService& service_of(lua_State* L) { return NodeContext::of(L).shared.courier->locks; }

std::optional<double> timeout_at(lua_State* L, int index, const char* function) {
  if (lua_isnoneornil(L, index)) return std::nullopt;
  return check_number(L, index, "timeout", function);
}

/// "'a', 3 and 4 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 3;
  std::string out;
  for (size_t i = 0; i < names.size() && i < kNamed; ++i) out += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kNamed) out += " and " + std::to_string(names.size() - kNamed) + " more";
  return out;
}

/// The module, if the handle at `index` holds the lock; otherwise raises.
LockModule& held_at(lua_State* L, int index, const char* function) {
  LockModule& module = module_of(L);
  const int64_t handle = check_integer(L, index, "handle", function, 0, UINT32_MAX);
  if (!module.client.holds() || handle != module.handle) {
    raise_at_user(L, std::string(function) + ": this lock has been released");
  }
  return module;
}

/// Adds the keys of the array at `index` to `wanted`. Returns a message on failure.
std::optional<std::string> read_keys(lua_State* L, int index, LockClient::Wanted& wanted) {
  std::vector<std::string> names;
  const int count = static_cast<int>(lua_objlen(L, index));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(L, index, i);
    auto key = param_key_at(L, -1, "lock: key " + std::to_string(i));
    lua_pop(L, 1);
    if (!key) return key.error().message;
    names.push_back(key->print());
    wanted.keys.push_back(key->canonical());
  }
  wanted.name = listed(names);
  return std::nullopt;
}

/// acquire(keys, timeout) -> handle; or nil, message, code
int acquire(lua_State* L) {
  refuse_alone(L, "collective.lock");
  check_table(L, 1, "keys", "collective.lock");
  LockModule& module = module_of(L);
  LockClient::Wanted wanted;
  wanted.timeout = timeout_at(L, 2, "collective.lock");
  if (const auto wrong = read_keys(L, 1, wanted)) raise_at_user(L, *wrong);
  wanted.where = user_position(L);
  auto got = module.client.lock(std::move(wanted));
  if (!got) return push_or_raise(L, got.error());
  return push(L, ++module.handle);
}

/// Releases a lock without new values, also when a Lua error passes.
class GiveLockBack : private NonCopyable {
 public:
  explicit GiveLockBack(LockModule& module) : module_(module), handle_(module.handle) {}
  ~GiveLockBack() {
    if (armed_ && module_.handle == handle_) (void)module_.client.release({});
  }
  void disarm() noexcept { armed_ = false; }

 private:
  LockModule& module_;
  uint32_t handle_;
  bool armed_ = true;
};

/// under(handle, fn, ...) -> the results of fn(...). Then releases the lock. An error of fn also releases
/// the lock and passes unchanged. fn must not yield past this call.
int under(lua_State* L) {
  const GiveLockBack give_back(held_at(L, 1, "collective.lock"));
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

/// release(handle): releases the lock
int lock_release(lua_State* L) {
  expect(L, held_at(L, 1, "release").client.release({}));
  return 0;
}

// ---- shared partitions ----

SharedPart part_at(lua_State* L, int table, int id, const char* function) {
  SharedPart part;
  part.table = static_cast<uint32_t>(check_integer(L, table, "table", function, 0, UINT32_MAX));
  part.id = check_integer(L, id, "id", function, -kMaxId, kMaxId);
  return part;
}

/// shared_publish(table, id, value): publishes a copy of any value that the codec accepts
int shared_publish(lua_State* L) {
  const SharedPart part = part_at(L, 1, 2, "shared_publish");
  auto value = pack_value_at(L, 3, "shared_publish");
  if (!value) raise_at_user(L, value.error().message);
  service_of(L).publish(part, NodeContext::of(L).node.index(), std::move(*value));
  return 0;
}

/// shared_withdraw(table): removes all values of the table that this node has published
int shared_withdraw(lua_State* L) {
  const int64_t table = check_integer(L, 1, "table", "shared_withdraw", 0, UINT32_MAX);
  service_of(L).withdraw_table(static_cast<uint32_t>(table), NodeContext::of(L).node.index());
  return 0;
}

/// shared_read(table, id) -> the newest value, read without a lock; nil if no node of this process has published a
/// value
int shared_read(lua_State* L) {
  auto value = service_of(L).read(part_at(L, 1, 2, "shared_read"));
  if (value) {
    expect(L, push_packed(L, std::move(*value)));
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/// Reads one entry of the arrays of ids and ranks. Returns a message on failure.
std::optional<std::string> read_part(lua_State* L, int i, uint32_t table, LockClient::Wanted& wanted) {
  const auto& workers = NodeContext::of(L).node.membership().workers();
  lua_rawgeti(L, 2, i);
  lua_rawgeti(L, 3, i);
  const double id = lua_tonumber(L, -2);
  const double rank = lua_tonumber(L, -1);
  const bool numbers = lua_type(L, -2) == LUA_TNUMBER && lua_type(L, -1) == LUA_TNUMBER;
  lua_pop(L, 2);
  const std::string which = "shared_lock: entry " + std::to_string(i);
  if (!numbers || !(id >= -static_cast<double>(kMaxId) && id <= static_cast<double>(kMaxId)) ||
      id != static_cast<double>(static_cast<int64_t>(id))) {
    return which + ": expected an integer id and a rank";
  }
  if (!(rank >= 0 && rank < static_cast<double>(workers.size()))) return which + ": no such rank";
  wanted.parts.push_back({{table, static_cast<int64_t>(id)}, workers[static_cast<size_t>(rank)].id});
  return std::nullopt;
}

std::optional<std::string> read_wanted_parts(lua_State* L, LockClient::Wanted& wanted) {
  const auto table = static_cast<uint32_t>(check_integer(L, 1, "table", "shared_lock", 0, UINT32_MAX));
  const int count = static_cast<int>(lua_objlen(L, 2));
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) {
    if (auto wrong = read_part(L, i, table, wanted)) return wrong;
    names.push_back(std::to_string(wanted.parts.back().part.id));
  }
  wanted.name = (count == 1 ? "id " : "ids ") + listed(names) + " of table " + std::to_string(table);
  return std::nullopt;
}

/// shared_lock(table, ids, owner ranks, timeout, adding) -> handle, the newest values in the order of ids; or nil,
/// message, code. With `adding` several holders may have the lock at the same time; they release it with tensors, which
/// are added.
int shared_lock(lua_State* L) {
  refuse_alone(L, "the lock of a table");
  check_table(L, 2, "ids", "shared_lock");
  check_table(L, 3, "owners", "shared_lock");
  LockModule& module = module_of(L);
  LockClient::Wanted wanted;
  wanted.timeout = timeout_at(L, 4, "shared_lock");
  if (lua_toboolean(L, 5) != 0) wanted.access = SharedAccess::adding;
  if (const auto wrong = read_wanted_parts(L, wanted)) raise_at_user(L, *wrong);
  wanted.where = user_position(L);
  auto values = module.client.lock(std::move(wanted));
  if (!values) return push_or_raise(L, values.error());
  const auto handle = static_cast<lua_Integer>(++module.handle);
  GiveLockBack give_back(module);
  lua_pushinteger(L, handle);
  push_list(L, *values, [&](auto& value) { expect(L, push_packed(L, std::move(value))); });
  give_back.disarm();
  return 2;
}

/// shared_under(handle, fn, ...) -> the results of fn(...), with the lock still held; when fn raises, releases the lock
/// without new values
int shared_under(lua_State* L) {
  GiveLockBack give_back(held_at(L, 1, "shared_under"));
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  give_back.disarm();
  return lua_gettop(L) - 1;
}

/// The values of the array at `index`, without nils.
Result<SharedWrites> read_writes(lua_State* L, int index, size_t count) {
  SharedWrites writes;
  for (uint32_t i = 0; i < count; ++i) {
    lua_rawgeti(L, index, static_cast<int>(i) + 1);
    if (!lua_isnil(L, -1)) {
      AH_LET(auto value, pack_value_at(L, lua_gettop(L), "shared_release: value " + std::to_string(i + 1)));
      writes.emplace_back(i, std::move(value));
    }
    lua_pop(L, 1);
  }
  return writes;
}

/// shared_release(handle, new values): values in the order of the ids; nil keeps the old value. The next holder of the
/// lock sees the new values.
int shared_release(lua_State* L) {
  GiveLockBack give_back(held_at(L, 1, "shared_release"));
  LockModule& module = module_of(L);
  if (lua_isnoneornil(L, 2)) return 0;
  check_table(L, 2, "values", "shared_release");
  auto writes = read_writes(L, 2, module.client.parts());
  if (!writes) raise_at_user(L, writes.error().message);
  give_back.disarm();
  expect(L, module.client.release(std::move(*writes)));
  return 0;
}

int open_lock(lua_State* L) {
  const NodeContext& context = NodeContext::of(L);
  CourierWithTasks& here = *context.shared.courier;
  RegistryObject<LockModule>::store(
      L, kLockModule, std::shared_ptr<LockModule>(new LockModule{{context.node, here.courier, here.locks}}));
  static const luaL_Reg kFunctions[] = {
      {"acquire", guarded<acquire>},
      {"under", guarded<under>},
      {"release", guarded<lock_release>},
      {"shared_publish", guarded<shared_publish>},
      {"shared_withdraw", guarded<shared_withdraw>},
      {"shared_read", guarded<shared_read>},
      {"shared_lock", guarded<shared_lock>},
      {"shared_under", guarded<shared_under>},
      {"shared_release", guarded<shared_release>},
  };
  return push_functions(L, kFunctions);
}

}  // namespace

void open_lock(Vm& vm) { vm.register_module("actor.c.lock", open_lock); }

}  // namespace actorhost
