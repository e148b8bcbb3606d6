#include "host/engine/average/average_messages.hpp"

#include <algorithm>

namespace actorhost {

uint32_t RoundGo::weights() const noexcept {
  return static_cast<uint32_t>(
      std::count_if(participants.begin(), participants.end(), [](const Participant& p) { return p.weighted; }));
}

}  // namespace actorhost
