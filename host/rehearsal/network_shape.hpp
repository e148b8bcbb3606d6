#pragma once
// The simulated network of a rehearsal: the switches, and the latency and bandwidth of their links. Each host has a
// link to the switch of its group, and each group has a link to the other groups. A link carries its bytes one after
// the other, in both directions at once. Plain values.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "host/base/distribution.hpp"
#include "host/base/result.hpp"

namespace actorhost::rehearsal {

struct NetworkShape {
  struct Link {
    Distribution latency;  // from a write until its bytes arrive, in seconds, without the time for its bytes
    double bandwidth = 0;  // bytes a second in each direction; 0: without limit
  };
  uint32_t groups = 1;                      // of consecutive hosts; their sizes differ by one at most
  Link within;                              // the latency inside a group; the bandwidth of a host
  Link between;                             // the latency between two groups; the bandwidth of a group
  std::map<uint32_t, double> hosts_of_own;  // the bandwidth of single hosts

  /// One switch: 50 to 350 us, 10 Gbit/s a host.
  NetworkShape();
  /// The value of --network: SHAPE[,KEY=VALUE...], or the name of a JSON file with the same keys and "shape". Shapes:
  /// switch, racks:N, sites:N. Keys: latency, bandwidth, between-latency, between-bandwidth. A latency is a time such
  /// as 50us or a Distribution in seconds; a bandwidth is such as 10Gbit, 100Mbit or unlimited. A file may have
  /// "hosts": {"3": "100Mbit"}. Code::bad_argument; Code::io without the file.
  static Result<NetworkShape> parse(const std::string& text);

  /// The group of a host in a rehearsal that starts with `hosts` hosts. Hosts that join are in the last group.
  uint32_t group_of(uint32_t host, uint32_t hosts) const {
    return std::min(groups < hosts ? host * groups / hosts : host, groups - 1);
  }
  double bandwidth_of(uint32_t host) const;
};

}  // namespace actorhost::rehearsal
