#pragma once
// Where the page, the metrics and the recorder have the state of a run from. Implemented over a cluster in
// bindings/run/page_host.cpp and by tests.

#include <functional>
#include <string>
#include <vector>

namespace actorhost {

class StateSource {
 public:
  StateSource() = default;
  StateSource(const StateSource&) = delete;
  StateSource& operator=(const StateSource&) = delete;
  virtual ~StateSource() = default;
  /// Asks for the state with these sections besides `run`, `hosts` and `nodes`, and returns at once. `told` gets one
  /// JSON object, on any thread, at most once: a run that ends may never answer.
  virtual void look(const std::vector<std::string>& sections, std::function<void(std::string json)> told) = 0;
};

}  // namespace actorhost
