#pragma once
// The slots of a hash table that combines rows: an array of zeroed CombineSlots, whose number is a power of two. From
// 1 MiB on the system provides each page at its first use, as huge pages if available: lookups access random slots, and
// huge pages need fewer entries of the TLB. One thread at a time; no call blocks. Throws OutOfMemory.

#include <cstddef>
#include <cstdlib>
#include <utility>

#include <sys/mman.h>

#include "host/base/out_of_memory.hpp"
#include "host/mapreduce/rows/combine_slot.hpp"

namespace actorhost {

class SlotArray {
 public:
  SlotArray() = default;
  explicit SlotArray(size_t count) : count_(count) {
    if (!mapped()) {
      slots_ = static_cast<CombineSlot*>(std::calloc(count, sizeof(CombineSlot)));
      if (slots_ == nullptr) throw OutOfMemory(bytes());
      return;
    }
    void* pages = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw OutOfMemory(bytes());
    ::madvise(pages, bytes(), MADV_HUGEPAGE);
    slots_ = static_cast<CombineSlot*>(pages);
  }
  SlotArray(SlotArray&& other) noexcept
      : slots_(std::exchange(other.slots_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  SlotArray& operator=(SlotArray&& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~SlotArray() {
    if (mapped()) {
      ::munmap(slots_, bytes());
    } else {
      std::free(slots_);
    }
  }

  CombineSlot& operator[](size_t i) noexcept { return slots_[i]; }
  CombineSlot* data() noexcept { return slots_; }
  const CombineSlot* data() const noexcept { return slots_; }
  size_t count() const noexcept { return count_; }
  size_t bytes() const noexcept { return count_ * sizeof(CombineSlot); }

 private:
  bool mapped() const noexcept { return bytes() >= size_t{1} << 20; }

  CombineSlot* slots_ = nullptr;
  size_t count_ = 0;
};

}  // namespace actorhost
