#pragma once
// Starts this program again as a child, which does not outlive this process. Between fork and exec the child does only
// what is safe while other threads of the parent hold locks (of the allocator, of the environment): all memory is
// allocated before. The child ends with the thread that started it. Blocks for the fork only.

#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/result.hpp"

namespace actorhost {

enum class Interrupt { kept, ignored };  // what the child does with Ctrl-C

/// Starts this program with `args` and the environment of this process, in which `variable` is `value`. With `output`,
/// a descriptor of this process, the child writes there instead of to standard output and error, reads nothing, and is
/// a process group of its own, which the terminal does not signal.
Result<pid_t> start_child(const std::vector<std::string>& args, const std::string& variable, const std::string& value,
                          Interrupt interrupt, int output = -1);

}  // namespace actorhost
