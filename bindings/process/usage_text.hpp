#pragma once
// The texts around the flags in `actorhost --help`: the subcommands, the variables and the exit codes.

#include <span>
#include <string>

namespace actorhost {

/// A subcommand: its words in the usage text, without the program's name, and its purpose.
struct CommandText {
  const char* name;
  const char* words;
  const char* purpose;
};

/// All subcommands. The usage text, the manual pages and the completion of shells list them.
std::span<const CommandText> command_texts();
/// A line for each subcommand.
std::string usage_text();

/// All variables that this program or its start script reads, except for the launchers' variables (rank_detect.hpp).
extern const char* const kVariables;
extern const char* const kExitCodes;

}  // namespace actorhost
