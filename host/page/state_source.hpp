#pragma once
// The source of a run's states for the page, the metrics and the recorder. Implemented over a cluster in
// bindings/run/page_host.cpp and by tests.

#include <functional>
#include <string>
#include <vector>

#include "host/base/non_copyable.hpp"

namespace actorhost {

class StateSource : public Interface {
 public:
  /// Requests the state with these sections besides `run`, `hosts` and `nodes`, and returns at once. Calls `callback`
  /// with one JSON object, on any thread, at most once: an ending run may never reply.
  virtual void request_state(const std::vector<std::string>& sections,
                             std::function<void(std::string json)> callback) = 0;
};

}  // namespace actorhost
