#pragma once
// The sender and the receiver of a frame: a worker, a parameter-server shard, the service of a process, the service of
// its map-reduce data, or its courier. An address is a 32-bit number, the same on every host of a run; its top three
// bits are the kind.

#include <cstdint>
#include <string>

namespace actorhost {

/// A worker's permanent id, never reused within a run. Ranks number the live workers in the order of their ids.
using NodeId = uint32_t;
/// A process's number in the run: process 0 is the first coordinator. Never reused within a run.
using ProcessId = uint32_t;

using Address = uint32_t;

inline constexpr Address kServerBit = 0x40000000U;
inline constexpr Address kServiceBit = 0x80000000U;
inline constexpr Address kDataBits = kServerBit | kServiceBit;
inline constexpr Address kExtensionBit = 0x20000000U;  // marks a further kind; only used with the service bit so far
inline constexpr Address kCourierBits = kServiceBit | kExtensionBit;
inline constexpr int kKindShift = 29;
inline constexpr Address kKindBits = kServerBit | kServiceBit | kExtensionBit;
inline constexpr Address kAddressMask = ~kKindBits;
inline constexpr Address kNoAddress = 0xffffffffU;
inline constexpr ProcessId kNoProcess = 0xffffffffU;

constexpr Address worker_address(NodeId id) noexcept { return id; }
constexpr Address server_address(uint32_t shard) noexcept { return kServerBit | shard; }
constexpr Address service_address(ProcessId process) noexcept { return kServiceBit | process; }
constexpr Address data_address(ProcessId process) noexcept { return kDataBits | process; }
constexpr Address courier_address(ProcessId process) noexcept { return kCourierBits | process; }
constexpr bool is_worker(Address a) noexcept { return (a & kKindBits) == 0; }
constexpr bool is_server(Address a) noexcept { return (a & kKindBits) == kServerBit; }
constexpr bool is_service(Address a) noexcept { return (a & kKindBits) == kServiceBit; }
constexpr bool is_data(Address a) noexcept { return (a & kKindBits) == kDataBits; }
constexpr bool is_courier(Address a) noexcept { return (a & kKindBits) == kCourierBits; }
/// Whether the address belongs to a process's service, data service or courier; its index is then the process.
constexpr bool is_of_process(Address a) noexcept { return is_service(a) || is_data(a) || is_courier(a); }
constexpr uint32_t address_index(Address a) noexcept { return a & kAddressMask; }

/// "worker 3", "server 0", "host 1", "data 1", "courier 1"; "no node" for an address of no kind.
inline std::string address_name(Address address) {
  const std::string index = std::to_string(address_index(address));
  if (is_service(address)) return "host " + index;
  if (is_data(address)) return "data " + index;
  if (is_courier(address)) return "courier " + index;
  if (is_server(address)) return "server " + index;
  return is_worker(address) ? "worker " + index : "no node";
}

}  // namespace actorhost
