#include <cstdio>
#include <mutex>
#include <stdexcept>

#include "bindings/commands/embedded_host.hpp"
#include "bindings/include/actorhost.hpp"

namespace actorhost {

namespace {

const char* name_of(const Value& value) {
  static constexpr const char* kNames[] = {"nil", "boolean", "number", "string", "array of numbers"};
  return kNames[value.index()];
}

[[noreturn]] void wrong_value(const std::string& function, const std::string& argument, const std::string& given) {
  throw std::invalid_argument("bad argument " + argument + " to host." + function +
                              ": expected nil, boolean, number, string or array of numbers, got " + given);
}

struct ToValue {
  const std::string& function;
  std::string argument;

  Value operator()(std::monostate) const { return {}; }
  Value operator()(bool value) const { return value; }
  Value operator()(double value) const { return value; }
  Value operator()(int64_t value) const { return static_cast<double>(value); }
  Value operator()(const std::string& value) const { return value; }
  Value operator()(const Tensor&) const { wrong_value(function, argument, "tensor"); }
  Value operator()(const ProgramValue::Map&) const { wrong_value(function, argument, "table with other keys"); }
  Value operator()(const ProgramValue::List& value) const {
    std::vector<double> numbers;
    numbers.reserve(value.size());
    for (const ProgramValue& item : value) {
      const double* number = std::get_if<double>(&item.value);
      if (number == nullptr) {
        wrong_value(function, argument, "an array with another element at " + std::to_string(numbers.size() + 1));
      }
      numbers.push_back(*number);
    }
    return numbers;
  }
};

struct ToProgramValue {
  ProgramValue operator()(std::monostate) const { return {}; }
  ProgramValue operator()(bool value) const { return {value}; }
  ProgramValue operator()(double value) const { return {value}; }
  ProgramValue operator()(const std::string& value) const { return {value}; }
  ProgramValue operator()(const std::vector<double>& value) const {
    ProgramValue::List list(value.size());
    for (size_t i = 0; i < list.size(); ++i) list[i].value = value[i];
    return {std::move(list)};
  }
};

ProgramFunction adapted(std::string name, Function fn) {
  return [name = std::move(name), fn = std::move(fn)](std::span<const ProgramValue> given) {
    std::vector<Value> arguments;
    arguments.reserve(given.size());
    for (const ProgramValue& value : given) {
      arguments.push_back(std::visit(ToValue{name, std::to_string(arguments.size() + 1)}, value.value));
    }
    return std::visit(ToProgramValue{}, fn(arguments));
  };
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
  std::map<std::string, ProgramFunction> functions;
  std::mutex mutex;
  EmbeddedHost* running = nullptr;
};

Host::Host(HostConfig config) : impl_(std::make_unique<Impl>()) { impl_->config = std::move(config); }

Host::~Host() = default;

Host& Host::function(std::string name, Function fn) {
  ProgramFunction adapted_function = adapted(name, std::move(fn));
  impl_->functions[std::move(name)] = std::move(adapted_function);
  return *this;
}

int Host::run_file(const std::string& path) { return run(path, nullptr); }

int Host::run_text(const std::string& name, const std::string& source) { return run(name, &source); }

int Host::run(const std::string& name, const std::string* source) {
  EmbeddedHost::Config config;
  if (impl_->config.nodes > 0) config.line = {"-n", std::to_string(impl_->config.nodes)};
  config.line.insert(config.line.end(), impl_->config.flags.begin(), impl_->config.flags.end());
  config.line.push_back(name);
  config.line.insert(config.line.end(), impl_->config.args.begin(), impl_->config.args.end());
  if (source != nullptr) config.source = *source;
  config.functions = impl_->functions;
  config.watch_signals = impl_->config.handle_signals;
  EmbeddedHost host(std::move(config));
  {
    std::lock_guard lock(impl_->mutex);
    impl_->running = &host;
  }
  const int code = host.run();
  std::lock_guard lock(impl_->mutex);
  impl_->running = nullptr;
  return code;
}

void Host::interrupt() {
  std::lock_guard lock(impl_->mutex);
  if (impl_->running != nullptr) impl_->running->interrupt();
}

}  // namespace actorhost
