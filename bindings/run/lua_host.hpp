#pragma once
// The Lua module "host": the functions that an embedding program has given (actorhost.hpp).

namespace actorhost {

class Vm;

/// Makes the module available in a node's Vm when the process has such functions.
void register_host_module(Vm& vm);

}  // namespace actorhost
