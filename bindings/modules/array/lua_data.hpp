#pragma once
// The C side of actor.data: the FFI table "data" (ffi_data.h) and the module "actor.c.data", which reads files into
// tensors and shared rows. On the Vm's thread.

namespace actorhost {

class DataCache;
class Vm;

/// Called by open_standard_modules. Gives the Vm its own cache.
void open_data(Vm& vm);

/// Makes `vm` use `cache`, which it shares with the other Vms of the process; `cache` outlives the Vm.
void share_data(Vm& vm, DataCache& cache);

/// actor.text: the FFI table "text" (ffi_text.h) and the module "actor.c.text". Called by open_standard_modules.
void open_text(Vm& vm);

}  // namespace actorhost
