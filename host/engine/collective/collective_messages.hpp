#pragma once
// The frames of a collective. `tag` is the call's number; every meta begins with a Route.
//
//   announce  member -> leader  Announce; body: the member's input, if it is small
//   done      member -> leader  -; the member has received all its data
//   give_up   member -> leader  Failure; the member cannot continue
//   result    leader -> member  ResultHead; body: the member's result. Final: the call has succeeded, and all members
//                               get the same result; otherwise the member sends `done` and waits for `commit`
//   go        leader -> member  Go; all members have announced: large inputs may be sent
//   commit    leader -> member  -; all members are done: the call has succeeded
//   failed    leader -> member  Failure; the call has failed on all ranks. After a loss, the member makes no
//                               further call until it knows the failure's epoch
//   piece     any -> any        PieceHead; body: elements of a schedule's buffer
//   parcel    any -> any        ParcelHead; body: bytes that one member gives another
//   query     member -> leader  -; requests a list of the members that the call waits for
//   missing   leader -> member  Missing
//   join      late -> leader    -; a late worker waits for join_point
//   admit     member -> late    body: JoinPoint, the result of join_point

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/wire/carried_value.hpp"
#include "host/wire/message.hpp"
#include "host/wire/packer.hpp"

namespace actorhost {

namespace collective_kind {
inline constexpr auto announce = Kind{0x0200};
inline constexpr auto done = Kind{0x0201};
inline constexpr auto give_up = Kind{0x0202};
inline constexpr auto result = Kind{0x0203};
inline constexpr auto go = Kind{0x0204};
inline constexpr auto commit = Kind{0x0205};
inline constexpr auto failed = Kind{0x0206};
inline constexpr auto piece = Kind{0x0207};
inline constexpr auto parcel = Kind{0x0208};
inline constexpr auto query = Kind{0x0209};
inline constexpr auto missing = Kind{0x020a};
inline constexpr auto join = Kind{0x020b};
inline constexpr auto admit = Kind{0x020c};
inline constexpr auto last = Kind{0x020f};  // of the frames of collectives

constexpr bool is_one(Kind kind) noexcept { return kind >= announce && kind <= missing; }
}  // namespace collective_kind

/// The call's group, and the sender and receiver among its members. Members are named by ids, since ranks that know of
/// different losses count places differently.
struct Route {
  uint32_t group = 0;
  NodeId from = 0;
  NodeId to = 0;

  static void fields(auto& m, auto&& field) { field(m.group, m.from, m.to); }
};

struct Announce {
  uint64_t world = 0;
  uint64_t epoch = 0;
  uint32_t actions = 0;
  bool inlined = false;  // the body is the member's input
  uint64_t bytes = 0;    // `bytes` and `about`: the data that the root of a broadcast will send
  std::string about;
  std::string signature;
  std::string where;
  std::string stale = {};  // not empty if the call can only fail
  NodeId joined = 0;  // all workers with lower ids take part in the calls of all workers, as far as the sender knows
  static void fields(auto& m, auto&& field) {
    field(m.world, m.epoch, m.actions, m.inlined, m.bytes, m.about, m.signature, words(m.where), m.stale, m.joined);
  }
};

struct ResultHead {
  bool final = false;
  static void fields(auto& m, auto&& field) { field(m.final); }
};

struct Go {
  uint64_t bytes = 0;
  std::string about;
  static void fields(auto& m, auto&& field) { field(m.bytes, m.about); }
};

struct PieceHead {
  uint64_t world = 0;
  uint64_t begin = 0;
  static void fields(auto& m, auto&& field) { field(m.world, m.begin); }
};

struct ParcelHead {
  uint64_t world = 0;
  uint64_t offset = 0;
  uint64_t total = 0;
  std::string about;

  bool is_valid() const { return offset <= total; }
  static void fields(auto& m, auto&& field) { field(m.world, m.offset, m.total, m.about); }
};

/// The members that a call waits for: their places, in order.
struct Missing {
  std::vector<uint32_t> absent;      // have not announced the call
  std::vector<uint32_t> unfinished;  // have not finished, though all have announced
  static void fields(auto& m, auto&& field) { field(m.absent, m.unfinished); }
};

struct Failure {
  uint64_t epoch = 0;
  Error error;
  NodeId joined = 0;
  static void fields(auto& m, auto&& field) { field(m.epoch, m.error, m.joined); }
};

/// The result of join_point, which the members also send to the workers that it admits.
struct JoinPoint {
  uint32_t calls = 0;        // number of blocking calls of all workers so far, with this one
  uint32_t async_calls = 0;  // number of their asynchronous calls so far
  uint32_t actions = 0;      // number of actions before this call
  uint64_t epoch = 0;        // a membership that contains all `ids`
  std::vector<NodeId> ids;   // workers that take part in the next calls of all workers
  uint32_t late = 0;         // number of newly admitted workers, at the end of `ids`
  bool is_valid() const { return late <= ids.size(); }
  static void fields(auto& m, auto&& field) { field(m.calls, m.async_calls, m.actions, m.epoch, m.late, m.ids); }
};

/// Reads the route at the beginning of a collective frame's meta.
inline std::optional<Route> route_of(const Frame& frame) {
  Unpacker in(frame.meta.view());
  auto route = unpack_head<Route>(in);
  return route ? std::optional(*route) : std::nullopt;
}

/// Reads the message that follows the route in a frame's meta. The caller has read the route.
template <Message M>
Result<M> read_behind_route(const Frame& frame) {
  Unpacker in(frame.meta.view());
  FieldUnpacker read{in};
  Route route;
  M message{};
  read(route, message);
  if (!in.done()) return Error{Code::bad_data, kBadFields};
  return message;
}

/// The bytes of a frame's body, owned by the caller alone. A body may be shared with other ranks of this process, or
/// refer to the buffer of one of them.
inline Blob own_body(Blob body) { return body.unique() ? std::move(body) : Blob::copy_of(body.data(), body.size()); }

/// "rank 2", "ranks 0, 2"
inline std::string ranks_text(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

/// "barrier: rank 2 has not answered in time (last collective: rank 2 at job.lua:3)"; `lines` may be empty.
inline Error late_error(const std::string& name, const std::vector<uint32_t>& late, const std::string& lines) {
  return {Code::timeout, name + ": " + ranks_text(late) + (late.size() == 1 ? " has" : " have") +
                             " not answered in time" + (lines.empty() ? "" : " (last collective: " + lines + ")")};
}

/// Packs small parcels, some of which may be absent, into one block.
inline Blob pack_parcels(const std::vector<std::optional<PackedValue>>& parcels) {
  return Blob::copy_of(pack(parcels));
}
inline Result<std::vector<std::optional<PackedValue>>> unpack_parcels(std::string_view bytes, size_t count) {
  auto parcels = unpack<std::vector<std::optional<PackedValue>>>(bytes);
  if (parcels && parcels->size() == count) return parcels;
  return Error{Code::bad_data, "the parcels of the ranks are malformed"};
}

}  // namespace actorhost
