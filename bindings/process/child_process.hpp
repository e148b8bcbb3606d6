#pragma once
// Starts programs as children that do not outlive this process. All memory is allocated before the fork: other threads
// of the parent may hold locks (of the allocator, of the environment), so the child calls only async-signal-safe
// functions before exec. A child ends with the thread that started it. Blocks until the program has begun.

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "host/base/result.hpp"

namespace actorhost {

enum class Interrupt { inherited, ignored };  // the child's reaction to Ctrl-C

/// The descriptors of a child's standard files; -1: the file of this process.
struct ChildFiles {
  int input = -1;
  int output = -1;
  int error = -1;
};

struct ChildProgram {
  std::string path;                                   // searched in PATH if it has no slash; empty: this program
  std::vector<std::string> words;                     // the arguments, without the program's name
  std::map<std::string, std::string> variables = {};  // of the environment, besides this process's variables
  std::string folder = {};                            // working folder; empty: this process's
  ChildFiles files = {};
  Interrupt interrupt = Interrupt::inherited;
  bool own_group = false;  // the child leads its own process group, which the terminal does not signal
};

/// Starts a program. Code::io if there is no such program or folder; the message names it.
Result<pid_t> start_program(const ChildProgram& program);

/// Starts this program with `args` and this process's environment plus `variable`=`value`. With a descriptor `output`,
/// the child writes to `output` instead of standard output and error, has no input, and leads its own process group.
Result<pid_t> start_child(const std::vector<std::string>& args, const std::string& variable, const std::string& value,
                          Interrupt interrupt, int output = -1);

/// Takes the descriptor that the parent has named in `variable` of the environment: makes it close-on-exec and removes
/// the variable. -1 without the variable.
int take_descriptor(const char* variable);

/// A shell's exit code for a status of waitpid: 128 plus the number of the signal that ended the child.
int exit_code_of_status(int status) noexcept;

}  // namespace actorhost
