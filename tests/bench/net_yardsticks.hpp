#pragma once
// The yardsticks of net_bench: a plain mutex queue, a bare nng_stream, ZeroMQ, a raw TCP socket.

#include <cstddef>

namespace actorhost::bench {

/// Millions of 64-byte items a second from one thread to another through a queue of `capacity`.
double queue_rate(size_t items, size_t capacity);
/// Microseconds of a round trip of one item through two such queues.
double queue_round_trip(size_t rounds);
/// Microseconds of a round trip of 64 bytes over loopback TCP with a bare nng_stream, waiting for each transfer.
double nng_round_trip(size_t rounds);
/// Millions of 64-byte messages a second, PUSH to PULL over loopback TCP.
double zmq_rate(size_t messages);
/// GB/s of `count` times `bytes` over a loopback TCP socket in writes of 256 KiB, read into one block.
double tcp_bandwidth(size_t bytes, size_t count);

}  // namespace actorhost::bench
