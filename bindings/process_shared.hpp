#pragma once
// What the VMs of one process share beyond the cluster. `console` guards itself; `functions` does not change during a
// run.

#include <map>
#include <string>

#include "bindings/console.hpp"
#include "host/data/data_cache.hpp"
#include "bindings/include/actorhost.hpp"

namespace actorhost {

struct ProcessShared {
  Console console;
  DataCache data;
  std::map<std::string, Function> functions;  // of the embedding program, by name
};

}  // namespace actorhost
