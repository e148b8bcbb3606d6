// Reads bytes as a file of a format of host/data, which the first byte names. The file is read or refused, within the
// memory that its size allows.

#include <cstdlib>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "host/data/csv.hpp"
#include "host/data/idx.hpp"
#include "host/data/libsvm.hpp"
#include "host/data/npz.hpp"

namespace {

using Path = std::filesystem::path;
using namespace actorhost;

constexpr void (*kReaders[])(const Path&) = {
    [](const Path& path) { (void)read_idx(path); },
    [](const Path& path) { (void)read_npy(path); },
    [](const Path& path) { (void)read_npz(path); },
    [](const Path& path) { (void)read_csv(path); },
    [](const Path& path) { (void)read_csv(path, {.header = true, .missing = 0, .comment = '#'}); },
    [](const Path& path) { (void)read_libsvm(path, {.sparse = true}); },
    [](const Path& path) { (void)read_libsvm(path, {.zero_based = true, .max_bytes = 1 << 20}); },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const int file = memfd_create("input", 0);
  if (file < 0 || write(file, data + 1, size - 1) != static_cast<ssize_t>(size - 1)) std::abort();
  kReaders[data[0] % std::size(kReaders)]("/proc/self/fd/" + std::to_string(file));
  close(file);
  return 0;
}
