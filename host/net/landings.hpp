#pragma once
// Room for the bodies of frames that a mailbox's owner expects: when such a frame comes over a connection, its body is
// read straight into that room instead of into a block of its own. This saves a copy, and nothing else depends on it: a
// frame that comes before it is expected, from within the process, or with another size has a body of its own, so the
// receiver looks where the body lies. Any thread.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "host/wire/frame.hpp"

namespace actorhost {

class Landings {
 public:
  /// Smaller bodies are not worth the effort: they always get blocks of their own.
  static constexpr size_t kMinBytes = size_t{64} << 10;

  Landings() = default;
  Landings(const Landings&) = delete;
  Landings& operator=(const Landings&) = delete;

  /// The body of the next frame of this kind and tag whose meta begins so goes to `room`, if it has just that size. Its
  /// bytes may be written until the frame has come, so `whose` result they are must not be used before.
  void expect(const void* whose, Kind kind, uint32_t tag, std::string_view meta, Blob room);
  /// Withdraws all room of that owner. A body that is being read into it already goes on; its block stays alive.
  void forget(const void* whose);
  /// How many bodies are expected.
  size_t size() const;
  /// Room for the body of the frame whose head this is, once; empty where none is expected.
  Blob take(const Frame& head, size_t bytes);

 private:
  struct Place {
    const void* whose;
    Kind kind;
    uint32_t tag;
    SmallBytes meta;
    Blob room;
  };

  mutable std::mutex mutex_;
  std::vector<Place> places_;  // few: those of the next pieces of the calls under way
};

}  // namespace actorhost
