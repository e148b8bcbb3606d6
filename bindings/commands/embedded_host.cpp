#include "bindings/commands/embedded_host.hpp"

#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "bindings/commands/own_cluster.hpp"
#include "host/base/printable.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr double kResendSeconds = 0.01;                 // between two attempts to send a chunk to nodes that start
constexpr uint64_t kOutputOfCall = uint64_t{64} << 20;  // bytes of output that a node may write in a call

Error not_running() { return {Code::refused, "the host is not running"}; }

}  // namespace

EmbeddedHost::EmbeddedHost(Config config)
    : config_(std::move(config)),
      program_(std::make_shared<Program>(config_.functions, config_.work == Work::worker)) {}

EmbeddedHost::~EmbeddedHost() = default;

void EmbeddedHost::add_message(const std::string& text) {
  if (config_.prints_messages) std::fprintf(stderr, "%s\n", printable(text, Lines::kept).c_str());
  std::lock_guard lock(mutex_);
  message_ += (message_.empty() ? "" : "\n") + text;
}

/// Reads the command line for this kind of work. The exit code of a wrong command line, with its message.
std::optional<int> EmbeddedHost::read_line(ParsedCommand& command) {
  std::vector<std::string> line = config_.line;
  if (config_.work == Work::console) line.emplace_back(kConsoleJobName);
  command = parse_command(line);
  if (command.exit_code) {
    add_message(command.output.substr(0, command.output.find_last_not_of('\n') + 1));
    return command.exit_code;
  }
  PlacementFlags& flags = command.options.placement;
  if (command.options.isolate) {
    add_message("actorhost: an embedded host cannot use --isolate: its nodes are threads of this program");
    return 2;
  }
  if (config_.work == Work::worker && flags.nproc_per_node.value_or("1") != "1") {
    add_message("actorhost: -n " + *flags.nproc_per_node +
                ": a program is one worker; start another program for another");
    return 2;
  }
  if (config_.work == Work::console && flags.nnodes.value_or("1") != "1") {
    add_message("actorhost: --nnodes " + *flags.nnodes +
                ": a console's nodes are all on this host, because arguments and results stay in this process");
    return 2;
  }
  if (config_.work == Work::worker) flags.nproc_per_node = "1";
  if (config_.work == Work::console && !flags.nnodes) flags.nnodes = "1";  // also within a launcher's job
  return std::nullopt;
}

int EmbeddedHost::run() {
  ParsedCommand command;
  std::optional<int> code = read_line(command);
  if (!code) code = run_command(std::move(command.options));
  const std::string why = message();
  program_->end({Code::aborted, why.empty() ? "the run has ended" : why});
  return *code;
}

int EmbeddedHost::run_command(RunOptions options) {
  const bool console = config_.work == Work::console;
  HostRuntime::Setup setup;
  setup.program = program_;
  setup.watch_signals = config_.watch_signals;
  setup.from_text = console || config_.source.has_value();
  setup.source = console ? kConsoleJob : config_.source.value_or("");
  if (console) setup.folder = ".";
  if (!config_.prints_messages) setup.on_message = [this](const std::string& text) { add_message(text); };
  auto made = std::make_unique<HostRuntime>(std::move(options), std::move(setup));
  HostRuntime& runtime = *made;
  {
    std::lock_guard lock(mutex_);
    runtime_ = std::move(made);
    if (interrupted_) runtime.interrupt();
  }
  const int code = runtime.run();
  std::unique_ptr<HostRuntime> ended;  // destroyed without the lock
  {
    std::lock_guard lock(mutex_);
    ended.swap(runtime_);
  }
  if (ended->abandoned()) (void)ended.release();
  return code;
}

void EmbeddedHost::interrupt() {
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (runtime_) runtime_->interrupt();
}

std::string EmbeddedHost::message() const {
  std::lock_guard lock(mutex_);
  return message_;
}

void EmbeddedHost::fail(const std::string& why) {
  add_message(why);
  program_->end({Code::aborted, why});
}

std::string EmbeddedHost::progress() const {
  std::lock_guard lock(mutex_);
  return runtime_ ? runtime_->progress() : "";
}

// ---- calls ----

