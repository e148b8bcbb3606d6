#include "bindings/commands/rehearse.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "bindings/run/host_runtime.hpp"
#include "host/kernel/counted_kernels.hpp"
#include "host/rehearsal/faults.hpp"
#include "host/rehearsal/hosts.hpp"
#include "host/rehearsal/memory_network.hpp"
#include "host/rehearsal/scheduler.hpp"
#include "host/rehearsal/simulated_disk.hpp"
#include "host/sim/work_times.hpp"

namespace actorhost {

namespace {

constexpr int kOutOfTime = 98;
constexpr uint32_t kMostJoins = 1000;  // at a time
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCanUseFibres = false;  // the sanitizers know the stacks of threads only
#else
constexpr bool kCanUseFibres = true;
#endif
// The time of computing in seconds: a model, which no machine defines.
constexpr double kOperation = 1e-10;
constexpr double kElement = 5e-10;
constexpr double kCall = 10e-6;
double compute_factor = 1;

void take_time(const kernel::Work& work) noexcept {
  if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
    scheduler->compute(compute_factor * (work.operations * kOperation + work.elements * kElement));
  }
}

constexpr const char* kMayDiffer = "actorhost: warning: %s, so two rehearsals with the same seed may differ\n";

#if defined(__x86_64__)

/// Answers the system call getrandom(bytes, size, flags) with the same bytes in each process.
void give_fixed_bytes(int /*signal*/, siginfo_t* /*info*/, void* of) {
  static uint64_t state = 42;
  greg_t* const registers = static_cast<ucontext_t*>(of)->uc_mcontext.gregs;
  unsigned char* bytes = nullptr;
  std::memcpy(&bytes, &registers[REG_RDI], sizeof bytes);
  const auto size = static_cast<size_t>(registers[REG_RSI]);
  for (size_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<unsigned char>(state >> 56);
  }
  registers[REG_RAX] = static_cast<greg_t>(size);
}

/// Replaces the system's random bytes: LuaJIT hashes strings with them, and hosts send each other keys made of them.
void fix_random_bytes() {
  struct sigaction action {};
  action.sa_sigaction = give_fixed_bytes;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSYS, &action, nullptr);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return;
  std::fprintf(stderr, kMayDiffer, "the system permits no filter for random bytes");
}

#else

void fix_random_bytes() { std::fprintf(stderr, kMayDiffer, "random bytes are fixed on x86-64 only"); }

#endif

/// False, with a message, if the file of a flag cannot be written.
bool can_write(const char* flag, const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return true;
  std::fprintf(stderr, "actorhost: %s: cannot write '%s': %s\n", flag, path.c_str(), std::strerror(errno));
  return false;
}

bool save(const char* flag, const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return file.flush() || can_write(flag, path);
}

/// Warns of a host that keeps the turn for long, until the process ends. The thread allocates no memory: the addresses
/// of the hosts' memory must not depend on it.
void watch_turns(const rehearsal::Scheduler& scheduler) {
  std::thread([&scheduler] {
    constexpr int kFirst = 10;  // seconds until the first warning; each further warning takes twice as long
    uint64_t turn = 0;
    for (int seconds = 1, next = kFirst;; ++seconds) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      if (turn != scheduler.switches()) {
        turn = scheduler.switches();
        seconds = 0;
        next = kFirst;
      } else if (seconds == next) {
        next *= 2;
        std::fprintf(
            stderr,
            "actorhost: warning: host %u has run for %d s without a call that waits, so no other host runs and "
            "no virtual time passes: it computes, has a loop without end, or waits for a file or program\n",
            scheduler.host_in_turn(), seconds);
      }
    }
  }).detach();
}

