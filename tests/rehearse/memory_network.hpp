#pragma once
// The byte streams of NNG in memory, on the scheduler's time: the functions of nng.h that host/net/stream_io.cpp calls.
// A stream keeps the order of its bytes, and its window bounds the bytes in flight. All addresses are on one machine,
// so a port alone identifies a listener.

#include <cstdint>

namespace rehearse {

struct NetworkSettings {
  uint64_t latency = 50'000;            // nanoseconds one way
  uint64_t jitter = 300'000;            // up to this many more for each write, at random
  unsigned breaks = 0;                  // connections that break, at random times,
  uint64_t break_within = 500'000'000;  // within this time of the first connection
};

void configure_network(const NetworkSettings& settings);

/// The number of writes so far.
uint64_t network_writes();

}  // namespace rehearse
