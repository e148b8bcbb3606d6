#pragma once
// The version for C++ and Lua.

namespace actorhost {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace actorhost
