#include "bindings/modules/param_options.hpp"

#include "bindings/modules/lua_filter.hpp"
#include "bindings/process/node_context.hpp"
#include "bindings/vm/lua_support.hpp"
#include "host/kernel/optimiser.hpp"

namespace actorhost {

namespace {

kernel::Decay decay_at(lua_State* L, int index) {
  using kernel::DecayKind;
  kernel::Decay out;
  const std::string kind = text_field(L, index, "kind");
  out.kind = kind == "step"           ? DecayKind::step
             : kind == "exponential"  ? DecayKind::exponential
             : kind == "inverse_time" ? DecayKind::inverse_time
             : kind == "cosine"       ? DecayKind::cosine
                                      : DecayKind::none;
  out.rate = number_field(L, index, "rate", out.rate);
  out.every = number_field(L, index, "every", out.every);
  out.floor = number_field(L, index, "floor", out.floor);
  return out;
}

/// An optimiser of actor.optim, which has checked its fields; the engine checks them again.
kernel::OptimiserSpec optimiser_at(lua_State* L, int index) {
  using kernel::OptimiserKind;
  kernel::OptimiserSpec out;
  const std::string kind = text_field(L, index, "kind");
  if (kind == "add") {
    out.kind = OptimiserKind::add;
  } else if (kind == "adagrad") {
    out.kind = OptimiserKind::adagrad;
  } else if (kind == "adam") {
    out.kind = OptimiserKind::adam;
  } else if (kind != "sgd") {
    raise_at_user(L, "param.run: pull has kind '" + kind + "', expected one of add, sgd, adagrad, adam (actor.optim)");
  }
  out.lr = number_field(L, index, "lr", out.lr);
  out.scale = number_field(L, index, "scale", out.scale);
  out.momentum = number_field(L, index, "momentum", out.momentum);
  out.weight_decay = number_field(L, index, "weight_decay", out.weight_decay);
  out.beta1 = number_field(L, index, "beta1", out.beta1);
  out.beta2 = number_field(L, index, "beta2", out.beta2);
  out.epsilon = number_field(L, index, "epsilon", out.epsilon);
  out.initial = number_field(L, index, "initial", out.initial);
  out.nesterov = boolean_field(L, index, "nesterov");
  lua_getfield(L, index, "decay");
  if (lua_istable(L, -1)) out.decay = decay_at(L, lua_gettop(L));
  lua_pop(L, 1);
  if (auto checked = kernel::check(out); !checked) raise_at_user(L, "param.run: pull: " + checked.error().message);
  return out;
}

}  // namespace

UpdateRule update_at(lua_State* L, int options) {
  UpdateRule out;
  lua_getfield(L, options, "pull");
  if (lua_isfunction(L, -1)) {
    out.kind = UpdateRule::Kind::lua;
  } else if (lua_istable(L, -1)) {
    out = UpdateRule::native(optimiser_at(L, lua_gettop(L)));
  }
  lua_pop(L, 1);
  return out;
}

MergePolicy merge_at(lua_State* L, int options) {
  MergePolicy out;
  lua_getfield(L, options, "merge");
  const int index = lua_gettop(L);
  const std::string kind = text_field(L, index, "kind");
  if (kind == "drop") out.kind = MergePolicy::Kind::drop;
  if (kind == "buffer") out.kind = MergePolicy::Kind::buffer;
  if (kind == "scale") out.kind = MergePolicy::Kind::scale;
  if (kind == "mean") out.kind = MergePolicy::Kind::mean;
  out.later_than = static_cast<uint64_t>(number_field(L, index, "later_than", 0));
  out.k = static_cast<uint32_t>(number_field(L, index, "k", 1));
  out.exponent = number_field(L, index, "exponent", 1);
  lua_pop(L, 1);
  return out;
}

CheckpointPlan checkpoint_at(lua_State* L, int options, std::string& directory) {
  CheckpointPlan plan;
  const RunOptions& flags = NodeContext::of(L).options;
  directory = flags.checkpoint;
  lua_getfield(L, options, "checkpoint");
  if (lua_istable(L, -1)) {
    const int index = lua_gettop(L);
    plan.steps = static_cast<uint64_t>(number_field(L, index, "steps", 0));
    plan.seconds = number_field(L, index, "seconds", 0);
    if (directory.empty()) directory = text_field(L, index, "dir");
    if (directory.empty()) directory = "checkpoints";
  } else if (!directory.empty()) {
    plan.seconds = 30;
  }
  lua_pop(L, 1);
  return plan;
}

ParamFilterSpecs filters_at(lua_State* L, int options) {
  ParamFilterSpecs out;
  lua_getfield(L, options, "filter");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "push");
    lua_getfield(L, -2, "pull");
    out.push = filter_at(L, lua_gettop(L) - 1);
    out.pull = filter_at(L, lua_gettop(L));
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
  return out;
}

}  // namespace actorhost
