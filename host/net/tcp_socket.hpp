#pragma once
// System calls on the socket of a TCP stream of NNG. NNG cannot poll a receive, and its receive wakes two threads; a
// read of the socket wakes one thread. Free functions, any thread, while NNG has the stream open.

#include <cstddef>

#include <sys/socket.h>

#include "host/net/byte_stream.hpp"

namespace actorhost {

/// The connected socket of this process with these two addresses, or -1. NNG has no function for the socket of a
/// stream.
int socket_between(const sockaddr_storage& here, const sockaddr_storage& there);

/// Reads at least one byte, or returns would_block.
IoResult receive_from(int socket, const Piece* pieces, size_t count);
/// Writes at least one byte, or returns would_block.
IoResult send_to(int socket, const Piece* pieces, size_t count);
/// Blocks up to `milliseconds` (-1: for ever) until bytes have arrived or the connection has ended. False after this
/// time.
bool wait_for_bytes(int socket, int milliseconds);
/// From now on `wait_for_bytes` ends when `bytes` bytes have arrived, or the connection has ended.
void wake_for(int socket, int bytes);

}  // namespace actorhost
