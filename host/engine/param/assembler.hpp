#pragma once
// Puts tensors of the parameter server together from their pieces: in workers, and in shards for a Lua `pull`.

#include "host/engine/param/value.hpp"

namespace actorhost {

/// Puts tensors together from their pieces and, unless they are shared, makes values the receiver's own.
class ParamAssembler {
 public:
  struct Partial {
    ParamEntry entry;       // a tensor here is whole, its bytes are allocated with the first piece; shared, it grows
    uint64_t have = 0;      // elements that are there
    bool conflict = false;  // pieces of different tensors came
    bool is_tensor() const { return std::holds_alternative<ParamTensor>(entry.value); }
    bool complete() const;
  };
  /// Adds a value or a piece. `shared`: the receiver will not write to it, so bytes that others hold, and pieces that
  /// lie behind each other in one block, are not copied.
  static void add(Partial& to, ParamEntry&& from, bool shared = false);

 private:
  static void own(Blob& bytes);
};

}  // namespace actorhost
