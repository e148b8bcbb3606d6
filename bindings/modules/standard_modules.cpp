#include "bindings/vm/standard_modules.hpp"

#include "bindings/modules/array/lua_data.hpp"
#include "bindings/modules/array/lua_tensor.hpp"
#include "bindings/modules/engine/barrier_api.hpp"
#include "bindings/modules/engine/lua_filter.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/lua_sim.hpp"
#include "bindings/vm/lua_codec.hpp"

namespace actorhost {

void open_standard_modules(Vm& vm) {
  open_core(vm);
  open_tensor(vm);
  open_nn(vm);
  open_data(vm);
  open_text(vm);
  open_barrier(vm);
  open_codec(vm);
  open_files(vm);
  open_filter(vm);
  open_owner(vm);
  open_sim(vm);
}

void open_node_modules(Vm& vm) {
  open_node(vm);
  open_collective(vm);
  open_average(vm);
  open_peer(vm);
  open_checkpoint(vm);
  open_lock(vm);
  open_events(vm);
  open_host(vm);
  open_program(vm);
  open_console(vm);
  open_param(vm);
  open_mapreduce(vm);
  open_series(vm);
}

}  // namespace actorhost
