#pragma once
// Embeds actorhost in a C++ program: runs a job in this process and offers C++ functions to the job's Lua code. An
// embedder includes only this header and links against actorhost::actorhost_lua.
//
//   actorhost::Host host({.nodes = 4});
//   host.function("price", [](double strike, double spot) { return std::max(0.0, spot - strike); });
//   return host.run_file("job.lua");
//
//   -- job.lua
//   local host = require "host"
//   print(host.price(90, 100))
//
// A Host runs one job at a time and belongs to one thread; other threads may call only `interrupt`. The nodes' threads
// call the functions concurrently, so the functions must be thread-safe. An exception that a function throws becomes a
// Lua error with the exception's text.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace actorhost {

/// A value passed between Lua and C++: nil, boolean, number, string (any bytes), array of numbers.
using Value = std::variant<std::monostate, bool, double, std::string, std::vector<double>>;
/// A function on the arguments of a call from Lua. Its result is the call's result.
using Function = std::function<Value(std::span<const Value>)>;

struct HostConfig {
  unsigned nodes = 0;              // nodes on this host; 0: one node per core
  std::vector<std::string> args;   // the script's `...` and actor.args
  std::vector<std::string> flags;  // more command-line flags: {"--barrier", "ssp:4"}
  bool handle_signals = false;     // end the run on SIGINT and SIGTERM
};

class Host {
 public:
  explicit Host(HostConfig config = {});
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Makes `fn` available to Lua as require("host").NAME on every node of later runs.
  Host& function(std::string name, Function fn);

  /// Makes a callable with typed parameters available to Lua. The parameter types are bool, numbers, std::string and
  /// std::vector<double>; the result has one of these types or is void. Lua's numbers are doubles, and static_cast
  /// converts them to the parameter's type. An argument of another Lua type raises an error that names the argument.
  template <typename F>
  requires(!std::is_convertible_v<F, Function>) Host& function(std::string name, F fn);

  /// Runs a script to its end and returns its exit code: 0 success, 1 the job's Lua raised or does not parse, or its
  /// output cannot be written, 2 usage (also a missing file), 3 cluster or node failure, 4 checkpoints cannot be
  /// written, 130 interrupted, 143 terminated. Blocks; messages go to standard error.
  int run_file(const std::string& path);
  /// Like run_file, for a script given as text. Messages show `name` as the script's name.
  int run_text(const std::string& name, const std::string& source);

  /// Ends the current run as Ctrl-C does; without a run it has no effect. Thread-safe.
  void interrupt();

 private:
  int run(const std::string& name, const std::string* source);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

namespace detail {

/// Throws an exception, which becomes the Lua error "bad argument 2 to host.price: expected number, got string".
[[noreturn]] void wrong_argument(const std::string& function, size_t index, const char* expected, const Value& given);

template <typename T>
struct Argument;
template <>
struct Argument<bool> {
  static constexpr const char* name = "boolean";
  static const bool* get(const Value& v) { return std::get_if<bool>(&v); }
};
template <typename T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) struct Argument<T> {
  static constexpr const char* name = "number";
  static const double* get(const Value& v) { return std::get_if<double>(&v); }
};
template <>
struct Argument<std::string> {
  static constexpr const char* name = "string";
  static const std::string* get(const Value& v) { return std::get_if<std::string>(&v); }
};
template <>
struct Argument<std::vector<double>> {
  static constexpr const char* name = "array of numbers";
  static const std::vector<double>* get(const Value& v) { return std::get_if<std::vector<double>>(&v); }
};

template <typename T>
T argument(const std::string& function, std::span<const Value> values, size_t index) {
  using Plain = std::remove_cvref_t<T>;
  static const Value kNil;
  const Value& value = index < values.size() ? values[index] : kNil;
  const auto* found = Argument<Plain>::get(value);
  if (found == nullptr) wrong_argument(function, index + 1, Argument<Plain>::name, value);
  return static_cast<Plain>(*found);
}

template <typename R>
Value result(R&& r) {
  using Plain = std::remove_cvref_t<R>;
  if constexpr (std::is_arithmetic_v<Plain> && !std::is_same_v<Plain, bool>) {
    return static_cast<double>(r);
  } else {
    return Value(std::forward<R>(r));
  }
}

template <typename F>
struct Signature : Signature<decltype(&F::operator())> {};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...) const> {
  using Arguments = std::tuple<std::remove_cvref_t<A>...>;
};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...)> : Signature<R (C::*)(A...) const> {};
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
  using Arguments = std::tuple<std::remove_cvref_t<A>...>;
};

template <typename F, typename... A, size_t... I>
Value invoke(F& fn, const std::string& name, std::span<const Value> values, std::tuple<A...>*,
             std::index_sequence<I...>) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
    fn(argument<A>(name, values, I)...);
    return {};
  } else {
    return result(fn(argument<A>(name, values, I)...));
  }
}

}  // namespace detail

template <typename F>
requires(!std::is_convertible_v<F, Function>) Host& Host::function(std::string name, F fn) {
  using Arguments = typename detail::Signature<std::decay_t<F>>::Arguments;
  auto call = [fn = std::move(fn), name](std::span<const Value> values) mutable {
    return detail::invoke(fn, name, values, static_cast<Arguments*>(nullptr),
                          std::make_index_sequence<std::tuple_size_v<Arguments>>{});
  };
  return function(std::move(name), Function(std::move(call)));
}

}  // namespace actorhost
