#pragma once
// One rule in its own VM. Records each decision's input and answer as a row of doubles, so that two fixtures can be
// compared bit by bit.

#include "bindings/modules/engine/barrier_api.hpp"
#include "tests/bindings/vm_fixture.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

/// A rule's input and its answer. `text` names the fields.
struct Evaluation {
  std::vector<double> numbers;

  bool operator==(const Evaluation&) const = default;
  bool passes() const { return numbers.at(numbers.size() - 2) != 0; }
  bool rechecks() const { return numbers.back() >= 0; }
  std::string text() const;
};

class RuleWorld {
 public:
  /// `spec` is an argument of barrier.from. A file in `spec` has the text `file`, which may wrap a function inside a
  /// combinator as `noted(rule)` to record it too. `pulled`: whether to record model versions.
  RuleWorld(const std::string& spec, const std::string& file, uint64_t seed, bool pulled = true);

  LuaRule& rule() { return *rule_; }
  std::vector<Evaluation> evaluations();

 private:
  VmFixture lua_;
  std::unique_ptr<LuaRule> rule_;
};

/// The first difference; empty when both are equal and of one length.
std::string difference(const std::vector<Evaluation>& one, const std::vector<Evaluation>& other);

}  // namespace actorhost::test
