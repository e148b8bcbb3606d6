#include <mutex>
#include <stdexcept>

#include "bindings/include/actorhost.hpp"
#include "bindings/run/host_runtime.hpp"

namespace actorhost {

namespace {

const char* name_of(const Value& value) {
  static constexpr const char* kNames[] = {"nil", "boolean", "number", "string", "array of numbers"};
  return kNames[value.index()];
}

}  // namespace

namespace detail {

void wrong_argument(const std::string& function, size_t index, const char* expected, const Value& given) {
  throw std::invalid_argument("bad argument " + std::to_string(index) + " to host." + function + ": expected " +
                              expected + ", got " + name_of(given));
}

}  // namespace detail

struct Host::Impl {
  HostConfig config;
  std::map<std::string, Function> functions;
  std::mutex mutex;
  HostRuntime* running = nullptr;
};

Host::Host(HostConfig config) : impl_(std::make_unique<Impl>()) { impl_->config = std::move(config); }

Host::~Host() = default;

Host& Host::function(std::string name, Function fn) {
  impl_->functions[std::move(name)] = std::move(fn);
  return *this;
}

int Host::run_file(const std::string& path) { return run(path, nullptr); }

int Host::run_text(const std::string& name, const std::string& source) { return run(name, &source); }

int Host::run(const std::string& name, const std::string* source) {
  std::vector<std::string> line;
  if (impl_->config.nodes > 0) line = {"-n", std::to_string(impl_->config.nodes)};
  line.insert(line.end(), impl_->config.flags.begin(), impl_->config.flags.end());
  line.push_back(name);
  line.insert(line.end(), impl_->config.args.begin(), impl_->config.args.end());
  ParsedCommand command = parse_command(line);
  if (command.exit_code) {
    std::fputs(command.output.c_str(), stderr);
    return *command.exit_code;
  }
  if (command.options.isolate) {
    std::fputs("actorhost: an embedded host cannot use --isolate: its nodes are threads of this program\n", stderr);
    return 2;
  }
  HostRuntime::Setup setup;
  setup.watch_signals = impl_->config.handle_signals;
  setup.functions = impl_->functions;
  setup.from_text = source != nullptr;
  if (source != nullptr) setup.source = *source;
  HostRuntime runtime(std::move(command.options), std::move(setup));
  {
    std::lock_guard lock(impl_->mutex);
    impl_->running = &runtime;
  }
  const int code = runtime.run();
  std::lock_guard lock(impl_->mutex);
  impl_->running = nullptr;
  return code;
}

void Host::interrupt() {
  std::lock_guard lock(impl_->mutex);
  if (impl_->running != nullptr) impl_->running->interrupt();
}

}  // namespace actorhost
