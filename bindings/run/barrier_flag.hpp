#pragma once
// Checks --barrier before this host contacts another host. Main thread.

#include <string>

#include "host/base/result.hpp"

namespace actorhost {

/// The rule file in `spec`, by itself or within other rules ("delay_bounded:1:rule.lua:name"), as actor.barrier parses
/// it; empty without a file. Does not open the file. Code::bad_argument names the valid forms of `spec`.
Result<std::string> rule_file_of(const std::string& spec);

}  // namespace actorhost
