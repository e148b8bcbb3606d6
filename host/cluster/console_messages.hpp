#pragma once
// Chunks of Lua on the nodes of a run, on their way between the rendezvous host (ConsoleHub) and the processes
// (QuestionDesk): kinds 0x0130 to 0x0137 of the cluster's range.

#include <cstdint>
#include <string>
#include <vector>

#include "host/wire/message.hpp"

namespace actorhost {

namespace console_kind {
inline constexpr auto ask = Kind{0x0130};     // head -> process: run this chunk on these nodes; the source is the body
inline constexpr auto cut = Kind{0x0131};     // head -> process: end a chunk, or fail its waits
inline constexpr auto over = Kind{0x0132};    // head -> process: a chunk for all nodes is over on all of them
inline constexpr auto hold = Kind{0x0133};    // head -> process: the workers stop at their next engine call, or go on
inline constexpr auto output = Kind{0x0134};  // process -> head: what a chunk has printed (body)
inline constexpr auto done = Kind{0x0135};    // process -> head: how a chunk has ended on a node; its values (body)
inline constexpr auto ready = Kind{0x0136};   // process -> head: a worker's script waits for chunks
inline constexpr auto leave = Kind{0x0137};   // head -> process: end at once, as if killed
constexpr bool is_one(Kind kind) noexcept { return kind >= ask && kind <= leave; }
}  // namespace console_kind

/// The number of a chunk in its run, from 1.
using ChunkId = uint32_t;

struct ConsoleAsk {
  ChunkId chunk = 0;
  bool together = false;            // all nodes run it, outside of engine calls, in the order of chunks
  std::vector<Address> nodes = {};  // of this process; of a chunk for all nodes its workers
  std::string name = {};            // as errors show it
  std::string mode = {};            // how values are shown: "table", "lua", "json"
  std::vector<std::string> arguments = {};
  uint64_t limit = 0;     // bytes of output that are wanted
  uint32_t restarts = 0;  // of a chunk for all nodes: how often such a chunk has failed before
  uint32_t actions = 0;   // of a chunk for all nodes: how many actions have been entered before

  static void fields(auto& m, auto&& field) {
    field(m.chunk, m.together, m.nodes, words(m.name), m.mode, m.arguments, m.limit, m.restarts, m.actions);
  }
};

/// `why` is empty where somebody has interrupted the chunk: then it ends wherever it is. Else a node has failed, which
/// ends the waits of the others.
struct ConsoleCut {
  ChunkId chunk = 0;
  std::string why = {};

  static void fields(auto& m, auto&& field) { field(m.chunk, lines(m.why)); }
};

/// Also what has become of a chunk for all nodes, so that servers that start later run those that have worked.
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
  bool ran = true;         // false: the node has ended, or was told to end it, before it ran
  bool still = false;      // it has failed for all nodes, but has not ended on this one
  std::string error = {};  // with its traceback
  double seconds = 0;      // of its run
  uint64_t left_out = 0;   // bytes of output and values that were over the limit

  static void fields(auto& m, auto&& field) {
    field(m.chunk, m.node, m.ok, m.interrupted, m.ran, m.still, lines(m.error), m.seconds, m.left_out);
  }
};

}  // namespace actorhost
