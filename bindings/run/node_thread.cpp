#include "bindings/run/node_thread.hpp"

#include <algorithm>
#include <system_error>

#include <lua.hpp>

#include "bindings/modules/array/lua_data.hpp"
#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/error_text.hpp"
#include "host/base/printable.hpp"
#include "host/base/task_scheduler.hpp"

namespace actorhost {

std::vector<std::pair<const char*, bool>> NodeContext::flags_of_engines() const {
  const RunOptions& o = options;
  const bool checkpoint = !o.checkpoint.empty() &&
                          (!o.resume || *o.resume != o.checkpoint);  // --resume of the same folder implies --checkpoint
  return {{"barrier", !o.barrier.empty()},    {"resample", !o.resample.empty()}, {"merge", !o.merge.empty()},
          {"attack", !o.attack.empty()},      {"inject", o.inject.any()},        {"record", o.records_steps()},
          {"seconds", o.seconds.has_value()}, {"checkpoint", checkpoint},        {"resume", o.resume.has_value()}};
}

namespace {

/// `require` for the modules beside the script: this machine's copy, compared by hash, or the coordinator's.
class JobModules final : public ModuleSource {
 public:
  explicit JobModules(Node& node) : node_(node) {}

  Result<std::optional<ModuleText>> find(std::string_view name) override {
    auto found = node_.find_source(std::string(name));
    if (!found) {
      if (found.error().code == Code::bad_argument) return std::optional<ModuleText>();
      return found.error();
    }
    return std::optional(ModuleText{std::move(found->text), "@" + found->chunk});
  }

 private:
  Node& node_;
};

/// The error of a server's script, with a hint if the missing rank of a server may be the cause.
std::string with_rank_hint(const std::string& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  if (text.find("nil") >= end) return text;
  return text.substr(0, end) +
         " (this is a server, which runs the script too: actor.rank and actor.id are nil here; guard with actor.role)" +
         text.substr(end);
}

}  // namespace

NodeThread::NodeThread(Shared shared, Address address)
    : shared_(std::move(shared)),
      node_(shared_.cluster, shared_.job, shared_.clock, shared_.log, address),
      events_(node_, shared_.process.courier->courier),
      context_{node_, events_, shared_.options, shared_.process, shared_.seed},
      modules_(std::make_unique<JobModules>(node_)) {
  if (shared_.cluster.settings().contains("spans")) {
    spans_ = std::make_unique<SpanRecorder>(shared_.cluster, shared_.clock, address);
    node_.stats().record(*spans_);
  }
  if (node_.role() == Role::server) watchdog_ = make_watchdog();
  context_.watchdog = watchdog_.get();
  context_.watch_worker = [this] {
    if (!watchdog_) watchdog_ = make_watchdog();
    context_.watchdog = watchdog_.get();
  };
  context_.fail = [this](const Error& error) { fail(error); };
}

NodeThread::~NodeThread() { join(); }

/// A callback that does not return ends the run, because all nodes wait for it.
std::unique_ptr<CallWatchdog> NodeThread::make_watchdog() {
  const RunOptions& options = shared_.options;
  const CallWatchdog::Limits limits{options.rule_timeout, options.callback_timeout};
  const Address self = node_.address();
  const std::string name = node_.name();
  const auto late = [&cluster = shared_.cluster, self, name](const std::string& message, bool still) {
    if (!still) cluster.report_error(self, {Code::script, false, name + ": " + message, self});
  };
  const auto takes_long = [&log = shared_.log, name](const std::string& what) {
    log.info(name, what + " has been running for over 10 s; the workers wait for it");
  };
  return std::make_unique<CallWatchdog>(limits, late, takes_long);
}

void NodeThread::start() {
  try {
    thread_ = Task([this] { run(); });
  } catch (const std::system_error& error) {
    fail({Code::io,
          node_.name() + ": this machine has no thread left for it (" + error.what() + "); choose a smaller -n"});
    done_.store(true, std::memory_order_release);
  }
}

void NodeThread::join() {
  if (thread_.joinable()) thread_.join();
}

void NodeThread::request_stop() {
  {
    std::lock_guard lock(vm_mutex_);
    stopped_ = true;
    if (vm_ != nullptr) vm_->request_stop();
  }
  node_.request_stop();  // wakes the node; on_error callbacks that begin later may continue for a while
}

void NodeThread::print(std::string_view line) {
  const bool server = node_.role() == Role::server;
  if (server && !context_.shows_output) return;  // its script is the first worker's, which prints the output
  node_.stats().add_output(line);
  if (server || shared_.options.print_all) {
    shared_.process.console.out("[" + node_.name() + "] " + std::string(line));
  } else if (node_.newest_membership()->rank_of(node_.address()) == 0U) {
    shared_.process.console.out(line);
  }
}

Result<std::unique_ptr<Vm>> NodeThread::make_vm() {
  VmConfig config;
  config.label = [this] { return node_.name(); };
  config.print = [this](std::string_view line) { print(line); };
  config.error_text = [this](std::string_view text) { shared_.process.console.error_text(text); };
  config.log = &shared_.log;
  config.clock = &shared_.clock;
  config.modules = modules_.get();
  config.context = &context_;
  config.seed = shared_.seed ^ (uint64_t{node_.address()} + 1) * 0x9e3779b97f4a7c15ULL;
  config.args = shared_.cluster.args();
  config.script = shared_.options.script;
  config.kernel_threads = static_cast<int>(shared_.options.threads_per_node.value_or(1));
  config.wake = [this] { node_.wake(); };
  auto vm = Vm::create(std::move(config));
  if (!vm) return vm;
  open_node_modules(**vm);
  share_data(**vm, *shared_.process.data);
  return vm;
}

void NodeThread::fail(const Error& error) {
  const bool ending = node_.stop_requested() || shared_.cluster.ended();
  if (ending && (error.code == Code::interrupted || error.code == Code::aborted)) return;
  if (failed_) return;  // a consequence of the first error
  traceback_ = context_.no_rank ? with_rank_hint(error.message) : error.message;
  if (!shared_.log.enabled(LogLevel::debug)) traceback_ = user_traceback(traceback_);
  const std::string machine = node_.membership().machine_of(node_.address());
  const std::string name = node_.name() + ": ";
  if (!machine.empty() && traceback_.starts_with(name)) traceback_.insert(name.size() - 2, " on " + machine);
  failed_.store(true, std::memory_order_release);
  EndMessage end{error.code, false, first_line(traceback_), {}};
  end.origin = node_.address();
  shared_.cluster.report_error(node_.address(), end);
}

/// Calls the script's actor.on_error callbacks, if any; errors of callbacks are only logged.
void NodeThread::call_error_callbacks(Vm& vm, const Error& error) {
  vm.clear_stop();
  lua_State* L = vm.state();
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "actor.events");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "failed");
    lua_pushlstring(L, error.message.data(), error.message.size());
    // A stop request meanwhile ends the callbacks early, or skips them all.
    if (auto called = vm.call(1, 0); !called && called.error().code != Code::interrupted) {
      shared_.log.warn(node_.name(), "in an on_error callback: " + called.error().message);
    }
  }
  lua_settop(L, 0);
}

