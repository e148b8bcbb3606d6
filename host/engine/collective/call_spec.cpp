#include "host/engine/collective/call_spec.hpp"

namespace actorhost {

Span CallSpec::result_span(uint32_t member, uint32_t members) const noexcept {
  if (kind == CollectiveKind::reduce && member != root) return {};
  if (kind != CollectiveKind::reduce_scatter) return {0, elements()};
  return Place{member, members, elements(), unit}.block(member);
}

std::string choice_text(const CallSpec& spec, const CallResult& result, uint32_t ranks, const char* choice) {
  size_t bytes = spec.input.size() + result.parcel.body.size();
  for (const auto& parcel : spec.outgoing) bytes += parcel ? parcel->bytes() : 0;
  return spec.name + " of " + std::to_string(bytes) + " bytes among " + std::to_string(ranks) + " ranks: " + choice;
}

void ChoiceLog::log(Log& log, const std::string& source, const std::string& choice) {
  if (logged_.size() < kMost && logged_.insert(choice).second) log.debug(source, choice);
}

}  // namespace actorhost
