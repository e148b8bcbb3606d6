#include "bindings/process/usage_text.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr CommandText kCommands[] = {
    {"run", "[run] [flags] job.lua [args...]", "run a job"},
    {"launch", "launch --hosts a,b,... job.lua", "run a job on several hosts over ssh"},
    {"agent", "agent --join HOST:PORT [flags]", "lend this machine's nodes to jobs"},
    {"status", "status [--attach [RUN]]", "the state of a run's nodes, once"},
    {"top", "top [--attach [RUN]]", "the same, refreshed"},
    {"dashboard", "dashboard --replay FILE [ADDR]", "the page of a run recorded by --record FILE.jsonl"},
    {"repl", "repl [--attach [RUN]]", "a console: Lua on the nodes of a run, :commands about it"},
    {"rehearse", "rehearse [flags] job.lua [args..]", "run a job on simulated hosts in this process"},
    {"sim", "sim [flags] [rule.lua...]", "simulate barrier rules"},
    {"advise", "advise [flags] TRACE|RUN", "rank the rules for a recorded or running job"},
    {"reproduce", "reproduce [flags] NAME|all", "the experiments of papers again, a verdict on each claim"},
    {"fetch", "fetch mnist|URL", "store a data set or a file in the cache of this user"},
    {"doctor", "doctor [--json]", "check this machine: limits, ports, token, libraries"},
    {"help", "help [NAME|WORDS]", "help on a function or flag, or about words; as pages"},
};

}  // namespace

std::span<const CommandText> command_texts() { return kCommands; }

std::string usage_text() {
  constexpr size_t kColumn = 34;
  std::string text;
  for (const CommandText& command : kCommands) {
    std::string words = command.words;
    words.resize(std::max(words.size() + 1, kColumn), ' ');
    text += (text.empty() ? "usage: actorhost " : "       actorhost ") + words + command.purpose + "\n";
  }
  return text;
}

const char* const kVariables =
    "\nVariables, where the flag is not given:\n"
    "  ACTORHOST_NNODES, ACTORHOST_NODE_RANK, ACTORHOST_NPROC_PER_NODE, ACTORHOST_RDZV_ENDPOINT, ACTORHOST_RDZV_ID\n"
    "                              as --nnodes, --node-rank, -n, --rdzv-endpoint, --rdzv-id\n"
    "  ACTORHOST_SERVICE           headless service of a Kubernetes indexed Job; pod 0 is the coordinator\n"
    "  ACTORHOST_ISA               instruction set of the kernels; the machine must support it\n"
    "  ACTORHOST_MNIST             folder of the files of MNIST\n"
    "  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN\n"
    "                              the key for s3:// URLs; without a key, requests are anonymous\n"
    "  AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL\n"
    "                              for s3:// URLs: the region (default us-east-1), the address (default Amazon)\n"
    "  CURL_CA_BUNDLE, SSL_CERT_FILE\n"
    "                              file of CA certificates for https (default: the system's)\n"
    "  ACTORHOST_BUILD_DIR, ACTORHOST_PRESET, ACTORHOST_JOBS, ACTORHOST_CMAKE_FLAGS\n"
    "                              for scripts/actorhost: build folder, preset, number of compilers, cmake flags\n"
    "  XDG_CONFIG_HOME, TMPDIR     folder of the token (actorhost/token); folder for data that does not fit in memory\n"
    "  RANK WORLD_SIZE ..., OMPI_*, PMI_*, SLURM_*, JOB_COMPLETION_INDEX\n"
    "                              of launchers; the first log line names the match\n"
    "  XDG_STATE_HOME              folder of the console's history (actorhost/history)\n"
    "  XDG_CACHE_HOME              folder of fetched files (actorhost), by default ~/.cache\n"
    "  ACTORHOST_AGENT, ACTORHOST_CHILD, ACTORHOST_CONSOLE, ACTORHOST_WORKER, ACTORHOST_LAUNCH_RANK,\n"
    "  ACTORHOST_LAUNCH_SIZE, ACTORHOST_LAUNCH_ID, ACTORHOST_LAUNCH_HOST\n"
    "                              set by actorhost for its own processes\n";

const char* const kExitCodes =
    "\nExit codes:\n"
    "  0                           done\n"
    "  1                           the job's Lua raised or does not parse, or its output cannot be written\n"
    "  2                           usage, including a missing file\n"
    "  3                           cluster or node failure\n"
    "  4                           checkpoints cannot be written\n"
    "  130, 143                    interrupted (Ctrl-C), terminated (SIGTERM)\n"
    "  141                         the reader has closed the pipe of its output\n";

}  // namespace actorhost
