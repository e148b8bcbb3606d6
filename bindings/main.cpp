// The executable: a subcommand, or a job; returns its exit code.

#include <cstdio>
#include <string>
#include <vector>

#include "bindings/agent.hpp"
#include "bindings/command.hpp"
#include "bindings/host_runtime.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && actorhost::is_command(args[0])) {
    return actorhost::run_command(args[0], std::vector<std::string>(args.begin() + 1, args.end()));
  }
  actorhost::ParsedCommand command = actorhost::parse_command(args);
  if (command.exit_code) {
    std::fputs(command.output.c_str(), *command.exit_code == 0 ? stdout : stderr);
    return *command.exit_code;
  }
  if (command.options.agent) return actorhost::run_agent(command.options);
  actorhost::HostRuntime::Setup setup;
  setup.command_line = args;
  return actorhost::HostRuntime(std::move(command.options), std::move(setup)).run();
}
