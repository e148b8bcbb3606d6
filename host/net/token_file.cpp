#include "host/net/token_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/fd.hpp"
#include "host/net/handshake.hpp"

namespace actorhost {

namespace {

constexpr size_t kRandomBytes = 32;
constexpr size_t kMaxFileBytes = 4096;
constexpr std::string_view kWhiteSpace = " \t\r\n";

Error failed(const std::string& path, const std::string& what, int number) {
  return {Code::io, "token file " + path + ": " + what + ": " + std::strerror(number)};
}

Error refused(const std::string& path, const std::string& what) {
  return {Code::refused, "token file " + path + ": " + what};
}

// Any user with write access to the file chooses the token: so it must be ours or root's, and closed to others.
Status check_owner(const std::string& path, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return refused(path, "it is no regular file");
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return refused(path, "it belongs to user " + std::to_string(info.st_uid) + ", not to you");
  }
  if ((info.st_mode & 077U) != 0) {
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", info.st_mode & 07777U);
    return refused(path,
                   "others can read or change it (mode " + std::string(mode.data()) + "); run: chmod 600 " + path);
  }
  return {};
}

Result<std::string> read_all(const std::string& path, int fd) {
  std::string text(kMaxFileBytes + 1, '\0');
  size_t size = 0;
  const int error = transfer(text.data(), text.size(), [&](char* at, size_t left) {
    const ssize_t got = ::read(fd, at, left);
    if (got > 0) size += static_cast<size_t>(got);
    return got;
  });
  if (error == 0) return refused(path, "it is longer than a token may be (4096 bytes)");
  if (error != kNoMore) return failed(path, "cannot be read", error);
  text.resize(size);
  return text;
}

Result<std::string> trim_token(const std::string& path, std::string text) {
  const size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string::npos) {
    return refused(path, "it is empty; write a token of at least 16 characters into it, or remove it to generate one");
  }
  text = text.substr(first, text.find_last_not_of(kWhiteSpace) + 1 - first);
  if (text.size() < kMinTokenLength) {
    return refused(path, "a token of " + std::to_string(text.size()) + " characters is too short; use at least " +
                             std::to_string(kMinTokenLength) + ", or remove the file to generate one");
  }
  return text;
}

Result<std::string> new_token() {
  if (sodium_init() < 0) return Error{Code::internal, "libsodium cannot be initialised: no source of randomness"};
  std::array<unsigned char, kRandomBytes> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::array<char, 2 * kRandomBytes + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  return std::string(hex.data());
}

// Like mkdir -p; new directories have mode 0700.
Status make_directories(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return failed(path, "the directory " + directory + " cannot be made (--token-file F picks another place)", errno);
    }
  }
  return {};
}

Status write_synced(const std::string& path, int fd, const std::string& text) {
  const auto write = [fd](const char* at, size_t left) { return ::write(fd, at, left); };
  if (const int error = transfer(text.data(), text.size(), write)) return failed(path, "cannot be written", error);
  if (::fsync(fd) != 0) return failed(path, "cannot be written", errno);
  return {};
}

// Creates a file with `token` at `path` atomically: writes it under another name, and `place` moves it to `path`.
// `place` returns 0 on success.
Status place_token_file(const std::string& path, const std::string& token,
                        const std::function<int(const char* from, const char* to)>& place) {
  std::string beside = path + ".XXXXXX";
  const Fd file(::mkstemp(beside.data()));  // mode 0600, made with O_EXCL
  if (!file.valid()) return failed(path, "cannot be made (--token-file F picks another place)", errno);
  Status status = write_synced(path, file.get(), token + "\n");
  if (status.ok() && place(beside.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    status = failed(path, "cannot be made", errno);
  }
  ::unlink(beside.c_str());
  return status;
}

// Creates the file, and never replaces another. If several processes do so, one succeeds, and the others do not fail.
Status make_token_file(const std::string& path) {
  AH_LET(auto token, new_token());
  AH_TRY(make_directories(path));
  return place_token_file(path, token, ::link);
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 || errno != ENOENT;
}

}  // namespace

Result<std::string> default_token_path(std::string_view xdg_config_home, std::string_view home) {
  if (xdg_config_home.starts_with('/')) return std::string(xdg_config_home) + "/actorhost/token";
  if (home.starts_with('/')) return std::string(home) + "/.config/actorhost/token";
  return Error{Code::io, "no place for the token: neither XDG_CONFIG_HOME nor HOME is set; give --token-file F"};
}

Result<std::string> read_token(const std::string& path) {
  // Must not block on a named pipe.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return failed(path, "cannot be opened", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return failed(path, "cannot be opened", errno);
  AH_TRY(check_owner(path, info));
  AH_LET(auto text, read_all(path, file.get()));
  return trim_token(path, std::move(text));
}

Result<std::string> read_or_make_token(const std::string& path) {
  // Does not follow links: the user must repair a dangling link.
  if (!exists(path)) AH_TRY(make_token_file(path));
  return read_token(path);
}

std::string reading_token_path(const std::string& path) { return path + ".read"; }

Status store_reading_token(const std::string& path, std::string_view token) {
  const std::string beside = reading_token_path(path);
  const std::string reading = reading_token(token);
  if (!exists(beside)) return place_token_file(beside, reading, ::link);
  AH_LET(auto stored, read_token(beside));
  if (stored == reading) return {};
  if (!is_reading_token(stored)) return refused(beside, "it holds no reading token; remove it to generate one");
  return place_token_file(beside, reading, ::rename);
}

Result<std::string> read_reading_token(const std::string& path) {
  const std::string beside = reading_token_path(path);
  auto token = read_token(exists(path) || !exists(beside) ? path : beside);
  if (!token) return token;
  return reading_token(*token);
}

}  // namespace actorhost
