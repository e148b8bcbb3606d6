#pragma once
// The frames of a collective. `tag` is the call's number; every meta begins with a Route.
//
//   announce  member -> leader  Announce; body: its input, where that is small
//   done      member -> leader  -; this rank has all that the call owes it
//   trouble   member -> leader  Failure; this rank cannot go on
//   result    leader -> member  ResultHead; body: what the call gives this rank. Final: the call has worked, and
//                               everybody gets the same; else the rank tells that it is done, and waits for the commit
//   go        leader -> member  Go; all have announced: the large inputs may travel
//   commit    leader -> member  -; all are done: the call has worked
//   failed    leader -> member  Failure; the call has failed, on every rank. A rank that is told of a loss makes no
//                               further call before it knows of the epoch
//   piece     any -> any        PieceHead; body: elements of a schedule's buffer
//   parcel    any -> any        ParcelHead; body: bytes of what one gives another
//   who       member -> leader  -; whom does the call wait for?
//   missing   leader -> member  Missing
//   knock     late -> leader    -; a worker that has joined late waits for join_point
//   let_in    member -> late    body: JoinPoint, what join_point has given those who made it

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
inline constexpr auto trouble = Kind{0x0202};
inline constexpr auto result = Kind{0x0203};
inline constexpr auto go = Kind{0x0204};
inline constexpr auto commit = Kind{0x0205};
inline constexpr auto failed = Kind{0x0206};
inline constexpr auto piece = Kind{0x0207};
inline constexpr auto parcel = Kind{0x0208};
inline constexpr auto who = Kind{0x0209};
inline constexpr auto missing = Kind{0x020a};
inline constexpr auto knock = Kind{0x020b};
inline constexpr auto let_in = Kind{0x020c};
inline constexpr auto last = Kind{0x020f};  // of the collectives' own

constexpr bool is_one(Kind kind) noexcept { return kind >= announce && kind <= missing; }
}  // namespace collective_kind

/// Which group's call, and between which of its members: by ids, since places differ between ranks that do not know of
/// the same losses.
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
  bool inlined = false;  // its input is the body
  uint64_t bytes = 0;    // these two: what the root of a broadcast will send
  std::string about;
  std::string signature;
  std::string where;
  std::string stale = {};  // not empty where the call can only fail
  NodeId joined = 0;       // all workers with ids below make the calls of all, as far as it knows
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

  bool sound() const { return offset <= total; }
  static void fields(auto& m, auto&& field) { field(m.world, m.offset, m.total, m.about); }
};

/// The members for which a call waits: their places, in order.
struct Missing {
  std::vector<uint32_t> absent;      // have not announced
  std::vector<uint32_t> unfinished;  // all are here, these are not done
  static void fields(auto& m, auto&& field) { field(m.absent, m.unfinished); }
};

struct Failure {
  uint64_t epoch = 0;
  Error error;
  NodeId joined = 0;
  static void fields(auto& m, auto&& field) { field(m.epoch, m.error, m.joined); }
};

/// The result of join_point, which is also sent to the workers that it lets in.
struct JoinPoint {
  uint32_t calls = 0;        // of everybody, made and
  uint32_t async_calls = 0;  // started before
  uint32_t actions = 0;      // that they have entered
  uint64_t epoch = 0;        // in which all of `ids` are there
  std::vector<NodeId> ids;   // the workers that make the calls of all from now on
  uint32_t late = 0;         // so many of these, the last ones, since now
  bool sound() const { return late <= ids.size(); }
  static void fields(auto& m, auto&& field) { field(m.calls, m.async_calls, m.actions, m.epoch, m.late, m.ids); }
};

/// The front of any collective frame's meta.
inline std::optional<Route> route_of(const Frame& frame) {
  Unpacker in(frame.meta.view());
  auto route = unpack_head<Route>(in);
  return route ? std::optional(*route) : std::nullopt;
}

/// The message behind the route in a frame's meta; the caller has read the route.
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

/// "rank 2", "ranks 0, 2"
std::string ranks_text(const std::vector<uint32_t>& ranks);

/// "barrier: rank 2 has not answered in time (last collective: rank 2 at job.lua:3)"; `lines` may be empty.
Error late_error(const std::string& name, const std::vector<uint32_t>& late, const std::string& lines);

/// Small parcels, some of which may not be there, as one block.
Blob pack_parcels(const std::vector<std::optional<PackedValue>>& parcels);
Result<std::vector<std::optional<PackedValue>>> unpack_parcels(std::string_view bytes, size_t count);

}  // namespace actorhost
