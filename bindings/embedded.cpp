#include "bindings/embedded.hpp"

#include <cstring>

namespace actorhost {

const char* embedded_text(const char* name) noexcept {
  for (const EmbeddedFile* file = embedded_files(); file->name != nullptr; ++file) {
    if (std::strcmp(file->name, name) == 0) return file->text;
  }
  return nullptr;
}

}  // namespace actorhost
