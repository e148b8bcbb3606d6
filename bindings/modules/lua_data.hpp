#pragma once
// The C side of actor.data: the FFI table "data" (ffi_data.h) and the module "actor.c.data", which reads files into
// tensors and shared rows. On the Vm's thread only.

namespace actorhost {

class DataCache;
class Vm;

/// Called by open_standard_modules. The Vm gets a cache of its own.
void open_data(Vm& vm);

/// Makes `vm` take data sets from `cache`, which it shares with the other Vms of the process and which outlives it.
void share_data(Vm& vm, DataCache& cache);

/// actor.text: the FFI table "text" (ffi_text.h) and the module "actor.c.text". Called by open_standard_modules.
void open_text(Vm& vm);

}  // namespace actorhost
