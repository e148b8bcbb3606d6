#pragma once
// Formats errors: the text of any Lua error value, and tracebacks with only the user's frames.

#include <string>
#include <string_view>

struct lua_State;

namespace actorhost {

/// The error value at the bottom of the stack as text. Strings and values with __tostring give their text; other tables
/// show their contents in key order behind a field `message`: "no room {code = 3}". For a message handler, on the Vm's
/// thread.
std::string error_text(lua_State* L);

/// `message` without the traceback frames of C functions, of the standard library and, if `ours` is given, of files
/// whose names begin with `ours`. Drops the traceback when no frame remains. Thread-safe.
std::string user_traceback(const std::string& message, std::string_view ours = {});

}  // namespace actorhost
