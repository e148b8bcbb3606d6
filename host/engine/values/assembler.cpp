#include "host/engine/values/assembler.hpp"

#include <algorithm>
#include <cstring>

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

}  // namespace actorhost
