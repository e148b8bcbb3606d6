#pragma once
// A table of kernels that reports the work of each call: in a rehearsal computing takes virtual time. The work depends
// on the arguments alone, not on this machine.

#include "host/kernel/kernels.hpp"

namespace actorhost::kernel {

/// The work of a call: floating-point operations of products of matrices, and elements of all other operations.
struct Work {
  double operations = 0;
  double elements = 0;
};
using ReportWork = void (*)(const Work& work) noexcept;

/// `kernels()` then returns a table that calls `report` before each call of a kernel. Call it before the first call of
/// `kernels` and before other threads start.
void report_work(ReportWork report) noexcept;

/// A table that reports its work and calls `base`; without report_work, `base` itself. There is one such table.
const Kernels& counted(const Kernels& base) noexcept;

}  // namespace actorhost::kernel
