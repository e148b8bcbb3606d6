#pragma once
// Random plans for the tracker's tests.

#include <vector>

#include "host/base/random.hpp"
#include "host/mapreduce/tasks/plan.hpp"

namespace actorhost::test {

/// The actions of a job: new stages over old ones, kept or not, wide and narrow, some without tasks. The last one is
/// empty, so that all workers take part in it.
std::vector<Plan> random_job(Rng& rng);

}  // namespace actorhost::test