/// Warns of flags that no engine has used. Only the script's end shows which engines it calls. Every node runs the same
/// script, so only the first rank warns.
void NodeThread::warn_of_unused_flags() {
  if (node_.rank() != 0U || node_.left_out()) return;
  std::string unused;
  uint32_t bit = 1;
  for (const auto& [name, given] : context_.flags_of_engines()) {
    if (given && (context_.honoured & bit) == 0) unused += (unused.empty() ? "--" : ", --") + std::string(name);
    bit *= 2;
  }
  if (unused.empty()) return;
  shared_.log.warn(node_.name(), unused + " had no effect: the script has called no engine that honours it");
}

/// Warns of arguments that the script has not read: flags of actorhost behind the script, for example.
void NodeThread::warn_of_unread_arguments(Vm& vm) {
  const std::vector<std::string>& args = shared_.cluster.args();
  if (args.empty() || node_.rank() != 0U || node_.left_out()) return;
  if (shared_.job.text().find("...") != std::string::npos) return;  // the script's own arguments, or a comment
  lua_State* L = vm.state();
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "actor");
  bool read = false;
  if (lua_istable(L, -1)) {
    lua_pushliteral(L, "args");
    lua_rawget(L, -2);
    read = !lua_isnil(L, -1);
  }
  lua_settop(L, 0);
  if (read) return;
  std::string all;
  for (const std::string& arg : args) all += (all.empty() ? "" : " ") + arg;
  shared_.log.warn(node_.name(), "'" + printable(all) + "' had no effect: " + shared_.job.name() +
                                     " reads no arguments; flags of actorhost go before the script");
}

/// Runs the script. On a server, lua_param.cpp later marks callbacks for the watchdog.
Status NodeThread::run_script(Vm& vm) {
  const bool server = node_.role() == Role::server;
  if (server) watchdog_->begin_call("the script, which has not reached its param.run yet,", false);
  const bool rehearsed = TaskScheduler::installed() != nullptr;
  if (rehearsed) AH_TRY(vm.run("require('actor.rehearsal').make_repeatable()", "=rehearsal"));
  Status ran = vm.run(shared_.job.text(), "@" + shared_.job.name());
  if (rehearsed && ran) ran = vm.run("require('actor.rehearsal').run_checks()", "=rehearsal");
  if (context_.finished && !ran && ran.error().code == Code::aborted) ran = {};
  if (watchdog_) watchdog_->end();
  if (!server) return ran;  // a peer continues to serve its keys, which others may still request
  if (!ran) return ran;
  if (!node_.stop_requested()) shared_.cluster.report_server_ended(node_.index(), node_.actions());
  return serve_values(vm);
}

void NodeThread::run() {
  auto vm = make_vm();
  if (!vm) {
    fail(vm.error());
  } else {
    {
      std::lock_guard lock(vm_mutex_);
      vm_ = vm->get();
      if (stopped_) vm_->request_stop();
    }
    node_.stats().begin(shared_.clock.now());
    Status ran = run_script(**vm);
    if (node_.left_out()) {
      shared_.log.warn(node_.name(), ran.ok() ? "has joined too late to take part" : first_line(ran.error().message));
      ran = {};
    }
    if (spans_) spans_->flush();
    if (ran && node_.role() == Role::worker) {
      warn_of_unused_flags();
      warn_of_unread_arguments(**vm);
      shared_.cluster.report_ended(node_.index(), node_.actions());
    } else if (!ran) {
      fail(ran.error());
      call_error_callbacks(**vm, ran.error());
    }
    std::lock_guard lock(vm_mutex_);
    vm_ = nullptr;
  }
  if (vm) vm->reset();
  node_.stats().end(shared_.clock.now());
  done_.store(true, std::memory_order_release);
  if (shared_.ended) shared_.ended();
}

}  // namespace actorhost
