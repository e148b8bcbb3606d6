#include "tests/bindings/modules/rule_world.hpp"

#include "tests/integration/process.hpp"

namespace actorhost::test {

namespace {

VmConfig with_words(std::vector<std::string> words) {
  VmConfig config;
  config.args = std::move(words);
  return config;
}

constexpr size_t kScalars = 15;
constexpr const char* kScalarNames[kScalars] = {"arrays", "n",      "step",     "id",       "population",
                                                "now",    "waited", "duration", "average",  "min",
                                                "max",    "behind", "passed",   "quantile", "buffered"};
constexpr const char* kArrayNames[] = {"steps", "ids", "busy", "alive", "started", "durations", "averages", "pulled"};

}  // namespace

std::string Evaluation::text() const {
  std::string out;
  const auto add = [&](const std::string& name, double value) {
    char number[40];
    std::snprintf(number, sizeof number, "%.17g", value);
    out += name + "=" + number + " ";
  };
  const auto n = static_cast<size_t>(numbers.at(1));
  for (size_t i = 0; i < kScalars; ++i) add(kScalarNames[i], numbers.at(i));
  for (size_t array = 0; array < static_cast<size_t>(numbers[0]); ++array) {
    for (size_t i = 0; i < n; ++i) {
      add(std::string(kArrayNames[array]) + "[" + std::to_string(i + 1) + "]", numbers.at(kScalars + array * n + i));
    }
  }
  add("pass", numbers.at(numbers.size() - 2));
  add("recheck", numbers.back());
  return out;
}

RuleWorld::RuleWorld(const std::string& spec, const std::string& file, uint64_t seed, bool pulled)
    : lua_(with_words({spec, file, std::to_string(seed), pulled ? "yes" : "no"})) {
  lua_.run(read_text(source_dir() / "tests/bindings/modules/rule_notes.lua"));
  const Status status = lua_.vm->load("return package.loaded.evaluator", "@job.lua");
  REQUIRE(status.ok());
  REQUIRE(lua_.vm->call(0, 1).ok());
  auto made = required(LuaRule::pop(*lua_.vm));
  rule_ = std::move(*made);
}

std::vector<Evaluation> RuleWorld::evaluations() {
  lua_State* L = lua_.vm->state();
  REQUIRE(lua_.vm->load("return package.loaded.notes", "@job.lua").ok());
  REQUIRE(lua_.vm->call(0, 1).ok());
  std::vector<Evaluation> out(lua_objlen(L, -1));
  for (size_t i = 0; i < out.size(); ++i) {
    lua_rawgeti(L, -1, static_cast<int>(i) + 1);
    size_t bytes = 0;
    const char* row = lua_tolstring(L, -1, &bytes);
    out[i].numbers.resize(bytes / sizeof(double));
    std::memcpy(out[i].numbers.data(), row, bytes);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return out;
}

std::string difference(const std::vector<Evaluation>& one, const std::vector<Evaluation>& other) {
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    if (one[i] == other[i]) continue;
    return "evaluation " + std::to_string(i + 1) + ":\n" + one[i].text() + "\n" + other[i].text();
  }
  if (one.size() == other.size()) return "";
  return std::to_string(one.size()) + " evaluations, " + std::to_string(other.size());
}

}  // namespace actorhost::test
