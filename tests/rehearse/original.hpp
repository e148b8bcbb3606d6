#pragma once
// The system's functions that intercepted_calls.cpp replaces.

#include <cstdlib>

#include <dlfcn.h>

namespace rehearse {

template <typename Function>
Function* original(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

}  // namespace rehearse
