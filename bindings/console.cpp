#include "bindings/console.hpp"

#include <cstdio>
#include <string>

namespace actorhost {

namespace {

void write_line(std::FILE* file, std::string_view line) {
  std::string whole(line);
  whole += '\n';
  std::fwrite(whole.data(), 1, whole.size(), file);
  std::fflush(file);
}

}  // namespace

void Console::out(std::string_view line) {
  std::lock_guard lock(mutex_);
  write_line(stdout, line);
}

void Console::err(std::string_view line) {
  std::lock_guard lock(mutex_);
  write_line(stderr, line);
}

}  // namespace actorhost
