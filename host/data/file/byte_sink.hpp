#pragma once
// The output of encoders: a file, an object of an object storage. A sink belongs to the thread that writes it.

#include <cstddef>
#include <span>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

namespace actorhost {

class ByteSink : public Interface {
 public:
  /// Blocks on the disk or the network. An error names the file and ends the sink.
  virtual Status write(std::span<const std::byte> bytes) = 0;
  /// Completes the output. Call once.
  virtual Status close() = 0;
};

}  // namespace actorhost
