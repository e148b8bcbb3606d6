#pragma once
// The functions behind ffi_linalg.h. Stateless; on any Vm's thread.

#include "bindings/modules/array/ffi_linalg.h"

namespace actorhost {

extern const ah_linalg_api kLinalgApi;

}  // namespace actorhost
