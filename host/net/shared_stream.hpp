#pragma once
// A byte stream through memory that two processes share (shared_memory.hpp). The connection over which the memory was
// offered stays open without traffic. It ends when the other process closes the stream or dies.
//
// Sends that find the ring full continue on the stream's own thread, which starts with the first of them.

#include <memory>
#include <string>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/net/byte_stream.hpp"
#include "host/net/shared_memory.hpp"

namespace actorhost {

enum class MemoryRole { maker, opener };

/// Agrees with the other end on shared memory over `connection`, which both ends want. The maker offers memory; the
/// opener accepts or declines it. Code::io, Code::bad_data: one end cannot use the memory, and both go on with
/// `connection`. Code::unreachable: the connection has ended, or the deadline on `clock` is over. Blocks.
Result<SharedMemory> share_memory(Stream& connection, MemoryRole role, const Clock& clock, double deadline);

std::unique_ptr<Stream> shared_stream(std::unique_ptr<Stream> connection, SharedMemory memory, MemoryRole role);

}  // namespace actorhost
