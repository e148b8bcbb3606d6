#pragma once
// An observer of a run of a JobFolder, in the test itself: like `repl`, it sends chunks and commands and collects the
// replies. Owned and used by the thread of the test.

#include <nlohmann/json.hpp>

#include "host/cluster/look/control_client.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

/// How a chunk has ended, by the names of its nodes.
struct Outcome {
  std::map<std::string, nlohmann::json> results;
  std::map<std::string, std::string> output;
  bool over = false;  // false: the time is over
  bool ok = false;

  std::string text(const std::string& node) const;
  std::string error(const std::string& node) const;
  std::string describe() const;
};

/// The output of `status --json`, with further `words`, once `condition` holds for it.
nlohmann::json state_when(const JobFolder& folder, const Words& words,
                          const std::function<bool(const nlohmann::json& state)>& condition);

class Observer {
 public:
  /// Waits until the only run of the folder accepts it; fails the test if none does.
  explicit Observer(const JobFolder& folder);

  /// The place of the run it is attached to.
  const std::string& url() const { return url_; }
  nlohmann::json control(const nlohmann::json& command);
  /// Sends a chunk; returns its number. `nodes` as in the command: ids, "all" or "spmd".
  uint32_t send(const std::string& source, const nlohmann::json& nodes, uint64_t limit = 65536);
  /// Collects replies until the chunk is over.
  Outcome outcome(uint32_t chunk, double seconds = 20);
  Outcome run(const std::string& source, const nlohmann::json& nodes) { return outcome(send(source, nodes)); }
  /// Waits until `condition` holds for the state; returns the state, or nothing.
  bool wait_for(const std::function<bool(const nlohmann::json& state)>& condition);
  /// Waits until the output of a chunk on any node contains `text`.
  bool wait_for_output(uint32_t chunk, const std::string& text);

 private:
  bool take(double seconds);

  SteadyClock clock_;
  Log log_{LogLevel::off};
  std::unique_ptr<ControlClient> client_;
  std::string url_;
  std::map<uint32_t, Outcome> outcomes_;
};

}  // namespace actorhost::test
