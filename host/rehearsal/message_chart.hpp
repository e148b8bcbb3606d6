#pragma once
// A picture of the newest messages of a rehearsal: a vertical line for each host, the time downwards, an arrow for each
// write from its start to its arrival. Idle times are shortened. A write may carry several frames; its colour is the
// layer of the first frame.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "host/rehearsal/fault_settings.hpp"
#include "host/rehearsal/virtual_time.hpp"

namespace actorhost::rehearsal {

/// The layer of the frame that begins there; empty for a handshake, or for a further part of a frame.
std::string_view layer_of(std::string_view bytes);

class MessageChart {
 public:
  /// `from` sends `bytes` of a layer at a time, and they arrive at `to`.
  void add(uint32_t from, uint32_t to, Time sent, Time arrives, std::string_view layer, size_t bytes);
  /// The picture as SVG, with the faults since the oldest message in it.
  std::string svg(const std::vector<Fault>& faults) const;

 private:
  static constexpr size_t kMost = 400;  // messages in the picture
  struct Message {
    uint32_t from;
    uint32_t to;
    Time sent;
    Time arrives;
    size_t bytes;
    std::string_view layer;  // one of kKindRanges, or empty
  };
  std::deque<Message> messages_;
};

}  // namespace actorhost::rehearsal
