#include "bindings/run/rule_flags.hpp"

#include <algorithm>

#include "bindings/vm/vm.hpp"

namespace actorhost {

namespace {

// Prints "file PATH" and "wrong MESSAGE". Replaces the file by a text with a rule of the requested name, with and
// without the policy after '@'.
constexpr const char* kCheck = R"(
local module, spec = ...
local function stand_in(path)
  print("file " .. path)
  local _, ending = spec:find(path, 1, true)
  local name = spec:sub(ending + 1):match("^:(.+)$")
  if not name then return "return function() return true end" end
  return ("local function rule() return true end return { [%q] = rule, [%q] = rule }"):format(name, name:match("^[^@]*"))
end
local ok, message = pcall(require("actor." .. module).from, spec, { load = stand_in })
if not ok then print("wrong " .. message) end
)";

std::string_view after(std::string_view line, std::string_view word) {
  return line.starts_with(word) ? line.substr(word.size()) : std::string_view();
}

}  // namespace

Result<std::string> rule_file_of(const std::string& module, const std::string& spec) {
  if (spec.empty()) return std::string();
  std::string file;
  std::string wrong;
  VmConfig config;
  config.args = {module, spec};
  config.print = [&](std::string_view line) {
    file += after(line, "file ");
    wrong += after(line, "wrong ");
  };
  AH_LET(auto vm, Vm::create(std::move(config)));
  AH_TRY(vm->run(kCheck, "=flag"));
  if (wrong.empty()) return file;
  // Drops this check's own position, which means nothing to the user: "barrier 'bps': there is no rule ..."
  return Error{Code::bad_argument, "--" + wrong.substr(std::min(wrong.find(module + " '"), wrong.size()))};
}

}  // namespace actorhost
