#include "bindings/vm/standard_modules.hpp"

#include "bindings/modules/barrier_api.hpp"
#include "bindings/modules/lua_data.hpp"
#include "bindings/modules/lua_filter.hpp"
#include "bindings/modules/lua_sim.hpp"
#include "bindings/modules/lua_tensor.hpp"
#include "bindings/vm/lua_codec.hpp"
#include "bindings/vm/lua_core.hpp"
#include "bindings/vm/lua_files.hpp"

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
