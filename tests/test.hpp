#pragma once
// The prologue of the test programs: Catch2, the headers of the standard library that tests use most, and the names of
// the project. Benchmarks and fuzzers have no Catch2, so headers that they share with tests cannot include this file.
//
// A failed `required` or `failure_of` inside CHECK prints a second message ("Exception translation was disabled ...");
// the first message is the right one.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

namespace actorhost::test {

using Catch::Contains;

/// A Result, which must have a value.
template <typename T>
Result<T> required(Result<T> result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  INFO(file << ":" << line << (result.ok() ? "" : ": " + result.error().message));
  REQUIRE(result.ok());
  return result;
}

/// The error of a Status or Result, which must have one.
template <typename T>
Error failure_of(const Result<T>& result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  INFO(file << ":" << line);
  REQUIRE_FALSE(result.ok());
  return result.error();
}

}  // namespace actorhost::test

using namespace actorhost;
using namespace actorhost::test;
