#pragma once
// Virtual time in nanoseconds.

#include <cstdint>

namespace actorhost::rehearsal {

using Time = uint64_t;
inline constexpr Time kSecond = 1'000'000'000;
/// The time at which a rehearsal starts.
inline constexpr Time kStart = kSecond;
inline double seconds(Time time) { return static_cast<double>(time) / static_cast<double>(kSecond); }

}  // namespace actorhost::rehearsal
