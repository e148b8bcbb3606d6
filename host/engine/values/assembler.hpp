#pragma once
// Joins tensors from their pieces.

#include <vector>

#include "host/engine/values/value.hpp"

namespace actorhost {

/// Assembles tensors from their pieces. Unless values are shared, gives the receiver its own memory.
class ParamAssembler {
 public:
  struct Partial {
    ParamEntry entry;       // a tensor is whole, allocated with the first piece; a shared tensor grows
    uint64_t have = 0;      // received elements
    bool conflict = false;  // pieces of different tensors arrived
    bool is_tensor() const { return std::holds_alternative<ParamTensor>(entry.value); }
    bool complete() const;
  };
  /// Adds a value or a piece. `shared`: the receiver does not write to the value, so bytes with another owner and
  /// adjacent pieces of one block are not copied.
  static void add(Partial& to, ParamEntry&& from, bool shared = false);

 private:
  static void own(Blob& bytes);
};

/// Joins the adjacent pieces of each tensor; other entries stay as they are. Code::bad_data: the pieces of a tensor are
/// not complete and in order; no memory is allocated for them. `shared` as in ParamAssembler::add.
Result<std::vector<ParamEntry>> join_pieces(std::vector<ParamEntry> pieces, bool shared = false);

}  // namespace actorhost
