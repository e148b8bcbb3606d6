#pragma once
// The shared secret that every connection proves, in a file that only its owner may read. The first use creates the
// file from the system's random generator; processes that start together all use the same token. Thread-safe; blocks on
// the disk.

#include <string>
#include <string_view>

#include "host/base/result.hpp"

namespace actorhost {

/// Shorter tokens are refused; generated tokens have 64 characters (32 random bytes in hex).
inline constexpr size_t kMinTokenLength = 16;

/// The default for --token-file: XDG_CONFIG_HOME/actorhost/token, or HOME/.config/actorhost/token. The arguments are
/// the values of these variables, empty when unset (a relative XDG_CONFIG_HOME counts as unset). Code::io without both.
Result<std::string> default_token_path(std::string_view xdg_config_home, std::string_view home);

/// The token in `path`, without surrounding white space. Code::io when the file cannot be read; Code::refused when it
/// belongs to another user, is readable by others, or holds no token. The message names the command to run.
Result<std::string> read_token(const std::string& path);

/// Like read_token, but creates a missing file (mode 0600, in directories of mode 0700).
Result<std::string> read_or_make_token(const std::string& path);

/// The file that stores the reading token of the token in `path`: next to it.
std::string reading_token_path(const std::string& path);

/// Stores the reading token of `token`, which is in `path`, in the file next to it (mode 0600, own user, written
/// atomically), so that users can give it to observers. Replaces the reading token of an earlier token. Code::io,
/// Code::refused: the file cannot be written; the reading token is valid all the same.
Status store_reading_token(const std::string& path, std::string_view token);

/// A token for observers: the reading token of the token in `path`; without such a file, the token in the file next to
/// it.
Result<std::string> read_reading_token(const std::string& path);

}  // namespace actorhost
