#pragma once
// The C and FFI modules of every Vm. List a new module in bindings/modules/standard_modules.cpp.

namespace actorhost {

class Vm;

/// Called once by Vm::create inside a protected call; may raise Lua errors.
void open_standard_modules(Vm& vm);

/// The C side of actor, actor.log, actor.rng and actor.ffi: "actor.c.core" (arguments, version, log) and the FFI table
/// "core" (clock, random numbers; ffi_core.h).
void open_core(Vm& vm);
/// "actor.c.files": operations on files and folders that Lua's io lacks.
void open_files(Vm& vm);
/// "actor.c.owner" behind `ctx.owns`: divides keys among workers by rendezvous hashing.
void open_owner(Vm& vm);

}  // namespace actorhost
