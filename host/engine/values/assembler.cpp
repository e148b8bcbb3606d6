#include "host/engine/values/assembler.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace actorhost {

namespace {

// A whole tensor with the layout of `piece`, its elements not set.
ParamTensor room_for(const ParamTensor& piece) {
  ParamTensor whole = ParamTensor::whole(piece, {});
  whole.data = Blob::allocate(whole.bytes());
  return whole;
}

void put(ParamTensor& whole, const ParamTensor& piece) {
  if (piece.data.empty()) return;
  std::memcpy(whole.data.data() + piece.first * dtype_size(whole.dtype), piece.data.data(), piece.data.size());
}

// The number of pieces of the first value; 0 if they are not complete and in order.
size_t count_pieces(std::span<const ParamEntry> pieces) {
  const ParamEntry& first = pieces.front();
  const auto* like = std::get_if<ParamTensor>(&first.value);
  if (like == nullptr) return 1;
  uint64_t next = 0;
  for (size_t n = 0; n < pieces.size(); ++n) {
    const auto* piece = std::get_if<ParamTensor>(&pieces[n].value);
    const bool fits = piece != nullptr && pieces[n].key == first.key && piece->first == next &&
                      static_cast<const TensorLayout&>(*piece) == *like;
    if (!fits) return 0;
    next += piece->count;
    if (next == like->elements()) return n + 1;
  }
  return 0;
}

}  // namespace

bool ParamAssembler::Partial::complete() const {
  const auto* tensor = std::get_if<ParamTensor>(&entry.value);
  return !conflict && (tensor == nullptr || have == tensor->elements());
}

void ParamAssembler::own(Blob& bytes) {
  if (bytes.empty() || bytes.unique()) return;
  bytes = Blob::copy_of(bytes.view());
}

void ParamAssembler::add(Partial& to, ParamEntry&& from, bool shared) {
  auto* piece = std::get_if<ParamTensor>(&from.value);
  if (piece == nullptr) {
    to.conflict = to.conflict || to.is_tensor();
    to.entry = std::move(from);
    if (auto* lua = std::get_if<LuaValue>(&to.entry.value); lua != nullptr && !shared) {
      for (Tensor& t : lua->tensors) own(t.data);
    }
    return;
  }
  if (!to.is_tensor()) {
    to.conflict = to.conflict || std::holds_alternative<LuaValue>(to.entry.value);
    to.entry.step = from.step;
    if (piece->is_whole() || shared) {
      if (!shared) own(piece->data);
      to.have = piece->count;
      to.entry.value = std::move(*piece);
      return;
    }
    to.entry.value = room_for(*piece);
  }
  auto& whole = std::get<ParamTensor>(to.entry.value);
  if (static_cast<const TensorLayout&>(whole) != *piece) {
    to.conflict = true;
    return;
  }
  to.have += piece->count;
  to.entry.step = std::max(to.entry.step, from.step);
  if (!whole.is_whole()) {
    if (whole.first + whole.count == piece->first && whole.data.extend(piece->data)) {
      whole.count += piece->count;
      return;
    }
    ParamTensor apart = room_for(whole);
    put(apart, whole);
    whole = std::move(apart);
  }
  put(whole, *piece);
}

Result<std::vector<ParamEntry>> join_pieces(std::vector<ParamEntry> pieces, bool shared) {
  std::vector<ParamEntry> joined;
  std::span<ParamEntry> rest(pieces);
  while (!rest.empty()) {
    const size_t n = count_pieces(rest);
    ParamAssembler::Partial value{{rest.front().key, {}, 0}};
    if (n == 0) {
      return Error{Code::bad_data, "key " + value.entry.key.print() + ": the pieces of " +
                                       std::get<ParamTensor>(rest.front().value).print() +
                                       " are not complete and in order"};
    }
    for (ParamEntry& piece : rest.first(n)) {
      ParamAssembler::add(value, std::move(piece), shared);
      piece.value = {};  // a copied piece releases its bytes
    }
    joined.push_back(std::move(value.entry));
    rest = rest.subspan(n);
  }
  return joined;
}

}  // namespace actorhost
