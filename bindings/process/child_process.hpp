#pragma once
// Starts this program again as a child, which does not outlive this process. All memory is allocated before the fork:
// other threads of the parent may hold locks (of the allocator, of the environment), so the child calls only
// async-signal-safe functions before exec. The child ends with the thread that started it. Blocks only for the fork.

#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/result.hpp"

namespace actorhost {

enum class Interrupt { inherited, ignored };  // the child's reaction to Ctrl-C

/// Starts this program with `args` and this process's environment plus `variable`=`value`. With a descriptor `output`,
/// the child writes to `output` instead of standard output and error, has no input, and leads its own process group,
/// which the terminal does not signal.
Result<pid_t> start_child(const std::vector<std::string>& args, const std::string& variable, const std::string& value,
                          Interrupt interrupt, int output = -1);

}  // namespace actorhost
