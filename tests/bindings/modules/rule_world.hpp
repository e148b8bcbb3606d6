#pragma once
// One rule in a VM of its own that notes what it is shown and what it says, each asking as a row of doubles, so that
// two worlds can be compared to the last bit.

#include <memory>
#include <string>
#include <vector>

#include "bindings/modules/barrier_api.hpp"
#include "tests/bindings/vm_fixture.hpp"

namespace actorhost::testing {

/// What a rule was shown, and its answer. `text` names the fields.
struct Asking {
  std::vector<double> numbers;

  bool operator==(const Asking&) const = default;
  bool passes() const { return numbers.at(numbers.size() - 2) != 0; }
  bool rechecks() const { return numbers.back() >= 0; }
  std::string text() const;
};

class RuleWorld {
 public:
  /// `spec` as barrier.from takes it; a file in it has the text `file`, where `noted(rule)` stands for a function
  /// inside of a combinator that is to be noted as well. `pulled`: whether model versions are noted.
  RuleWorld(const std::string& spec, const std::string& file, uint64_t seed, bool pulled = true);

  LuaRule& rule() { return *rule_; }
  std::vector<Asking> askings();

 private:
  VmFixture lua_;
  std::unique_ptr<LuaRule> rule_;
};

/// Empty when the two are equal and of one length, else where they part.
std::string difference(const std::vector<Asking>& one, const std::vector<Asking>& other);

}  // namespace actorhost::testing
