#include "bindings/barrier_flag.hpp"

#include <algorithm>

#include "bindings/vm.hpp"

namespace actorhost {

namespace {

constexpr const char* kCheck = R"(
local ok, message = pcall(require("actor.barrier").from, ...)
if not ok then print(message) end
)";

}  // namespace

Status check_barrier_flag(const std::string& spec) {
  if (spec.empty() || spec.find(".lua") != std::string::npos) return {};
  std::string wrong;
  VmConfig config;
  config.args = {spec};
  config.print = [&wrong](std::string_view line) { wrong += line; };
  auto vm = Vm::create(std::move(config));
  if (!vm) return vm.error();
  AH_TRY((*vm)->run(kCheck, "=flag"));
  if (wrong.empty()) return {};
  // Behind the place of the check, which is none of the user's: "barrier 'bps': there is no rule ..."
  return Error{Code::bad_argument, "--" + wrong.substr(std::min(wrong.find("barrier '"), wrong.size()))};
}

}  // namespace actorhost
