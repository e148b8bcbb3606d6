#pragma once
// A Lua value or a tensor on its way between nodes, as the bindings pack it: the engine carries it and looks into
// neither part. A Blob that is shared is read-only.

#include <string>

#include "host/base/blob.hpp"

namespace actorhost {

struct PackedValue {
  std::string head;  // small: what the body is
  Blob body;
};

}  // namespace actorhost
