#pragma once
// actor.c.files: what Lua's io cannot tell of files and folders.

#include "bindings/vm/vm.hpp"

namespace actorhost {

void open_files(Vm& vm);

}  // namespace actorhost
