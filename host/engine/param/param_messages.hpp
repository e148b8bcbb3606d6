#pragma once
// The frames of the parameter server, kinds 0x03xx: their layout, and encoding and decoding them. Numbers and texts
// are as Packer writes them; everything that is read is checked against the bytes that are there, and a frame that is
// not what it claims to be is Code::bad_data.
//
//   meta    = head count:u32 entry*            body = the payloads in order, each from the next multiple of 64
//   entry   = key:text value
//   value   = 0                                nil
//           | 1 layout                         a whole tensor; payload: its elements
//           | 2 layout first:u64 count:u64     one chunk of a tensor; payload: these elements
//           | 3 bytes:u64 n:u32 layout*n       a Lua value; payloads: its encoding, then each tensor's elements
//           | 4                                fetch: the receiver gets the value from the shards
//           | 5 layout first:u64 count:u64 bytes:u64   one chunk of a tensor; payload: filtered (filter.hpp). Only in
//                                              answers to a get with kFiltered, in pushes that say so, and in tasks
//                                              that ask for it
//   layout  = dtype:u8 rank:u8 dim:i64*rank (host/base/tensor.hpp)
//
// A tensor of more than kChunkBytes travels as several values 2, in order. One message may take several frames; the
// last has kLast in its flags. Heads by kind:
//
//   client to shard, answered with the request's tag:
//     get     0300  count:u32 key*                                          -> values
//     values  0301  step:u64 of each entry's last writer stands before its value
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
//     cut     0322  CheckpointCut                             a checkpoint: what is stored now; or a question whether
//                                                    all is merged, answered with a cut to shard 0
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
inline constexpr uint8_t kNow = 2;       // get, set: answered even while a Lua pull is going on (from inside one)
inline constexpr uint8_t kFiltered = 4;  // get: the answer may be filtered
}  // namespace param

/// The number of a run of param.run within the job; frames of another run are not for us.
using RunId = uint32_t;

/// What a run came to; the same on every worker.
struct ParamSummary {
  uint64_t steps = 0;       // completed by the slowest live worker
  uint64_t updates = 0;     // pushes that were merged
  double seconds = 0;       // from the first worker's arrival to the stop
  std::string reason;       // "stop", "seconds", ...
  uint64_t dropped = 0;     // pushes that the merge policy refused
  uint64_t lost = 0;        // workers lost on the way
  uint64_t non_finite = 0;  // pushes with a value that is infinite or not a number
  uint64_t in_flight = 0;   // pushes that were under way when the run's seconds were over: not merged
  /// What went through the run's filters, or beside them, since the run was begun or resumed; nothing without filters.
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
  bool timed = false;     // the push is to say how long the work took
  bool filtered = false;  // the run has filters
  static void fields(auto& m, auto&& field) { field(m.run, m.step, m.staged, m.held, m.local, m.timed, m.filtered); }
};

struct PushHead {
  RunId run = 0;
  uint64_t step = 0;
  bool staged = false;  // kept until shard 0 commits it
  bool held = false;    // the worker waits for the commit, so its bytes need no copy
  bool timed = false;
  /// What the worker measured with its own clock. A claim: any bits may come. NaN when nothing came.
  double seconds = std::numeric_limits<double>::quiet_NaN();
  bool filtered = false;
  ParamTraffic traffic = {};  // a claim as well
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
  bool mean = false;  // one update with the sum of scale * update over the items; else each by itself, in order
  std::vector<CommitItem> items;
  static void fields(auto& m, auto&& field) { field(m.run, m.mean, m.items); }
};

struct Discard {
  enum class Extent : uint8_t {
    one,   // the push of `step`
    rest,  // its pushes from `step` on, also those that come later
    gone   // these, and whatever else the worker was about: it is lost
  };
  RunId run = 0;
  NodeId worker = 0;
  Extent extent = Extent::one;
  uint64_t step = 0;
  friend constexpr Extent last_of(Extent) { return Extent::gone; }
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
  bool asks = false;  // nothing is saved: the shard answers when it has merged what was committed
  static void fields(auto& m, auto&& field) { field(m.number, m.asks); }
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

/// Packs entries into frames: small ones together (copied), a chunk of a big tensor in one of its own (by reference).
class EntryPacker {
 public:
  /// `head` goes first into every frame; `with_steps` writes entries as `values` has them.
  EntryPacker(Kind kind, Address dst, uint32_t tag, std::string_view head, bool with_steps = false);

  EntryPacker& flags(uint8_t flags) {
    flags_ = flags;
    return *this;
  }
  void add(const ParamEntry& entry) { add(entry.key, entry.value, entry.step); }
  void add(const ParamKey& key, const ParamValue& value, uint64_t step = 0);
  /// A tensor or part of one; cut into chunks.
  void add_tensor(const ParamKey& key, const ParamTensor& tensor, uint64_t step = 0);
  /// One chunk in its filtered form; the chunk's own bytes are not looked at.
  void add_filtered(const ParamKey& key, const ParamTensor& chunk, const Blob& filtered, uint64_t step = 0);

  /// Moves the frames to the end of `out`: at least one, the last one flagged so.
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
  size_t decoded_bytes_ = 0;  // of what is filtered
  std::vector<Frame> frames_;
};

/// Reads `count entry*` behind a head; tensors share `body`, filtered ones are decoded. Adds to `bytes` what the values
/// weigh and what came in their place.
Status read_entries(Unpacker& in, const Blob& body, bool with_steps, std::vector<ParamEntry>& out,
                    FilterBytes* bytes = nullptr);
/// Reads `count key*`.
Status read_keys(Unpacker& in, std::vector<ParamKey>& out);

/// get and key_list frames. Key lists are cut so that no frame's meta grows past its limit.
void pack_keys(Kind kind, Address dst, uint32_t tag, std::string_view head, std::span<const ParamKey> keys,
               std::vector<Frame>& out);

}  // namespace actorhost
