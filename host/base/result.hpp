#pragma once
// Expected failures as values: Result<T> holds a T or an Error, Status holds nothing or an Error. A broken invariant is
// an assert; a caller's mistake at the Lua boundary is a Lua argument error.

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "host/base/names.hpp"

namespace actorhost {

/// The kind of a failure. A Lua call returns the name from `code_name` as its third result.
enum class Code {
  bad_argument,  // the caller requested an impossible operation
  bad_data,      // bytes from a file or the network are malformed
  io,            // a file or directory could not be read or written
  unreachable,   // no connection could be made
  refused,       // a peer was reached but refused (token, job hash, run id, version)
  peer_lost,     // a peer that this call waits for has failed or departed
  timeout,       // the deadline of this call has passed
  interrupted,   // the run is stopping (Ctrl-C, stop request)
  aborted,       // another node failed and the run is over
  mismatch,      // nodes disagree on the action, collective, shape or order
  full,          // a bounded queue has no room (only from calls that never wait)
  unsupported,   // the requested operation is not available in this build or setting
  script,        // the job's Lua raised an error or does not parse
  internal       // a bug in actorhost
};

/// "timeout", "peer_lost", ...: stable names, part of the public contract.
inline const char* code_name(Code code) noexcept {
  static constexpr std::array<const char*, 14> kCodeNames = {
      "bad_argument", "bad_data", "io",       "unreachable", "refused",     "peer_lost", "timeout",
      "interrupted",  "aborted",  "mismatch", "full",        "unsupported", "script",    "internal"};
  return name_of(kCodeNames, code);
}

struct Error {
  Code code = Code::internal;
  std::string message;  // the fault, the place, and the remedy; no trailing full stop or newline
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace actorhost

/// Returns from the enclosing function with the error of a Status or Result expression, if it has an error.
#define AH_TRY(expression)                                                                      \
  do {                                                                                          \
    if (auto ah_status_ = (expression); !ah_status_.ok()) return std::move(ah_status_).error(); \
  } while (false)

/// Declares or sets a variable to the value of a Result expression, or returns from the enclosing function with its
/// error: AH_LET(auto file, open_for_reading(path)).
#define AH_LET(declaration, ...) AH_LET_NAMED(AH_LET_NAME(ah_result_, __LINE__), declaration, __VA_ARGS__)
#define AH_LET_NAMED(name, declaration, ...)      \
  auto name = __VA_ARGS__;                        \
  if (!name.ok()) return std::move(name).error(); \
  declaration = *std::move(name) /* NOLINT: a declaration has no parentheses */
#define AH_LET_NAME(stem, line) AH_LET_JOIN(stem, line)
#define AH_LET_JOIN(stem, line) stem##line
