#include "bindings/standard_modules.hpp"

#include "bindings/barrier_api.hpp"
#include "bindings/lua_codec.hpp"
#include "bindings/lua_core.hpp"
#include "bindings/lua_data.hpp"
#include "bindings/lua_files.hpp"
#include "bindings/lua_filter.hpp"
#include "bindings/lua_sim.hpp"
#include "bindings/lua_tensor.hpp"

namespace actorhost {

void open_standard_modules(Vm& vm) {
  open_core(vm);
  open_tensor(vm);
  open_data(vm);
  open_barrier(vm);
  open_codec(vm);
  open_files(vm);
  open_filter(vm);
  open_sim(vm);
}

}  // namespace actorhost
