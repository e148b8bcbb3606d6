#pragma once
// --barrier, judged before anybody is met. Main thread.

#include <string>

#include "host/base/result.hpp"

namespace actorhost {

/// Whether `spec` names a rule, as actor.barrier reads it; a rule file is not opened. Code::bad_argument says what it
/// may be.
Status check_barrier_flag(const std::string& spec);

}  // namespace actorhost
