#pragma once
// The frames of the parameter server, kinds 0x03xx: their layout, encoding and decoding. Numbers and texts are written
// by Packer. Decoding checks every length against the received bytes; a malformed frame is Code::bad_data.
//
//   meta    = head count:u32 entry*            body = the payloads in order, each from the next multiple of 64
//   entry   = key:text value
//   value   = 0                                nil
//           | 1 layout                         a whole tensor; payload: its elements
//           | 2 layout first:u64 count:u64     one chunk of a tensor; payload: these elements
//           | 3 bytes:u64 n:u32 layout*n       a Lua value; payloads: its encoding, then each tensor's elements
//           | 4                                fetch: the receiver gets the value from the shards
//           | 5 layout first:u64 count:u64 bytes:u64   one chunk of a tensor; payload: filtered (filter.hpp). Only in
//                                              replies to a get with kFiltered, and in tasks and pushes with the flag
//                                              `filtered`
//   layout  = dtype:u8 rank:u8 dim:i64*rank (host/base/tensor.hpp)
//
// A tensor of more than kChunkBytes is sent as several values 2, in order. A message may have several frames; the last
// frame has kLast in its flags. Heads by kind:
//
//   client to shard; the reply has the request's tag:
//     get     0300  count:u32 key*                                          -> values
//     values  0301  step:u64 of each entry's last writer, before its value
//     set     0302  entries as in values                                    -> done
//     keys    0303  - (no entries)                                          -> key_list
//     key_list 0304 count:u32 key*
//     done    0305  nothing: the request `tag`
//     failed  0306  ErrorMessage
//   worker and shard 0:
//     ready   0310  Ready
//     task    0311  TaskHead
//     push    0312  PushHead; to any shard; kLast to shard 0: the step is done
//     stop    0313  Stop
//     reject  0314  Reject                             shard to worker: this push was not applied
//   shard 0 to shards, and back:
//     commit  0320  Commit
//     discard 0321  Discard
//     cut     0322  CheckpointCut                      save the stored values for a checkpoint; or a request to confirm
//                                                      that all commits are merged, answered with a cut to shard 0
//     report  0323  ShardReport                        a push held infinite values or NaN

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "host/engine/param/param_filter.hpp"
#include "host/engine/param/value.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace param_kind {
inline constexpr Kind get{0x0300};
inline constexpr Kind values{0x0301};
inline constexpr Kind set{0x0302};
inline constexpr Kind keys{0x0303};
inline constexpr Kind key_list{0x0304};
inline constexpr Kind done{0x0305};
inline constexpr Kind failed{0x0306};
inline constexpr Kind ready{0x0310};
inline constexpr Kind task{0x0311};
inline constexpr Kind push{0x0312};
inline constexpr Kind stop{0x0313};
inline constexpr Kind reject{0x0314};
inline constexpr Kind commit{0x0320};
inline constexpr Kind discard{0x0321};
inline constexpr Kind cut{0x0322};
inline constexpr Kind report{0x0323};

constexpr bool is_one(Kind kind) noexcept { return within(kind, kinds_of(Kind::param_first)); }
}  // namespace param_kind

namespace param {
// Frame.flags
inline constexpr uint8_t kLast = 1;
inline constexpr uint8_t kNow = 2;       // get, set: answered even during a Lua pull (sent from inside a pull)
inline constexpr uint8_t kFiltered = 4;  // get: the reply may be filtered
}  // namespace param

/// The number of a run of param.run within the job. Frames of another run are ignored.
using RunId = uint32_t;

/// The result of a run; the same on every worker.
struct ParamSummary {
  uint64_t steps = 0;       // completed by the slowest live worker
  uint64_t updates = 0;     // pushes that were merged
  double seconds = 0;       // from the first worker's arrival to the stop
  std::string reason;       // "stop", "seconds", ...
  uint64_t dropped = 0;     // pushes that the merge policy dropped
  uint64_t lost = 0;        // workers that failed during the run
  uint64_t non_finite = 0;  // pushes with a value that is infinite or not a number
  uint64_t in_flight = 0;   // incomplete pushes when the run's seconds were over: not merged
  /// Bytes of all values with and without filtering since the run began or was resumed; empty in a run without filters.
  std::optional<ParamTraffic> traffic = {};
  static void fields(auto& m, auto&& field) {
    field(m.steps, m.updates, m.seconds, words(m.reason), m.dropped, m.lost, m.non_finite, m.in_flight, m.traffic);
  }
  friend bool operator==(const ParamSummary&, const ParamSummary&) = default;
};

struct TaskHead {
  RunId run = 0;
  uint64_t step = 0;      // completed steps of the worker: the clock that it works on
  bool staged = false;    // its push waits for a commit
  bool held = false;      // and the worker waits as long
  bool local = false;     // schedule_local chooses the keys
  bool timed = false;     // the push must report the working time
  bool filtered = false;  // the run has filters
  static void fields(auto& m, auto&& field) { field(m.run, m.step, m.staged, m.held, m.local, m.timed, m.filtered); }
};

