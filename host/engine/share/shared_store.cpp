#include "host/engine/share/shared_store.hpp"

#include <limits>
#include <utility>

#include "host/kernel/kernels.hpp"

namespace actorhost {

void SharedStore::publish(const SharedPart& part, NodeId owner, PackedValue value) {
  parts_[part] = Entry{owner, std::move(value)};
}

void SharedStore::withdraw(uint32_t table, NodeId owner) {
  auto at = parts_.lower_bound({table, std::numeric_limits<int64_t>::min()});
  while (at != parts_.end() && at->first.table == table) {
    at = at->second.owner == owner ? parts_.erase(at) : std::next(at);
  }
}

const PackedValue* SharedStore::find(const SharedPart& part, NodeId owner) const {
  const auto at = parts_.find(part);
  return at != parts_.end() && at->second.owner == owner ? &at->second.value : nullptr;
}

const PackedValue* SharedStore::find(const SharedPart& part) const {
  const auto at = parts_.find(part);
  return at != parts_.end() ? &at->second.value : nullptr;
}

bool SharedStore::write(const SharedPart& part, PackedValue value) {
  const auto at = parts_.find(part);
  if (at == parts_.end()) return false;
  at->second.value = std::move(value);
  return true;
}

bool SharedStore::add(const SharedPart& part, const PackedValue& change) {
  const auto at = parts_.find(part);
  if (at == parts_.end()) return false;
  auto& [head, body] = at->second.value;
  const auto given = unpack_value(change);
  const auto* tensor = given ? std::get_if<Tensor>(&*given) : nullptr;
  if (tensor == nullptr || head != change.head || body.size() != change.body.size()) return false;
  if (body.empty()) return true;
  if (!body.unique()) body = Blob::copy_of(body.data(), body.size());
  kernel::kernels().axpy(tensor->dtype, tensor->shape.elements(), 1.0, change.body.data(), 1, body.data(), 1);
  return true;
}

}  // namespace actorhost
