#pragma once
// Random plans for the tracker's tests.

#include <vector>

#include "host/base/random.hpp"
#include "host/mapreduce/tasks/plan.hpp"

namespace actorhost::test {

/// The actions of a job: new stages over earlier stages, kept or not, wide and narrow, some without tasks. The last
/// action is empty, so that all workers enter it.
std::vector<Plan> random_job(Rng& rng);

}  // namespace actorhost::test
