#include "bindings/vm/embedded.hpp"

#include <cstring>

namespace actorhost {

const EmbeddedFile* embedded_file(const char* name) noexcept {
  for (const EmbeddedFile* file = embedded_files(); file->name != nullptr; ++file) {
    if (std::strcmp(file->name, name) == 0) return file;
  }
  return nullptr;
}

const char* embedded_text(const char* name) noexcept {
  const EmbeddedFile* file = embedded_file(name);
  return file != nullptr ? file->text : nullptr;
}

}  // namespace actorhost