struct PushHead {
  RunId run = 0;
  uint64_t step = 0;
  bool staged = false;  // stored until shard 0 commits it
  bool held = false;    // the worker waits for the commit, so its bytes need no copy
  bool timed = false;
  /// The working time, measured by the worker's own clock. Untrusted: may hold any bits. NaN if absent.
  double seconds = std::numeric_limits<double>::quiet_NaN();
  bool filtered = false;
  ParamTraffic traffic = {};  // untrusted as well
  static void fields(auto& m, auto&& field) {
    field(m.run, m.step, m.staged, m.held, m.timed, m.filtered);
    if (m.timed) field(m.seconds);
    if (m.filtered) field(m.traffic);
  }
};

struct CommitItem {
  NodeId worker = 0;
  uint64_t step = 0;
  double scale = 1;
  static void fields(auto& m, auto&& field) { field(m.worker, m.step, m.scale); }
  friend bool operator==(const CommitItem&, const CommitItem&) = default;
};

struct Commit {
  RunId run = 0;
  bool mean = false;  // one update with the sum of scale * update over the items; else each item by itself, in order
  std::vector<CommitItem> items;
  static void fields(auto& m, auto&& field) { field(m.run, m.mean, m.items); }
};

struct Discard {
  enum class Extent : uint8_t {
    one,   // the push of `step`
    rest,  // its pushes from `step` on, also pushes that arrive later
    all    // as `rest`, and all other state of the worker: it has failed
  };
  RunId run = 0;
  NodeId worker = 0;
  Extent extent = Extent::one;
  uint64_t step = 0;
  friend constexpr Extent last_of(Extent) { return Extent::all; }
  static void fields(auto& m, auto&& field) { field(m.run, m.worker, m.extent, m.step); }
};

struct ShardReport {
  NodeId worker = 0;
  uint64_t step = 0;
  std::string message;
  static void fields(auto& m, auto&& field) { field(m.worker, m.step, lines(m.message)); }
};

struct Ready {
  RunId run = 0;
  static void fields(auto& m, auto&& field) { field(m.run); }
};

struct CheckpointCut {
  uint64_t number = 0;
  bool query = false;  // saves nothing: requests a reply when all commits are merged
  static void fields(auto& m, auto&& field) { field(m.number, m.query); }
};

struct Stop {
  RunId run = 0;
  ParamSummary summary;
  static void fields(auto& m, auto&& field) { field(m.run, m.summary); }
};

struct Reject {
  RunId run = 0;
  uint64_t step = 0;
  std::string message;
  static void fields(auto& m, auto&& field) { field(m.run, m.step, words(m.message)); }
};

/// Packs entries into frames: small entries together (copied), a chunk of a large tensor in a frame of its own (by
/// reference).
class EntryPacker {
 public:
  /// `head` is written first into every frame. `with_steps` writes entries in the form of `values`.
  EntryPacker(Kind kind, Address dst, uint32_t tag, std::string_view head, bool with_steps = false);

  EntryPacker& flags(uint8_t flags) {
    flags_ = flags;
    return *this;
  }
  void add(const ParamEntry& entry) { add(entry.key, entry.value, entry.step); }
  void add(const ParamKey& key, const ParamValue& value, uint64_t step = 0);
  /// Adds a tensor or a part of a tensor, cut into chunks.
  void add_tensor(const ParamKey& key, const ParamTensor& tensor, uint64_t step = 0);
  /// Adds one chunk in its filtered form. The chunk's own bytes are not read.
  void add_filtered(const ParamKey& key, const ParamTensor& chunk, const Blob& filtered, uint64_t step = 0);

  /// Appends the frames to `out`: at least one. The last frame has kLast.
  void finish(std::vector<Frame>& out);

 private:
  void begin_entry(const ParamKey& key, uint64_t step);
  void put_layout(const TensorLayout& tensor);
  void put_chunk(const ParamKey& key, const ParamTensor& chunk, uint64_t step);
  void put_lua(const LuaValue& lua);
  void add_payload(const Blob& bytes);
  void close_frame();

  Kind kind_;
  Address dst_;
  uint32_t tag_;
  uint8_t flags_ = 0;
  bool with_steps_;
  std::string head_;
  Packer entries_;
  uint32_t count_ = 0;
  std::vector<Blob> payloads_;
  size_t body_bytes_ = 0;
  size_t decoded_bytes_ = 0;  // of filtered chunks
  std::vector<Frame> frames_;
};

/// Reads `count entry*` after a head. Tensors share `body`; filtered tensors are decoded. Adds the sizes of the values,
/// decoded and as received, to `bytes`.
Status read_entries(Unpacker& in, const Blob& body, bool with_steps, std::vector<ParamEntry>& out,
                    FilterBytes* bytes = nullptr);
/// Reads `count key*`.
Status read_keys(Unpacker& in, std::vector<ParamKey>& out);

/// Packs get and key_list frames. Splits long key lists to keep each frame's meta within its limit.
void pack_keys(Kind kind, Address dst, uint32_t tag, std::string_view head, std::span<const ParamKey> keys,
               std::vector<Frame>& out);

}  // namespace actorhost
