#pragma once
// The C and FFI modules that every Vm has. A new one adds its line in bindings/modules/standard_modules.cpp.

namespace actorhost {

class Vm;

/// Called once by Vm::create inside a protected call; may raise Lua errors.
void open_standard_modules(Vm& vm);

/// The C side of actor, actor.log, actor.rng and actor.ffi: "actor.c.core" (arguments, version, log) and the FFI table
/// "core" (clock, random numbers; ffi_core.h).
void open_core(Vm& vm);
/// "actor.c.files": what Lua's io cannot tell of files and folders.
void open_files(Vm& vm);

}  // namespace actorhost
