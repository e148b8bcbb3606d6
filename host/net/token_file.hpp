#pragma once
// The shared secret that every connection proves, kept in a file that only its owner may read. Made on first use, from
// the system's randomness; processes that are started together all end up with the same one. Any thread; blocks on the
// disk.

#include <string>
#include <string_view>

#include "host/base/result.hpp"

namespace actorhost {

/// A token of fewer characters is refused; a token made here has 64 (32 random bytes in hex).
inline constexpr size_t kMinTokenLength = 16;

/// Where the token is unless --token-file says otherwise: XDG_CONFIG_HOME/actorhost/token, or
/// HOME/.config/actorhost/token. The arguments are those variables' values, empty when unset (a relative
/// XDG_CONFIG_HOME counts as unset). Code::io when neither is given.
Result<std::string> default_token_path(std::string_view xdg_config_home, std::string_view home);

/// The token in `path`, without white space around it. Code::io when it cannot be read; Code::refused when it is
/// somebody else's, can be read by others, or is no token; the message says what to run.
Result<std::string> read_token(const std::string& path);

/// As read_token, and makes the file (mode 0600, in directories of mode 0700) when there is none.
Result<std::string> read_or_make_token(const std::string& path);

/// Where the reading token of the token in `path` is kept: beside it.
std::string reading_token_path(const std::string& path);

/// Keeps the reading token of `token`, which is in `path`, beside it with the same care (mode 0600, its owner's, never
/// half written), so that it can be handed to those who only look. One of an earlier token is replaced. Code::io,
/// Code::refused: it cannot be kept there, though it holds all the same.
Status keep_reading_token(const std::string& path, std::string_view token);

/// A token to look into a run with: the reading token of the one in `path`, or, where there is none, the one beside it.
Result<std::string> read_reading_token(const std::string& path);

}  // namespace actorhost
