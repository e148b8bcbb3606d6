#pragma once
// Memory that is not to be had, with how much was asked for. Thrown by what maps pages itself and, in the program, by
// operator new (bindings/commands/main.cpp). Any thread.

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
