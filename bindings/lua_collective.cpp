#include "bindings/lua_collective.hpp"

#include <memory>
#include <string>

#include "bindings/lua_support.hpp"
#include "bindings/lua_tensor.hpp"
#include "bindings/node_context.hpp"
#include "host/engine/collective_plain.hpp"

namespace actorhost {

namespace {

constexpr const char* kEngine = "actor.collective";

/// One engine for each Vm, so that its calls are numbered.
PlainCollective& engine_of(lua_State* L) { return Kept<PlainCollective>::find(L, kEngine); }

/// A lost peer or a passed timeout is an expected failure; everything else is raised.
int failure(lua_State* L, const Error& error) {
  if (error.code == Code::peer_lost || error.code == Code::timeout) return push_failure(L, error);
  raise_error(L, error);
}

double timeout_at(lua_State* L, int index, const char* function) {
  return lua_isnoneornil(L, index) ? kForever : check_number(L, index, "timeout", function);
}

/// barrier(timeout) -> true; or nil, message, code
int barrier(lua_State* L) {
  const double timeout = timeout_at(L, 1, "collective.barrier");
  if (auto passed = engine_of(L).barrier(user_position(L), timeout); !passed) return failure(L, passed.error());
  lua_pushboolean(L, 1);
  return 1;
}

/// allreduce(tensor, op, timeout) -> tensor; or nil, message, code
int allreduce(lua_State* L) {
  if (!is_tensor(L, 1)) raise_bad_argument(L, 1, "tensor", "collective.allreduce", "tensor");
  CollectiveOp op{};
  const std::string_view name = check_text(L, 2, "op", "collective.allreduce");
  if (!parse_collective_op(name, op)) {
    raise_at_user(L, "bad argument 'op' to collective.allreduce: expected one of sum, mean, min, max, prod, got '" +
                         std::string(name) + "'");
  }
  const double timeout = timeout_at(L, 3, "collective.allreduce");
  TensorValue value = tensor_at(L, 1);
  const FlatTensor input{value.dtype, value.shape, std::move(value.bytes)};
  auto result = engine_of(L).allreduce(input, op, user_position(L), timeout);
  if (!result) return failure(L, result.error());
  push_tensor(L, TensorValue{std::move(result->data), result->dtype, std::move(result->shape)});
  return 1;
}

int open_collective(lua_State* L) {
  const NodeContext& context = NodeContext::of(L);
  Kept<PlainCollective>::keep(L, kEngine, std::make_shared<PlainCollective>(context.node));
  static const luaL_Reg kFunctions[] = {
      {"barrier", guarded<barrier>}, {"allreduce", guarded<allreduce>}, {nullptr, nullptr}};
  lua_newtable(L);
  luaL_register(L, nullptr, kFunctions);
  return 1;
}

}  // namespace

void register_collective_module(Vm& vm) { vm.register_module("actor.c.collective", open_collective); }

}  // namespace actorhost
