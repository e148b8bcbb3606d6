// The executable: runs a subcommand or a job and returns its exit code.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "bindings/commands/agent.hpp"
#include "bindings/commands/command.hpp"
#include "bindings/commands/fault_file.hpp"
#include "bindings/commands/own_cluster.hpp"
#include "bindings/commands/rehearse.hpp"
#include "bindings/run/host_runtime.hpp"
#include "host/base/out_of_memory.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// As the library's operators, but their error has the requested size. The library's own operators free the memory.
void* operator new(size_t size) {
  if (void* memory = std::malloc(size)) return memory;
  throw actorhost::OutOfMemory(size);
}

void* operator new(size_t size, std::align_val_t alignment) {
  const auto each = static_cast<size_t>(alignment);
  if (void* memory = std::aligned_alloc(each, (size + each - 1) / each * each)) return memory;
  throw actorhost::OutOfMemory(size);
}
#endif

/// Occupies the descriptors of closed standard files, so that no socket gets them; using such a file remains an error.
static void keep_standard_files() {
  for (int file = 0; file <= 2; ++file) {
    if (fcntl(file, F_GETFD) == -1) (void)!open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);
  }
}

/// `actorhost rehearse --seeds A:B`: scripts/rehearse.lua starts a rehearsal for each seed.
static int run_search(const actorhost::RunOptions& options, const std::vector<std::string>& args) {
  const auto& search = *options.rehearsal->search;
  std::vector<std::string> words = {options.script,
                                    std::to_string(search.first),
                                    std::to_string(search.last),
                                    std::to_string(search.jobs),
                                    search.shrink ? "shrink" : "",
                                    search.codes};
  words.insert(words.end(), args.begin() + 1, args.end());
  return actorhost::run_command("rehearse", words);
}

int main(int argc, char** argv) {
  keep_standard_files();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit then fails instead of ending the process
  std::vector<std::string> args(argv + 1, argv + argc);
  const bool rehearses = !args.empty() && args[0] == "rehearse";  // the script of that name repeats rehearsals
  if (!args.empty() && !rehearses && actorhost::is_command(args[0])) {
    return actorhost::run_command(args[0], std::vector<std::string>(args.begin() + 1, args.end()));
  }
  actorhost::ParsedCommand command = actorhost::parse_command(args);
  if (command.exit_code) {
    std::FILE* const file = *command.exit_code == 0 ? stdout : stderr;
    const bool written = std::fputs(command.output.c_str(), file) >= 0 && std::fflush(file) == 0;
    if (*command.exit_code != 0 || written) return *command.exit_code;
    std::fprintf(stderr, "actorhost: standard output cannot be written: %s\n", std::strerror(errno));
    return 1;
  }
  if (command.options.agent) return actorhost::run_agent(command.options, args);
  if (rehearses) {
    const actorhost::Status read = actorhost::read_fault_file(command.options);
    if (!read) {
      std::fprintf(stderr, "actorhost: %s\n", read.error().message.c_str());
      return 2;
    }
    actorhost::fix_addresses(argv);  // also of the rehearsals of a search, which then start once
    return command.options.rehearsal->search ? run_search(command.options, args) : actorhost::rehearse(command.options);
  }
  actorhost::HostRuntime::Setup setup;
  setup.command_line = std::move(args);
  setup.commands = actorhost::command_names();
  if (actorhost::is_console_cluster(command.options.script)) {
    setup.source = actorhost::kConsoleJob;
    setup.from_text = true;
    setup.folder = ".";
    command.options.must_be_found = true;
  }
  return actorhost::HostRuntime(std::move(command.options), std::move(setup)).run();
}
