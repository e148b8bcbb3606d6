#pragma once
// The fixture of the binding tests: a Vm that stores its prints and log lines, with modules from a table.

#include <lua.hpp>

#include "bindings/vm/lua_support.hpp"
#include "bindings/vm/vm.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

class TableModules final : public ModuleSource {
 public:
  Result<std::optional<ModuleText>> find(std::string_view name) override {
    const auto found = files.find(std::string(name));
    if (found == files.end()) return std::optional<ModuleText>();
    if (found->second == "named") return Error{Code::refused, "module 'named' on alpha:1 differs"};
    if (found->second == "interrupted") return Error{Code::interrupted, "interrupted"};
    if (found->second == "refused") return Error{Code::refused, "its hash differs from the cluster's"};
    return std::optional(ModuleText{found->second, "@" + found->first + ".lua"});
  }
  std::map<std::string, std::string> files;
};

/// A script of tests/bindings/lua.
inline std::string text_of_script(const std::string& name) {
  return read_text(source_dir() / "tests/bindings/lua" / name);
}

struct VmFixture {
  explicit VmFixture(VmConfig config = {}) {
    if (config.label().empty()) config.label = [] { return std::string("rank 3"); };
    config.print = [this](std::string_view line) { lines.emplace_back(line); };
    config.log = &log;
    config.modules = &modules;
    auto made = Vm::create(std::move(config));
    if (!made.ok()) FAIL(made.error().message);
    vm = std::move(*made);
  }

  /// Runs and expects success.
  void run(const std::string& source) {
    const Status status = vm->run(source, "@job.lua");
    if (!status.ok()) FAIL(status.error().message);
  }
  /// Leaves the value of a Lua expression on the stack; `before` is code that the expression needs.
  lua_State* push(const std::string& expression, const std::string& before = "") {
    REQUIRE(vm->load(before + "return " + expression, "@value.lua").ok());
    const Status status = vm->call(0, 1);
    if (!status.ok()) FAIL(status.error().message);
    return vm->state();
  }
  /// Runs, expects failure and returns its message.
  std::string error_of(const std::string& source) {
    const Status status = vm->run(source, "@job.lua");
    REQUIRE_FALSE(status.ok());
    code = status.error().code;
    return status.error().message;
  }
  std::string first_line_of_error(const std::string& source) {
    const std::string message = error_of(source);
    return message.substr(0, message.find('\n'));
  }

  TableModules modules;
  std::vector<std::string> lines;
  std::vector<std::string> log_lines;
  Log log{LogLevel::info, [this](const LogLine& line) { log_lines.push_back(line.words()); }};
  Code code = Code::internal;
  std::unique_ptr<Vm> vm;
};

}  // namespace actorhost::test
