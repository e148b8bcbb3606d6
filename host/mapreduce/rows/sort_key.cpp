#include "host/mapreduce/rows/sort_key.hpp"

namespace actorhost {

bool KeyKinds::takes_first(const RowValue& key, uint8_t kind) noexcept {
  if (!is_key(key)) return false;
  if (order_ == SortOrder::hash) return is_key(key);
  if (any_) return false;
  any_ = true;
  kind_ = kind;
  first_ = describe(key);
  return true;
}

Error KeyKinds::refused(const RowValue& key) const {
  const bool comparable = is_key(key);
  if (!comparable || order_ == SortOrder::hash || !any_) return not_a_key(key);
  return {Code::bad_argument, "cannot compare " + describe(key) + " with " + first_};
}

}  // namespace actorhost
