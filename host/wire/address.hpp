#pragma once
// Who a frame is from and for: a worker, a parameter-server shard, the service of a process, or the one of its
// map-reduce data. One 32-bit number, the same on every host of a run; the top two bits tell the kind.

#include <cstdint>
#include <string>

namespace actorhost {

/// A worker's permanent id; never reused within a run, ranks are dense in id order.
using NodeId = uint32_t;
/// A process's place in the run: 0 is the rendezvous host. Never reused within a run.
using ProcessId = uint32_t;

using Address = uint32_t;

inline constexpr Address kServerBit = 0x40000000U;
inline constexpr Address kServiceBit = 0x80000000U;
inline constexpr Address kDataBits = kServerBit | kServiceBit;
inline constexpr Address kKindBits = kServerBit | kServiceBit;
inline constexpr Address kAddressMask = 0x3fffffffU;
inline constexpr Address kNoAddress = 0xffffffffU;
inline constexpr ProcessId kNoProcess = 0xffffffffU;

constexpr Address worker_address(NodeId id) noexcept { return id; }
constexpr Address server_address(uint32_t shard) noexcept { return kServerBit | shard; }
constexpr Address service_address(ProcessId process) noexcept { return kServiceBit | process; }
/// `process` is less than kAddressMask: its data address would be nobody's.
constexpr Address data_address(ProcessId process) noexcept { return kDataBits | process; }
constexpr bool is_worker(Address a) noexcept { return (a & kKindBits) == 0; }
constexpr bool is_server(Address a) noexcept { return (a & kKindBits) == kServerBit; }
constexpr bool is_service(Address a) noexcept { return (a & kKindBits) == kServiceBit; }
constexpr bool is_data(Address a) noexcept { return (a & kKindBits) == kDataBits && a != kNoAddress; }
constexpr uint32_t address_index(Address a) noexcept { return a & kAddressMask; }

/// "worker 3", "server 0", "host 1", "data 1".
std::string address_name(Address address);

}  // namespace actorhost
