#pragma once
// Checks the flags --barrier, --merge and --attack, before this host contacts another host. Called on the main thread;
// does not block.

#include <string>

#include "host/base/result.hpp"

namespace actorhost {

/// Parses `spec` as actor.`module` does ("barrier", "merge", "attack"), and returns the rule file in it, which may be
/// nested in other rules ("delay_bounded:1:rule.lua:name"); empty without a file. Does not open the file.
/// Code::bad_argument names the valid forms of `spec`.
Result<std::string> rule_file_of(const std::string& module, const std::string& spec);

}  // namespace actorhost
