#pragma once
// What the VMs of one process share beyond the cluster. Each member guards itself.

#include "bindings/console.hpp"

namespace actorhost {

struct ProcessShared {
  Console console;
};

}  // namespace actorhost
