#include "host/net/shared_memory.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorhost {

struct SharedMemory::Layout {
  Nonce nonce;
  RingState states[2];
  alignas(4096) std::byte bytes[2][kRingBytes];
};

namespace {

// Without these seals the other process could shrink the memory, and an access would kill this process.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct OfferBytes {
  uint32_t pid;
  uint32_t fd;
  unsigned char zero[8];
  unsigned char nonce[16];
};
static_assert(sizeof(OfferBytes) == SharedMemory::kOfferBytes);

}  // namespace

Result<SharedMemory> SharedMemory::map(Fd file) {
  void* const at = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return file_error("shared memory", "mapping", errno);
  return SharedMemory(std::move(file), static_cast<Layout*>(at));
}

Result<SharedMemory> SharedMemory::make() {
  Fd file(::memfd_create("actorhost", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) return file_error("shared memory", "making", errno);
  if (::ftruncate(file.get(), sizeof(Layout)) != 0) return file_error("shared memory", "reserving", errno);
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return file_error("shared memory", "sealing", errno);
  AH_LET(SharedMemory memory, map(std::move(file)));
  for (RingState& state : memory.layout_->states) new (&state) RingState();
  randombytes_buf(memory.layout_->nonce.data(), sizeof(Nonce));
  return memory;
}

Result<SharedMemory> SharedMemory::open(std::span<const std::byte, kOfferBytes> offer) {
  OfferBytes bytes;
  std::memcpy(&bytes, offer.data(), sizeof bytes);
  const std::string path = "/proc/" + std::to_string(bytes.pid) + "/fd/" + std::to_string(bytes.fd);
  // Examines the file before it opens the file: to open a device or a pipe has effects.
  const Fd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.valid()) return file_error(path, "opening the memory of the other process", errno);
  struct stat info {};
  const Error other{Code::bad_data, path + " is not the memory of the other process"};
  if (::fstat(found.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid() ||
      info.st_size != static_cast<off_t>(sizeof(Layout))) {
    return other;
  }
  Fd file(::open(("/proc/self/fd/" + std::to_string(found.get())).c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid()) return file_error(path, "opening the memory of the other process", errno);
  if ((::fcntl(file.get(), F_GET_SEALS) & kSeals) != kSeals) return other;
  AH_LET(SharedMemory memory, map(std::move(file)));
  memory.close_file();
  if (std::memcmp(memory.layout_->nonce.data(), bytes.nonce, sizeof(Nonce)) != 0) return other;
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)), layout_(std::exchange(other.layout_, nullptr)) {}

SharedMemory::~SharedMemory() {
  if (layout_ != nullptr) ::munmap(layout_, sizeof(Layout));
}

SharedMemory::Offer SharedMemory::offer() const {
  OfferBytes bytes{};
  bytes.pid = static_cast<uint32_t>(::getpid());
  bytes.fd = static_cast<uint32_t>(file_.get());
  std::memcpy(bytes.nonce, layout_->nonce.data(), sizeof(Nonce));
  Offer out;
  std::memcpy(out.data(), &bytes, sizeof bytes);
  return out;
}

RingState& SharedMemory::state(int ring) noexcept { return layout_->states[ring]; }
std::byte* SharedMemory::bytes(int ring) noexcept { return layout_->bytes[ring]; }

}  // namespace actorhost
