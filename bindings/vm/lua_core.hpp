#pragma once
// The C side of actor, actor.log, actor.rng and actor.ffi: "actor.c.core" (arguments, version, log) and the
// FFI table "core" (clock, random numbers; ffi_core.h).

namespace actorhost {

class Vm;

void open_core(Vm& vm);

}  // namespace actorhost
