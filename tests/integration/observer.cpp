#include "tests/integration/observer.hpp"

namespace actorhost::test {

using nlohmann::json;

std::string Outcome::text(const std::string& node) const {
  const auto at = results.find(node);
  return at == results.end() ? "(none)" : at->second.value("text", "");
}

std::string Outcome::error(const std::string& node) const {
  const auto at = results.find(node);
  return at == results.end() ? "(none)" : at->second.value("error", "");
}

std::string Outcome::describe() const {
  json all = {{"over", over}, {"ok", ok}, {"output", output}};
  for (const auto& [name, result] : results) all["results"][name] = result;
  return all.dump(1, ' ', false, json::error_handler_t::replace);
}

json state_when(const JobFolder& folder, const Words& words, const std::function<bool(const json&)>& condition) {
  json state;
  std::string description;
  const bool reached = wait_until(
      [&] {
        const Finished viewed = folder.run(with(with({"status"}, words), {"--json"}));
        description = viewed.description;
        state = json::parse(viewed.out, nullptr, false);
        return viewed.status == 0 && state.is_object() && condition(state);
      },
      20);
  INFO(description);
  REQUIRE(reached);
  return state;
}

Observer::Observer(const JobFolder& folder) {
  const bool attached = wait_until(
      [&] {
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "actorhost", none)) {
          if (entry.path().extension() != ".json") continue;
          std::ifstream file(entry.path());
          const json run = json::parse(file, nullptr, false);
          if (!run.is_object() || run.value("url", "").find("ipc://") != 0) continue;
          StreamOptions options;
          std::ifstream(folder.path() / "config/actorhost/token") >> options.token;
          client_ = std::make_unique<ControlClient>(options, clock_, log_, [] { return Status(); });
          url_ = run.value("url", "");
          if (client_->attach(url_, 5)) return true;
        }
        return false;
      },
      20);
  REQUIRE(attached);
}

json Observer::control(const json& command) {
  const auto reply = client_->control(command.dump(), 20);
  INFO((reply ? "" : reply.error().message));
  REQUIRE(reply.ok());
  return json::parse(*reply);
}

uint32_t Observer::send(const std::string& source, const json& nodes, uint64_t limit) {
  const json reply =
      control({{"op", "chunk"}, {"source", source}, {"name", "=chunk"}, {"nodes", nodes}, {"limit", limit}});
  INFO(reply.dump());
  REQUIRE(reply.value("ok", false));
  return reply["chunk"].get<uint32_t>();
}

bool Observer::take(double seconds) {
  const auto notice = client_->next(seconds);
  if (!notice || !*notice) return notice.ok();
  const json one = json::parse(**notice);
  if (!one.contains("chunk")) return false;  // the run has ended
  Outcome& outcome = outcomes_[one["chunk"].get<uint32_t>()];
  if (one["event"] == "over") {
    outcome.over = true;
    outcome.ok = one["ok"].get<bool>();
  } else if (one["event"] == "output") {
    outcome.output[one["name"].get<std::string>()] += one["text"].get<std::string>();
  } else {
    outcome.results[one["name"].get<std::string>()] = one;
  }
  return true;
}

Outcome Observer::outcome(uint32_t chunk, double seconds) {
  const double deadline = now() + seconds * patience();
  while (!outcomes_[chunk].over && now() < deadline && take(0.2)) {
  }
  return outcomes_[chunk];
}

bool Observer::wait_for_output(uint32_t chunk, const std::string& text) {
  return wait_until(
      [&] {
        (void)take(0.02);
        for (const auto& [node, output] : outcomes_[chunk].output) {
          if (output.find(text) != std::string::npos) return true;
        }
        return false;
      },
      20);
}

bool Observer::wait_for(const std::function<bool(const json&)>& condition) {
  return wait_until(
      [&] {
        const auto state = client_->state({}, 5);
        return state && condition(json::parse(*state));
      },
      20);
}

}  // namespace actorhost::test
