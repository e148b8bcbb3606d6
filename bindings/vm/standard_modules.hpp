#pragma once
// The list of C and FFI modules that every Vm has. A new binding adds its line in standard_modules.cpp.

namespace actorhost {

class Vm;

/// Called once by Vm::create inside a protected call; may raise Lua errors.
void open_standard_modules(Vm& vm);

}  // namespace actorhost
