#pragma once
// Messages that carry chunks of Lua between the coordinator (ConsoleHub) and the processes (ChunkScheduler): kinds
// 0x0130 to 0x0137 of the cluster's range.

#include <cstdint>
#include <string>
#include <vector>

#include "host/wire/message.hpp"

namespace actorhost {

namespace console_kind {
inline constexpr auto request = Kind{0x0130};  // coordinator -> process: run a chunk on these nodes; its source (body)
inline constexpr auto cut = Kind{0x0131};      // coordinator -> process: end a chunk, or its waits
inline constexpr auto over = Kind{0x0132};     // coordinator -> process: a chunk for all nodes has ended on all of them
inline constexpr auto hold = Kind{0x0133};    // coordinator -> process: pause workers at their next engine call; resume
inline constexpr auto output = Kind{0x0134};  // process -> coordinator: output of a chunk (body)
inline constexpr auto done = Kind{0x0135};    // process -> coordinator: result of a chunk on a node; its values (body)
inline constexpr auto ready = Kind{0x0136};   // process -> coordinator: a worker's script waits for chunks
inline constexpr auto leave = Kind{0x0137};   // coordinator -> process: end at once, like a killed process
constexpr bool is_one(Kind kind) noexcept { return kind >= request && kind <= leave; }
}  // namespace console_kind

/// The number of a chunk in its run, from 1.
using ChunkId = uint32_t;

struct ConsoleRequest {
  ChunkId chunk = 0;
  bool together = false;            // all nodes run it, outside of engine calls, in the order of chunks
  std::vector<Address> nodes = {};  // of this process; for all nodes: its workers
  std::string name = {};            // as errors name it
  std::string mode = {};            // format of the values: "table", "lua", "json"
  std::vector<std::string> arguments = {};
  uint64_t limit = 0;     // most bytes of output
  uint32_t restarts = 0;  // of a chunk for all nodes: number of earlier failed such chunks
  uint32_t actions = 0;   // of a chunk for all nodes: number of actions entered before

  static void fields(auto& m, auto&& field) {
    field(m.chunk, m.together, m.nodes, words(m.name), m.mode, m.arguments, m.limit, m.restarts, m.actions);
  }
};

/// An empty `why`: an observer has interrupted the chunk, which ends wherever it is. Else a node has failed, and the
/// waits of the other nodes end.
struct ConsoleCut {
  ChunkId chunk = 0;
  std::string why = {};

  static void fields(auto& m, auto&& field) { field(m.chunk, lines(m.why)); }
};

/// Also reports the chunk's result: servers that start later run only the successful chunks for all nodes.
struct ConsoleOver {
  ChunkId chunk = 0;
  bool ok = false;

  static void fields(auto& m, auto&& field) { field(m.chunk, m.ok); }
};

struct ConsoleHold {
  bool paused = false;

  static void fields(auto& m, auto&& field) { field(m.paused); }
};

/// In `output` and `ready`; a ready node has no chunk.
struct ConsoleFrom {
  ChunkId chunk = 0;
  Address node = kNoAddress;

  static void fields(auto& m, auto&& field) { field(m.chunk, m.node); }
};

struct ConsoleDone {
  ChunkId chunk = 0;
  Address node = kNoAddress;
  bool ok = true;
  bool interrupted = false;
  bool ran = true;         // false: the node ended, or was to end the chunk, before running it
  bool still = false;      // the chunk has failed, but has not ended on this node
  std::string error = {};  // with its traceback
  double seconds = 0;      // of its run
  uint64_t left_out = 0;   // bytes of output and values beyond the limit

  static void fields(auto& m, auto&& field) {
    field(m.chunk, m.node, m.ok, m.interrupted, m.ran, m.still, lines(m.error), m.seconds, m.left_out);
  }
};

}  // namespace actorhost
