// Runs a job on several hosts in this process, on virtual time and a network in memory. `--order` is the seed of the
// order of all events. The last line of standard error has the hash of that order. Usage:
//   rehearsed_hosts [--fibres] [--hosts N] [--order S] [--breaks N] [--events FILE] ... [flags of a run] job.lua [args]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <sys/personality.h>
#include <unistd.h>

#include "bindings/include/actorhost.hpp"
#include "tests/rehearse/memory_network.hpp"
#include "tests/rehearse/scheduler.hpp"

namespace {

struct Arguments {
  unsigned hosts = 1;
  rehearse::Settings settings;
  rehearse::NetworkSettings network;
  actorhost::HostConfig config;
  std::string job;
};

[[noreturn]] void refuse(const std::string& message) {
  std::fprintf(stderr, "rehearsed_hosts: %s\n", message.c_str());
  std::exit(2);
}

Arguments parse(int count, char** values) {
  Arguments out;
  const auto number_after = [&](int& i) -> uint64_t {
    char* end = nullptr;
    const uint64_t number = i + 1 < count ? std::strtoull(values[i + 1], &end, 10) : 0;
    if (end == nullptr || *end != 0) refuse(std::string(values[i]) + " takes a number");
    ++i;
    return number;
  };
  for (int i = 1; i < count; ++i) {
    const std::string word = values[i];
    if (word == "--fibres") {
      out.settings.fibres = true;
    } else if (word == "--hosts") {
      out.hosts = std::max(1u, static_cast<unsigned>(number_after(i)));
    } else if (word == "--order") {
      out.settings.seed = number_after(i);
    } else if (word == "--breaks") {
      out.network.breaks = static_cast<unsigned>(number_after(i));
    } else if (word == "--break-within-ms") {
      out.network.break_within = number_after(i) * 1'000'000;
    } else if (word == "--jitter-us") {
      out.network.jitter = number_after(i) * 1'000;
    } else if (word == "--virtual-seconds") {
      out.settings.end = (number_after(i) + 1) * rehearse::kSecond;
    } else if (word == "--events" && i + 1 < count) {
      out.settings.events = values[++i];
    } else if (word.size() > 4 && word.front() != '-' && word.compare(word.size() - 4, 4, ".lua") == 0) {
      out.job = word;
      out.config.args.assign(values + i + 1, values + count);
      break;
    } else {
      out.config.flags.push_back(word);
    }
  }
  if (out.job.empty()) refuse("no job");
  return out;
}

/// Starts the program again with fixed addresses: Lua iterates over tables with functions as keys in their order.
void fix_addresses(char** arguments) {
  const int now = personality(0xffffffff);
  if (now != -1 && (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (now != -1 && personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) != -1) {
    execv("/proc/self/exe", arguments);
  }
  std::fprintf(stderr, "rehearse: the system randomises addresses, so two runs of one seed may differ\n");
}

int run_host(const Arguments& arguments, unsigned rank) {
  actorhost::HostConfig config = arguments.config;
  for (const char* flag : {"--insecure", "--no-progress"}) config.flags.push_back(flag);
  if (arguments.hosts > 1) {
    for (const std::string& flag :
         {std::string("--nnodes"), std::to_string(arguments.hosts), std::string("--node-rank"), std::to_string(rank),
          std::string("--rdzv-endpoint"), std::string("127.0.0.1:17871")}) {
      config.flags.push_back(flag);
    }
  }
  return actorhost::Host(std::move(config)).run_file(arguments.job);
}

}  // namespace

int main(int count, char** values) {
  fix_addresses(values);
  mallopt(M_ARENA_MAX, 1);
  const Arguments arguments = parse(count, values);
  rehearse::configure_network(arguments.network);
  rehearse::Scheduler::start(arguments.settings);

  std::vector<int> codes(arguments.hosts);
  std::vector<std::thread> hosts;
  for (unsigned i = 0; i < arguments.hosts; ++i) {
    hosts.emplace_back([&, i] { codes[i] = run_host(arguments, i); });
  }
  for (std::thread& host : hosts) host.join();

  const rehearse::Scheduler& scheduler = *rehearse::Scheduler::current();
  std::fprintf(stderr, "trace %016lx, %lu switches, %lu writes, %.6f s\n", scheduler.trace(), scheduler.switches(),
               rehearse::network_writes(),
               static_cast<double>(scheduler.now() - rehearse::kSecond) / rehearse::kSecond);
  std::fflush(nullptr);
  _exit(*std::max_element(codes.begin(), codes.end()));
}
