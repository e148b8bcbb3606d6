#pragma once
// Converts values between the C interface (actorhost.h) and ProgramValue. Stateless; any thread.

#include <memory>
#include <string>
#include <vector>

#include "bindings/include/actorhost.h"
#include "bindings/process/program.hpp"

namespace actorhost {

/// Reads values of a program. Takes over their tensors, also on failure; copies the rest. Code::bad_argument names the
/// value ("argument 2") and its fault.
Result<std::vector<ProgramValue>> values_from_c(const ah_value* values, size_t count, const std::string& name);

/// Values for a program, with the memory that they need. Tensors that the program leaves in them are released with this
/// object.
class CValues {
 public:
  explicit CValues(std::vector<ProgramValue> values);
  CValues(CValues&&) noexcept = default;
  CValues& operator=(CValues&&) noexcept = default;
  CValues(const CValues&) = delete;
  CValues& operator=(const CValues&) = delete;
  ~CValues();

  ah_value* data() noexcept { return lists_.front().data(); }
  size_t size() const noexcept { return lists_.front().size(); }

 private:
  void fill(std::vector<ah_value>& out, const std::vector<ProgramValue>& values);

  std::vector<ProgramValue> values_;          // owns the texts
  std::vector<std::vector<ah_value>> lists_;  // of the values, then of the lists and maps within them
};

}  // namespace actorhost
