#pragma once
// The exception for failed allocations; its text states the requested size. Code that maps pages itself throws it, and
// in the program operator new throws it (bindings/commands/main.cpp). Any thread.

#include <cstddef>
#include <cstdio>
#include <new>

namespace actorhost {

class OutOfMemory : public std::bad_alloc {
 public:
  /// The prefix of the text.
  static constexpr const char* kStart = "out of memory: ";

  explicit OutOfMemory(size_t bytes) noexcept {
    std::snprintf(text_, sizeof text_, "%s%zu bytes were requested", kStart, bytes);
  }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[64];
};

}  // namespace actorhost
