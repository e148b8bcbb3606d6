// actorhost.h over EmbeddedHost. Each function catches every exception and stores the text of a failure for ah_error.

#include <atomic>
#include <csignal>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "bindings/commands/c_values.hpp"
#include "bindings/commands/embedded_host.hpp"
#include "bindings/include/actorhost.h"
#include "bindings/process/version.hpp"
#include "bindings/run/interruption.hpp"

using actorhost::Code;
using actorhost::EmbeddedHost;
using actorhost::ProgramCallPtr;
using actorhost::ProgramValue;

struct ah_frame {
  ProgramValue result;
  std::string error;
};

struct ah_host {
  EmbeddedHost::Config config;
  std::shared_ptr<EmbeddedHost> host;  // set by ah_host_start; shared with its calls, which may be freed later
  std::thread thread;
  pid_t process = 0;
  std::mutex mutex;
  actorhost::WaitPoint changed;
  std::optional<int> code;
};

struct ah_call {
  std::shared_ptr<EmbeddedHost> host;
  pid_t process = 0;  // of the host
  ProgramCallPtr call;
  bool ended = false;
  std::string output;
  std::map<uint32_t, actorhost::CValues> values;
};

namespace {

thread_local std::string last_error;
thread_local std::string last_progress;  // the newest result of ah_host_progress

ah_status failed(ah_status status, const std::string& why) {
  last_error = why;
  return status;
}

/// Runs `body`; an exception becomes `otherwise`, with its text.
template <typename R, typename F>
R protect(R on_memory, R otherwise, F body) noexcept {
  try {
    last_error.clear();
    return body();
  } catch (const std::bad_alloc&) {
    try {
      last_error = "memory has run out";
    } catch (...) {
    }
    return on_memory;
  } catch (const std::exception& e) {
    try {
      last_error = e.what();
    } catch (...) {
    }
    return otherwise;
  } catch (...) {
    return otherwise;
  }
}

template <typename F>
ah_status protect_status(F body) noexcept {
  return protect(AH_MEMORY, AH_FAILED, body);
}

ah_status status_of(const actorhost::Status& status) {
  if (status) return AH_OK;
  switch (status.error().code) {
    case Code::bad_argument:
    case Code::unsupported:
    case Code::refused: return failed(AH_BAD_ARGUMENT, status.error().message);
    case Code::script: return failed(AH_SCRIPT, status.error().message);
    case Code::interrupted: return failed(AH_INTERRUPTED, status.error().message);
    case Code::aborted: return failed(AH_ENDED, status.error().message);
    default: return failed(AH_FAILED, status.error().message);
  }
}

/// AH_OK in the process of the host.
ah_status check_process(pid_t process) {
  if (process == getpid()) return AH_OK;
  return failed(AH_FORKED,
                "this process is a fork of process " + std::to_string(process) +
                    ", which started the host; threads do not survive a fork, so start actorhost after the fork, or "
                    "start the process afresh (\"spawn\")");
}

ah_status check_started(const ah_host* host) {
  if (host == nullptr) return failed(AH_BAD_ARGUMENT, "the host is null");
  if (host->host == nullptr) return failed(AH_BAD_ARGUMENT, "the host has not been started; call ah_host_start");
  return check_process(host->process);
}

actorhost::ProgramFunction adapted(ah_function function, void* data) {
  return [function, data](std::span<const ProgramValue> given) {
    actorhost::CValues arguments({given.begin(), given.end()});
    ah_frame frame;
    function(data, &frame, arguments.data(), arguments.size());
    if (!frame.error.empty()) throw std::runtime_error(frame.error);
    return std::move(frame.result);
  };
}

/// Blocks the signals of the process in threads that start during its lifetime, except those that the Vm and the system
/// send to a certain thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t set;
    sigfillset(&set);
    for (const int signal : {SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

void run(ah_host& host) noexcept {
  int code = 3;
  try {
    code = host.host->run();
  } catch (const std::exception& e) {
    host.host->fail(e.what());
  }
  std::lock_guard lock(host.mutex);
  host.code = code;
  host.changed.notify_all();
}

}  // namespace

uint32_t ah_abi_version(void) { return AH_ABI_VERSION; }

const char* ah_version(void) { return actorhost::kVersion; }

const char* ah_error(void) { return last_error.c_str(); }

// ---- hosts ----

ah_host* ah_host_new(void) {
  return protect<ah_host*>(nullptr, nullptr, [] { return std::make_unique<ah_host>().release(); });
}

ah_status ah_host_function(ah_host* host, const char* name, ah_function function, void* data) {
  return protect_status([&] {
    if (host == nullptr || name == nullptr || function == nullptr) {
      return failed(AH_BAD_ARGUMENT, "a function needs a host, a name and an address");
    }
    if (host->host) return failed(AH_BAD_ARGUMENT, "the host runs already: give it functions before ah_host_start");
    host->config.functions[name] = adapted(function, data);
    return AH_OK;
  });
}

ah_status ah_host_start(ah_host* host, ah_work work, const char* const* flags, size_t count) {
  return protect_status([&] {
    if (host == nullptr) return failed(AH_BAD_ARGUMENT, "the host is null");
    if (host->host) return failed(AH_BAD_ARGUMENT, "the host was started already; make another host");
    switch (work) {
      case AH_JOB: host->config.work = EmbeddedHost::Work::job; break;
      case AH_CONSOLE: host->config.work = EmbeddedHost::Work::console; break;
      case AH_WORKER: host->config.work = EmbeddedHost::Work::worker; break;
      default: return failed(AH_BAD_ARGUMENT, "expected AH_JOB, AH_CONSOLE or AH_WORKER");
    }
    for (size_t i = 0; i < count; ++i) {
      if (flags == nullptr || flags[i] == nullptr) return failed(AH_BAD_ARGUMENT, "a flag is null");
      host->config.line.emplace_back(flags[i]);
    }
    host->config.prints_messages = false;
    host->host = std::make_shared<EmbeddedHost>(host->config);
    host->process = getpid();
    const SignalsBlocked blocked;
    try {
      host->thread = std::thread([host] { run(*host); });
    } catch (const std::exception& e) {
      host->host.reset();
      return failed(AH_FAILED, std::string("the system has no thread left: ") + e.what());
    }
    return AH_OK;
  });
}

ah_status ah_host_poll(ah_host* host, double seconds, int* exit_code) {
  return protect_status([&] {
    if (const ah_status wrong = check_started(host); wrong != AH_OK) return wrong;
    std::unique_lock lock(host->mutex);
    if (!host->changed.wait_for(lock, seconds, [host] { return host->code.has_value(); })) return AH_PENDING;
    const int code = *host->code;
    lock.unlock();
    if (exit_code != nullptr) *exit_code = code;
    if (code == 0) return AH_OK;
    const std::string why = host->host->message();
    const bool interrupted = code == actorhost::kByInterrupt || code == actorhost::kByTerminate;
    return failed(interrupted ? AH_INTERRUPTED : AH_FAILED,
                  why.empty() ? "the run has ended with the exit code " + std::to_string(code) : why);
  });
}

const char* ah_host_progress(ah_host* host) {
  return protect<const char*>("", "", [&]() -> const char* {
    if (check_started(host) != AH_OK) return "";
    return (last_progress = host->host->progress()).c_str();
  });
}

ah_status ah_host_interrupt(ah_host* host) {
  return protect_status([&] {
    if (const ah_status wrong = check_started(host); wrong != AH_OK) return wrong;
    host->host->interrupt();
    return AH_OK;
  });
}

void ah_host_free(ah_host* host) {
  if (host == nullptr) return;
  if (host->host && host->process != getpid()) return;  // its threads are in another process
  protect_status([&] {
    if (host->host) host->host->interrupt();
    if (host->thread.joinable()) host->thread.join();
    delete host;
    return AH_OK;
  });
}

// ---- calls ----

ah_call* ah_call_new(ah_host* host, const char* source, const char* name, const ah_value* arguments, size_t count) {
  return protect<ah_call*>(nullptr, nullptr, [&]() -> ah_call* {
    auto values = actorhost::values_from_c(arguments, count, "argument");
    if (check_started(host) != AH_OK) return nullptr;
    if (source == nullptr) return failed(AH_BAD_ARGUMENT, "the source is null"), nullptr;
    if (!values) return failed(AH_BAD_ARGUMENT, values.error().message), nullptr;
    auto call = std::make_unique<ah_call>();
    call->host = host->host;
    call->process = host->process;
    call->call = host->host->call(source, name == nullptr ? "=chunk" : name, std::move(*values));
    return call.release();
  });
}

ah_status ah_call_wait(ah_call* call, double seconds) {
  return protect_status([&] {
    if (call == nullptr) return failed(AH_BAD_ARGUMENT, "the call is null");
    if (const ah_status wrong = check_process(call->process); wrong != AH_OK) return wrong;
    if (!call->host->wait(call->call, seconds)) return AH_PENDING;
    call->ended = true;
    return status_of(call->call->result());
  });
}

const char* ah_call_output(ah_call* call, size_t* size) {
  if (size != nullptr) *size = 0;
  return protect<const char*>("", "", [&]() -> const char* {
    if (call == nullptr) return "";
    call->output = call->call->take_output();
    if (size != nullptr) *size = call->output.size();
    return call->output.c_str();
  });
}

ah_value* ah_call_values(ah_call* call, uint32_t rank, size_t* count) {
  if (count != nullptr) *count = 0;
  return protect<ah_value*>(nullptr, nullptr, [&]() -> ah_value* {
    if (call == nullptr || !call->ended) return nullptr;
    const auto found = call->call->values().find(rank);
    if (found == call->call->values().end() || found->second.empty()) return nullptr;
    const auto [at, added] = call->values.try_emplace(rank, found->second);
    if (count != nullptr) *count = at->second.size();
    return at->second.data();
  });
}

ah_status ah_call_interrupt(ah_call* call) {
  return protect_status([&] {
    if (call == nullptr) return failed(AH_BAD_ARGUMENT, "the call is null");
    if (const ah_status wrong = check_process(call->process); wrong != AH_OK) return wrong;
    return status_of(call->host->interrupt(call->call));
  });
}

void ah_call_free(ah_call* call) {
  if (call == nullptr) return;
  protect_status([&] {
    const std::unique_ptr<ah_call> owned(call);
    if (!owned->ended && check_process(owned->process) == AH_OK) (void)owned->host->interrupt(owned->call);
    return AH_OK;
  });
}

// ---- in a function for Lua ----

ah_status ah_return(ah_frame* frame, const ah_value* value) {
  return protect_status([&] {
    if (frame == nullptr || value == nullptr) return failed(AH_BAD_ARGUMENT, "the frame or the value is null");
    auto values = actorhost::values_from_c(value, 1, "the result");
    if (!values) {
      frame->error = values.error().message;
      return failed(AH_BAD_ARGUMENT, values.error().message);
    }
    frame->result = std::move(values->front());
    return AH_OK;
  });
}

void ah_raise(ah_frame* frame, const char* message) {
  protect_status([&] {
    if (frame == nullptr) return failed(AH_BAD_ARGUMENT, "the frame is null");
    frame->error = message == nullptr || *message == '\0' ? "the function has failed" : message;
    return AH_OK;
  });
}
