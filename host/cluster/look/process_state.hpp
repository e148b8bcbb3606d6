#pragma once
// A process's part of the run's state, for observers: its nodes' counters and newest output, and sections that
// engines and others fill in on request. One JSON object; STATE.md lists its fields. Thread-safe.

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

/// Adds its part to the object: out["keys"] and the like. Runs on the cluster's service thread for each request, so it
/// must be short and must not block.
using Section = std::function<void(nlohmann::json& out)>;

/// Adds a histogram to a report's histogram: {"bounds", "counts" (one more), "sum", "count"}. Null has no values.
void add_histogram(nlohmann::json& into, const Histogram& histogram);
/// The same for a process's report, which may hold anything.
void add_histogram(nlohmann::json& into, const nlohmann::json& other);

class ProcessState {
 public:
  explicit ProcessState(const Clock& clock);
  ~ProcessState();

  /// The counters of a node of this process. They stay in the reports after the node has ended.
  std::shared_ptr<NodeStats> add_node(Address address, std::function<size_t()> queue_length);
  /// Registers a part of the reports under `name`; replaces an earlier part of that name.
  void section(const std::string& name, Section fill);
  /// Removes a part. Its function does not run after this returns.
  void drop(const std::string& name);

  /// This process's report, with its nodes and the `wanted` sections. "stream:worker 3" and "output:server 0" request
  /// a section of one node.
  nlohmann::json report(const std::vector<std::string>& wanted) const;
  /// Seconds since this object was made.
  double age() const noexcept { return clock_.now() - begun_; }

 private:
  struct Entry {
    Address address;
    std::shared_ptr<NodeStats> stats;
    std::function<size_t()> queue_length;
    double begun;
    double streamed_at = -kForever;  // time of the newest report of the stream
    double streams_from = 0;         // the spans since this time are retained
  };
  nlohmann::json node_report(const Entry& entry, double now) const;
  nlohmann::json stream_report(Entry& entry, double now) const;

  const Clock& clock_;
  const double begun_;
  mutable std::mutex nodes_mutex_;
  mutable std::vector<Entry> nodes_;   // a report notes that the stream of a node is watched
  mutable std::mutex sections_mutex_;  // held while a section is filled in
  std::map<std::string, Section> sections_;
};

}  // namespace actorhost
