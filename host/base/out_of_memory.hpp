#pragma once
// The exception for memory that cannot be allocated; it says how much was asked for. Code that maps pages itself throws
// it, and in the program operator new does (bindings/commands/main.cpp). Any thread.

#include <cstddef>
#include <cstdio>
#include <new>

namespace actorhost {

class OutOfMemory : public std::bad_alloc {
 public:
  /// What its text begins with.
  static constexpr const char* kStart = "out of memory: ";

  explicit OutOfMemory(size_t bytes) noexcept {
    std::snprintf(text_, sizeof text_, "%s%zu bytes were asked for", kStart, bytes);
  }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[64];
};

}  // namespace actorhost
