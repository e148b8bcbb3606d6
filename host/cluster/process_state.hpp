#pragma once
// What a process knows of its part of a run, for those who look into the run: its nodes' counters, and sections that
// engines and others fill in when somebody asks. One JSON object; README.md has its fields. Any thread.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/base/clock.hpp"
#include "host/base/node_stats.hpp"
#include "host/wire/address.hpp"

namespace actorhost {

/// Adds its part to the object: out["keys"] and the like. Runs on the cluster's service thread whenever somebody looks,
/// so it takes no long, and waits for nobody.
using Section = std::function<void(nlohmann::json& out)>;

/// Adds a histogram to one in a report: {"bounds", "counts" (one more), "sum", "count"}. Null is one without values.
void add_histogram(nlohmann::json& into, const Histogram& histogram);
/// The same of a process's report, whatever is in it.
void add_histogram(nlohmann::json& into, const nlohmann::json& other);

class ProcessState {
 public:
  explicit ProcessState(const Clock& clock);
  ~ProcessState();

  /// The counters of a node of this process. They stay in the reports when the node has ended.
  std::shared_ptr<NodeStats> add_node(Address address, std::function<size_t()> queue_length);
  /// A part of the reports to those who ask for `name`; it replaces an earlier one of that name.
  void section(const std::string& name, Section fill);
  /// After this returns, the section's function does not run any more.
  void drop(const std::string& name);

  /// This process's report with its nodes and the sections that are `wanted`.
  nlohmann::json report(const std::vector<std::string>& wanted) const;
  /// Seconds since this object was made.
  double age() const noexcept { return clock_.now() - begun_; }

 private:
  struct Entry {
    Address address;
    std::shared_ptr<NodeStats> stats;
    std::function<size_t()> queue_length;
    double begun;
  };
  nlohmann::json node_report(const Entry& entry, double now) const;

  const Clock& clock_;
  const double begun_;
  mutable std::mutex nodes_mutex_;
  std::vector<Entry> nodes_;
  mutable std::mutex sections_mutex_;  // held while a section is filled in
  std::map<std::string, Section> sections_;
};

}  // namespace actorhost
