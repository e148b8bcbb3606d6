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

/// From now on `kernels()` returns a table that also calls `report` before each call. Call it once, before the first
/// call of `kernels` and before other threads start.
void report_work(ReportWork report) noexcept;

/// The function of `report_work`; null in production.
ReportWork work_report() noexcept;

/// A table that calls `base` and work_report(). One table exists; `base` outlives it.
const Kernels& counted(const Kernels& base) noexcept;

}  // namespace actorhost::kernel
