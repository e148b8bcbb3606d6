#pragma once
// Memory that two processes of one user on one machine share, with a ring for each direction. One process makes the
// memory and offers it over a connection; the other opens it as /proc/PID/fd/FD. The random nonce at its start proves
// that both have the same memory. The memory has no name, so a process that dies leaves nothing behind.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "host/base/fd.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/net/shared_ring.hpp"

namespace actorhost {

class SharedMemory {
 public:
  static constexpr size_t kRingBytes = size_t{512} << 10;  // used when needed
  static constexpr size_t kOfferBytes = 32;
  using Offer = std::array<std::byte, kOfferBytes>;

  /// Makes empty rings. Code::io.
  static Result<SharedMemory> make();
  /// Opens the memory of an offer. Code::io: this process may not open it. Code::bad_data: it is other memory, because
  /// the offering process runs in another namespace, as another user, or lies.
  static Result<SharedMemory> open(std::span<const std::byte, kOfferBytes> offer);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  /// pid:u32 fd:u32 zero:8 nonce:16, little-endian. The offer is void after `close_file`.
  Offer offer() const;
  /// The other process has opened the memory, or will not.
  void close_file() { file_ = Fd(); }

  /// The ring that the maker writes (0) or reads (1).
  RingState& state(int ring) noexcept;
  std::byte* bytes(int ring) noexcept;

 private:
  struct Layout;
  using Nonce = std::array<unsigned char, 16>;

  SharedMemory(Fd file, Layout* layout) : file_(std::move(file)), layout_(layout) {}
  static Result<SharedMemory> map(Fd file);

  Fd file_;
  Layout* layout_;
};

}  // namespace actorhost