ProgramCallPtr EmbeddedHost::call(std::string source, std::string name, std::vector<ProgramValue> arguments) {
  auto call = std::make_shared<ProgramCall>(std::move(source), std::move(name), std::move(arguments));
  if (config_.work == Work::job) {
    call->end(Error{Code::unsupported, "this host runs a job, and only a console or a worker takes calls"});
  } else if (config_.work == Work::worker) {
    program_->add(call);
  } else {
    {
      std::lock_guard lock(mutex_);
      sent_[call].number = program_->number(call);
    }
    send(call);
  }
  return call;
}

/// Sends a call to the console, unless it was sent.
void EmbeddedHost::send(const ProgramCallPtr& call) {
  std::lock_guard lock(mutex_);
  const auto at = sent_.find(call);
  if (runtime_ == nullptr || at == sent_.end() || at->second.requested || at->second.chunk != 0) return;
  const json chunk = {{"op", "chunk"},      {"source", call->source},
                      {"name", call->name}, {"mode", kProgramMode + std::to_string(at->second.number)},
                      {"nodes", "spmd"},    {"limit", kOutputOfCall}};
  at->second.requested = runtime_->command(
      chunk, [this, call](const json& reply) { on_reply(call, reply); },
      [this, call](const json& news) { on_news(call, news); });
}

/// A console refuses chunks until all its nodes wait for one; `wait` then sends the chunk again.
void EmbeddedHost::on_reply(const ProgramCallPtr& call, const json& reply) {
  std::lock_guard lock(mutex_);
  const auto at = sent_.find(call);
  if (at == sent_.end()) return;
  at->second.requested = false;
  if (reply.value("ok", false)) {
    started_ = true;
    at->second.chunk = reply.at("chunk").get<uint64_t>();
    if (at->second.interrupted) interrupt_chunk(at->second.chunk);
    return;
  }
  if (!started_ && reply.value("code", "") == code_name(Code::unsupported)) return;
  program_->forget(at->second.number);
  sent_.erase(at);
  call->end(Error{Code::refused, reply.value("message", "")});
}

void EmbeddedHost::on_news(const ProgramCallPtr& call, const json& news) {
  std::lock_guard lock(mutex_);
  const auto at = sent_.find(call);
  if (at == sent_.end()) return;
  const std::string event = news.value("event", "");
  Sent& sent = at->second;
  if (event == "output" && news.value("name", "") == "rank 0") call->write(news.value("text", ""));
  // The first error is that of the chunk itself; the waits of other nodes end because of it.
  if (event == "result" && !news.value("ok", false) && !sent.error) {
    sent.error = Error{Code::script, news.value("error", "")};
  }
  if (event != "over") return;
  program_->forget(sent.number);
  Status how;
  if (!news.value("ok", false)) {
    how = sent.error && !sent.interrupted ? *sent.error : Error{Code::interrupted, "interrupted"};
  }
  sent_.erase(at);
  call->end(how);
}

bool EmbeddedHost::wait(const ProgramCallPtr& call, double seconds) {
  const SteadyClock clock;
  for (const double deadline = clock.now() + seconds;;) {
    bool sent = true;
    {
      std::lock_guard lock(mutex_);
      const auto at = sent_.find(call);
      sent = at == sent_.end() || at->second.chunk != 0;
    }
    const double left = deadline - clock.now();
    if (call->wait(sent ? left : std::min(left, kResendSeconds))) return true;
    if (clock.now() >= deadline) return false;
    if (!sent) send(call);
  }
}

/// With the mutex held.
void EmbeddedHost::interrupt_chunk(uint64_t chunk) {
  if (runtime_) {
    (void)runtime_->command(
        {{"op", "interrupt"}, {"chunk", chunk}}, [](const json&) {}, [](const json&) {});
  }
}

Status EmbeddedHost::interrupt(const ProgramCallPtr& call) {
  if (call->wait(0)) return {};
  if (config_.work == Work::worker) {
    if (program_->withdraw(call)) call->end(Error{Code::interrupted, "interrupted"});
    if (call->wait(0)) return {};
    return Error{Code::unsupported, "the worker runs this call already, and a call of a worker runs to its end"};
  }
  std::lock_guard lock(mutex_);
  const auto at = sent_.find(call);
  if (at == sent_.end()) return {};
  if (runtime_ == nullptr) return not_running();
  at->second.interrupted = true;
  if (at->second.chunk != 0) interrupt_chunk(at->second.chunk);
  return {};
}

}  // namespace actorhost
