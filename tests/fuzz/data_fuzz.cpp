// Reads bytes as a file in a format of host/data, chosen by the first byte. The file is read or refused, within the
// memory that its size allows.

#include "host/data/content/csv.hpp"
#include "host/data/content/idx.hpp"
#include "host/data/content/libsvm.hpp"
#include "host/data/content/npz.hpp"
#include "host/data/content/safetensors.hpp"
#include "tests/fuzz/memory_file.hpp"

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
    [](const Path& path) { (void)read_safetensors(path); },
    [](const Path& path) { (void)read_libsvm(path, {.zero_based = true, .max_bytes = 1 << 20}); },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  kReaders[data[0] % std::size(kReaders)](memory_file(bytes));
  return 0;
}
