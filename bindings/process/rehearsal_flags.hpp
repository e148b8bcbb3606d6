#pragma once
// The flags of `actorhost rehearse` in the table of a run's flags.

#include <string>

#include "host/base/result.hpp"

namespace CLI {
class App;
}

namespace actorhost {

struct RunOptions;
struct RehearsalOptions;

class RehearsalFlags {
 public:
  /// Adds the flags. This object outlives the parse.
  void add_to(CLI::App& app);
  /// Checks the values and sets `out.rehearsal`. Refuses the flags of a run that a rehearsal cannot honour, and sets
  /// those whose default depends on this machine.
  Status take(RunOptions& out) const;

 private:
  Status take_search(RehearsalOptions& out) const;

  std::string hosts_, order_, virtual_seconds_, compute_, network_, straggler_, churn_, faults_, events_, save_faults_,
      chart_, seeds_, jobs_, codes_;
  bool shrink_ = false;
  bool threads_ = false;
};

}  // namespace actorhost
