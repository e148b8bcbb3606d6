#include "host/engine/collective/schedule/schedule.hpp"

#include <cassert>

namespace actorhost {

Span block_of(size_t elements, uint32_t blocks, uint32_t index) noexcept {
  assert(blocks > 0);
  const size_t each = elements / blocks;
  const size_t longer = elements % blocks;  // number of blocks with one element more
  const auto start = [&](size_t i) { return i * each + (i < longer ? i : longer); };
  return {start(index), start(index + size_t{1})};
}

}  // namespace actorhost
