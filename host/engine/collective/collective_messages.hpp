#pragma once
// The frames of a collective. `tag` is the call's number; every meta begins with a Route. Decoders check all bounds.
//
//   announce  member -> leader  Route world:u64 epoch:u64 actions:u32 inlined:u8 bytes:u64 about:text signature:text
//                               where:text stale:text joined:u32; body: its input, where that is small; bytes and
//                               about: what the root of a broadcast will send; stale: not empty where the call can only
//                               fail; joined: all workers with ids below make everybody's calls, as far as it knows
//   done      member -> leader  Route; this rank has all that the call owes it
//   trouble   member -> leader  Route epoch:u64 code:u32 message:text; this rank cannot go on
//   result    leader -> member  Route final:u8; body: what the call gives this rank. Final: the call has worked, and
//                               everybody gets the same; else the rank tells that it is done, and waits for the commit
//   go        leader -> member  Route bytes:u64 about:text; all have announced: the large inputs may travel
//   commit    leader -> member  Route; all are done: the call has worked
//   failed    leader -> member  Route epoch:u64 code:u32 message:text joined:u32; the call has failed, on every rank.
//                               Who is told that somebody is lost makes no further call before it knows of the epoch
//   piece     any -> any        Route world:u64 begin:u64; body: elements of a schedule's buffer
//   parcel    any -> any        Route world:u64 offset:u64 total:u64 about:text; body: bytes of what one gives another
//   who       member -> leader  Route; whom does the call wait for?
//   missing   leader -> member  Route n:u32 absent:u32*n m:u32 unfinished:u32*m; members that have not announced, and
//                               those that have but are not done
//   knock     late -> leader    Route; a worker that has joined late waits for join_point
//   let_in    member -> late    body: calls:u32 async_calls:u32 actions:u32 epoch:u64 late:u32 n:u32 id:u32*n; what
//                               join_point has given those who made it

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/wire/frame.hpp"
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

  void put(Packer& out) const { out.put(group).put(from).put(to); }
  /// The front of any collective frame's meta.
  static std::optional<Route> of(const Frame& frame);
};

/// What a rank gives another: bytes, and what they are in a few words of the layer above (dtype and shape, ...).
struct Parcel {
  std::string about;
  Blob body;

  size_t cost() const noexcept { return about.size() + body.size(); }
};

struct Announce {
  uint64_t world = 0;
  uint64_t epoch = 0;
  uint32_t actions = 0;
  bool inlined = false;
  uint64_t bytes = 0;
  std::string about;
  std::string signature;
  std::string where;
  std::string stale = {};
  NodeId joined = 0;

  std::string encode(const Route& route) const;
  static Result<Announce> decode(std::string_view meta);
};

struct ResultHead {
  bool final = false;

  std::string encode(const Route& route) const;
  static Result<ResultHead> decode(std::string_view meta);
};

struct Go {
  uint64_t bytes = 0;
  std::string about;

  std::string encode(const Route& route) const;
  static Result<Go> decode(std::string_view meta);
};

struct PieceHead {
  uint64_t world = 0;
  uint64_t begin = 0;

  std::string encode(const Route& route) const;
  static Result<PieceHead> decode(std::string_view meta);
};

struct ParcelHead {
  uint64_t world = 0;
  uint64_t offset = 0;
  uint64_t total = 0;
  std::string about;

  /// How it begins, before `about`.
  std::string front(const Route& route) const;
  std::string encode(const Route& route) const;
  static Result<ParcelHead> decode(std::string_view meta);
};

/// Whom a call waits for: places of members, in order.
struct Missing {
  std::vector<uint32_t> absent;      // have not announced
  std::vector<uint32_t> unfinished;  // all are here, these are not done

  std::string encode(const Route& route) const;
  static Result<Missing> decode(std::string_view meta);
};

struct Failure {
  uint64_t epoch = 0;
  Error error;
  NodeId joined = 0;

  std::string encode(const Route& route) const;
  /// What it says, or that it says nothing that can be read.
  static Result<Failure> decode(std::string_view meta);
};

/// What join_point gives everybody, and tells those whom it lets in.
struct JoinPoint {
  uint32_t calls = 0;        // of everybody, made and
  uint32_t async_calls = 0;  // started before
  uint32_t actions = 0;      // that they have entered
  uint64_t epoch = 0;        // in which all of `ids` are there
  std::vector<NodeId> ids;   // who makes everybody's calls from now on
  uint32_t late = 0;         // so many of these, the last ones, since now

  std::string encode() const;
  static Result<JoinPoint> decode(std::string_view bytes);
};

/// "rank 2", "ranks 0, 2"
std::string ranks_text(const std::vector<uint32_t>& ranks);

/// "barrier: rank 2 has not answered in time (last collective: rank 2 at job.lua:3)"; `lines` may be empty.
Error late_error(const std::string& name, const std::vector<uint32_t>& late, const std::string& lines);

/// Small parcels, some of which may not be there, as one block.
Blob pack_parcels(const std::vector<std::optional<Parcel>>& parcels);
Result<std::vector<std::optional<Parcel>>> unpack_parcels(std::string_view bytes, size_t count);

}  // namespace actorhost
