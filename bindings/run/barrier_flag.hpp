#pragma once
// Checks --barrier before this host meets any other. Main thread.

#include <string>

#include "host/base/result.hpp"

namespace actorhost {

/// The rule file that `spec` names, by itself or within other rules ("delay_bounded:1:rule.lua:name"), as actor.barrier
/// reads it; empty when it names none. The file is not opened. Code::bad_argument says what `spec` may be.
Result<std::string> rule_file_of(const std::string& spec);

}  // namespace actorhost
