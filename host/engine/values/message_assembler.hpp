#pragma once
// Collects the entries of messages in several frames. The owner of the messages feeds frames in the order of arrival
// and reports lost senders. Passive; not thread-safe.
//
// A sender's tags increase, and the frames of one message arrive in order. A whole message therefore ends the sender's
// half messages of lower tags: their other frames were lost with a connection.

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "host/engine/values/entries.hpp"

namespace actorhost {

/// `Sender` has an order.
template <typename Sender>
class MessageAssembler {
 public:
  /// Adds the entries behind the head of `frame`; `in` has read the head. Releases the frame's body, so that an entry
  /// alone in its frame is the only owner of its bytes. Returns the entries of the whole message with its last frame,
  /// else nullopt. Code::bad_data drops the message.
  Result<std::optional<std::vector<ParamEntry>>> add(const Sender& sender, Frame& frame, Unpacker& in,
                                                     bool with_steps) {
    const auto half = half_.try_emplace({sender, frame.tag}).first;
    std::vector<ParamEntry> entries;
    const Status read = read_entries(in, frame.body, with_steps, entries);
    frame.body = {};
    if (!read.ok()) {
      half_.erase(half);
      return malformed(frame, read.error().message);
    }
    std::vector<ParamEntry>& all = half->second;
    all.insert(all.end(), std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
    if ((frame.flags & kLastFrame) == 0) return std::optional<std::vector<ParamEntry>>();
    std::optional<std::vector<ParamEntry>> whole(std::move(all));
    half_.erase(half_.lower_bound({sender, 0}), std::next(half));
    return whole;
  }

  /// Drops the half messages of the senders for which `lost` holds.
  template <typename Lost>
  void forget(const Lost& lost) {
    std::erase_if(half_, [&](const auto& half) { return lost(half.first.first); });
  }

 private:
  std::map<std::pair<Sender, uint32_t>, std::vector<ParamEntry>> half_;
};

}  // namespace actorhost
