#include "host/engine/values/key_list.hpp"

#include <nlohmann/json.hpp>

namespace actorhost {

std::shared_ptr<KeyRow> KeyList::add(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (rows_.size() >= kMost) return nullptr;
  rows_.push_back(std::make_shared<KeyRow>());
  rows_.back()->name_ = name;
  return rows_.back();
}

void KeyList::describe(KeyRow& row, const TensorLayout* tensor) {
  std::lock_guard lock(mutex_);
  row.tensor_ = tensor != nullptr;
  row.dtype_ = tensor != nullptr ? dtype_name(tensor->dtype) : "lua";
  row.shape_ = tensor != nullptr ? tensor->shape : Shape();
}

void KeyList::remove(const std::shared_ptr<KeyRow>& row) {
  std::lock_guard lock(mutex_);
  std::erase(rows_, row);
}

void KeyList::report(nlohmann::json& out, uint32_t shard) const {
  using nlohmann::json;
  std::lock_guard lock(mutex_);
  for (const auto& row : rows_) {
    json key = {{"key", row->name_},
                {"dtype", row->dtype_},
                {"bytes", row->bytes.get()},
                {"version", row->version.get()},
                {"updates", row->updates.get()},
                {"shard", shard}};
    if (row->tensor_) key["shape"] = std::vector<int64_t>(row->shape_.begin(), row->shape_.end());
    out["keys"].push_back(std::move(key));
  }
}

}  // namespace actorhost
