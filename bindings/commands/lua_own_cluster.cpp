// actor.c.own_cluster: start(flags) -> cluster; cluster:pid(), cluster:output() -> text, cluster:ended(seconds) -> exit
// code or nil, cluster:stop().

#include <lua.hpp>

#include "bindings/commands/lua_command.hpp"
#include "bindings/commands/own_cluster.hpp"
#include "bindings/vm/lua_support.hpp"

namespace actorhost {

namespace {

constexpr const char* kClusterKind = "actor.c.own_cluster";

OwnCluster& cluster_at(lua_State* L) { return *object_at<OwnCluster>(L, 1, kClusterKind); }

int cluster_pid(lua_State* L) { return push(L, cluster_at(L).pid()); }

int cluster_output(lua_State* L) {
  const std::string text = cluster_at(L).output();
  return push(L, text);
}

int cluster_ended(lua_State* L) {
  const auto code = cluster_at(L).ended(check_number(L, 2, "seconds", "cluster:ended"));
  if (!code) return 0;
  return push(L, *code);
}

int cluster_stop(lua_State* L) {
  cluster_at(L).stop();
  return 0;
}

constexpr luaL_Reg kClusterMethods[] = {
    {"pid", guarded<cluster_pid>},
    {"output", guarded<cluster_output>},
    {"ended", guarded<cluster_ended>},
    {"stop", guarded<cluster_stop>},
};

int cluster_start(lua_State* L) {
  auto started = OwnCluster::start(check_texts(L, 1, "flags", "own_cluster.start"));
  if (!started) raise_error(L, started.error());
  push_object<OwnCluster>(L, kClusterKind, kClusterMethods) = std::make_unique<OwnCluster>(std::move(*started));
  return 1;
}

}  // namespace

void open_own_cluster(Vm& vm) {
  static constexpr luaL_Reg kFunctions[] = {{"start", guarded<cluster_start>}};
  vm.register_module(kClusterKind, open_functions<kFunctions>);
}

}  // namespace actorhost
