#pragma once
// The text of errors: an error value that is no text is shown by its contents, a traceback by the user's frames only.

#include <string>
#include <string_view>

struct lua_State;

namespace actorhost {

/// The error value at the bottom of the stack as text: texts and what has __tostring as they are, tables by their
/// contents in key order, a field `message` in front: "no room {code = 3}". For a message handler; the Vm's thread.
std::string error_text(lua_State* L);

/// `message` without the frames of C functions and of the standard library, and of files whose names begin with `ours`
/// where that is given; without any traceback where none is left. Any thread.
std::string user_traceback(const std::string& message, std::string_view ours = {});

}  // namespace actorhost
