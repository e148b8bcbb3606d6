#include "host/data/file/curl.hpp"

#include <dlfcn.h>

namespace actorhost {

template <class Function>
Function Curl::function(const char* name) {
  static void* const kLibrary = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  void* const found = kLibrary != nullptr ? dlsym(kLibrary, name) : nullptr;
  if (found == nullptr && load_error_.empty()) {
    load_error_ = std::string("libcurl is missing (libcurl4): ") + dlerror();
  }
  return reinterpret_cast<Function>(found);
}

Curl::Curl() {
  if (load_error_.empty() && global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) load_error_ = "libcurl cannot be used";
}

const Curl& Curl::get() {
  static const Curl kCurl;
  return kCurl;
}

}  // namespace actorhost