int run_host(RunOptions options, uint32_t number, uint32_t hosts, rehearsal::MemoryNetwork& network,
             const std::shared_ptr<DataCache>& data) {
  // A host that starts again joins late, which only an elastic run permits.
  const bool elastic = options.rehearsal->faults.adds_hosts();
  if (hosts > 1 || elastic) {
    const std::string count = std::to_string(hosts);
    options.placement.nnodes = elastic ? count + ":" + std::to_string(hosts + kMostJoins) : count;
    options.placement.node_rank = std::to_string(number);
    options.placement.rdzv_endpoint = rehearsal::MemoryNetwork::address_of(0) + ":17871";
  }
  HostRuntime::Setup setup;
  setup.watch_signals = false;
  setup.simulated = SimulatedHost{"host " + std::to_string(number), &network.at(number), data};
  return HostRuntime(std::move(options), std::move(setup)).run();
}

}  // namespace

void fix_addresses(char** arguments) {
  const int now = personality(0xffffffff);
  if (now != -1 && (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (now != -1 && personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) != -1) {
    execv("/proc/self/exe", arguments);
  }
  std::fprintf(stderr, kMayDiffer, "the system randomises addresses");
}

int rehearse(const RunOptions& options) {
  fix_random_bytes();
  mallopt(M_ARENA_MAX, 1);
  prctl(PR_SET_NAME, "actorhost");
  setenv("TZ", "UTC0", 1);  // log lines show the virtual time

  const RehearsalOptions& flags = *options.rehearsal;
  if (!can_write("--events", flags.events) || !can_write("--chart", flags.chart) ||
      !can_write("--save-faults", flags.save_faults)) {
    return 1;
  }
  rehearsal::SchedulerSettings settings;
  settings.seed = flags.order.value_or(*options.seed);
  settings.fibres = kCanUseFibres && !flags.threads;
  settings.end = rehearsal::kStart + rehearsal::time_of(flags.virtual_seconds);
  settings.events = flags.events;
  settings.call_seconds = flags.compute * kCall;
  compute_factor = flags.compute;
  Scenario slow;
  slow.nodes = flags.hosts;
  slow.seed = settings.seed;
  slow.stragglers = flags.stragglers;
  WorkTimes work(slow);
  if (slow.stragglers.share > 0) {
    settings.slowness = [&](uint32_t host, rehearsal::Time now) {
      return work.straggles(host, rehearsal::seconds(now - rehearsal::kStart)) ? slow.stragglers.factor : 1;
    };
  }
  kernel::report_work(take_time);
  const rehearsal::Faults* made = nullptr;
  rehearsal::MessageChart chart;
  bool saved = true;
  const auto save_files = [&] {
    if (made == nullptr) return;
    if (!flags.save_faults.empty()) {
      saved = save("--save-faults", flags.save_faults, rehearsal::file_of(made->made(), flags.faults.restart));
    }
    if (!flags.chart.empty()) saved = save("--chart", flags.chart, chart.svg(made->made())) && saved;
  };
  settings.out_of_time = [&](const std::string& report) {
    save_files();
    std::fprintf(stderr, "actorhost: the rehearsal ends: %s\n", report.c_str());
    std::fflush(nullptr);
    _exit(kOutOfTime);
  };
  rehearsal::Scheduler scheduler(settings);
  rehearsal::MemoryNetwork network(scheduler, {flags.network, flags.hosts, flags.chart.empty() ? nullptr : &chart});

  watch_turns(scheduler);
  rehearsal::SimulatedDisk disk(scheduler);
  const auto data = std::make_shared<DataCache>();
  const auto run = [&](uint32_t host) { return run_host(options, host, flags.hosts, network, data); };
  rehearsal::Hosts hosts(scheduler, network, flags.hosts, run, flags.faults.restart);
  {
    const rehearsal::Faults faults(flags.faults, rehearsal::time_of(flags.virtual_seconds), scheduler, network, disk,
                                   hosts);
    made = &faults;
    hosts.wait();
    save_files();
  }
  std::fprintf(stderr, "actorhost: rehearsed %.6f s with trace %016lx, %lu switches, %lu writes\n",
               rehearsal::seconds(scheduler.time() - rehearsal::kStart), scheduler.trace(), scheduler.switches(),
               network.writes());
  std::fflush(nullptr);
  _exit(hosts.code() == 0 && !saved ? 1 : hosts.code());
}

}  // namespace actorhost
