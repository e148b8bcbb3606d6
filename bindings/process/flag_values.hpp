#pragma once
// The error and the two spellings of a flag.

#include <string>

#include "host/base/number.hpp"
#include "host/base/result.hpp"

namespace actorhost {

/// "--seed wants a whole number, got 'x'".
inline Error bad_flag(const std::string& flag, const std::string& value, const std::string& wants) {
  return {Code::bad_argument, "--" + flag + " wants " + wants + ", got '" + value + "'"};
}

/// A check of CLI11: the problem of an address, or "".
inline std::string not_empty(const std::string& address) { return address.empty() ? "the address is empty" : ""; }

/// Both spellings of a flag: "--node-rank" and "--node_rank".
inline std::string both_spellings(const std::string& name) {
  std::string other = name;
  const size_t first = other.find("--") + 2;
  for (size_t i = first; i < other.size() && other[i] != ','; ++i) {
    if (other[i] == '-') other[i] = '_';
  }
  return other == name ? name : name + "," + other.substr(first - 2);
}

}  // namespace actorhost
