#pragma once
// Student's t distribution, for confidence intervals of means over a few seeds. Pure; the same bits everywhere.

#include <cstdint>

namespace actorhost {

/// P(T <= t) for `degrees` >= 1 degrees of freedom; error below 1e-12.
double student_t_cdf(double t, uint32_t degrees) noexcept;
/// The t with student_t_cdf(t, degrees) = p, for 0 < p < 1.
double student_t_quantile(double p, uint32_t degrees) noexcept;

}  // namespace actorhost
