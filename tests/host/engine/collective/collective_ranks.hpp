#pragma once
// Ranks of a test that call collectives: a Collectives for each node of a TestProcess or TestRun, short forms of the
// calls, and the results of a loop over the ranks.

#include <cstdio>

#include "host/base/random.hpp"
#include "host/engine/collective/collectives.hpp"
#include "tests/host/cluster/test_process.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

/// Ends the test program unless `there` holds. For a node's thread, where Catch's assertions are not allowed.
inline void demand(bool there, const char* what) {
  if (there) return;
  std::fprintf(stderr, "there should be %s\n", what);
  std::abort();
}

template <typename T>
constexpr Dtype dtype_of = std::is_same_v<T, float> ? Dtype::f32 : Dtype::f64;

template <typename T>
Blob bytes_of(const std::vector<T>& values) {
  return Blob::copy_of(values.data(), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> values_of(const Blob& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// The input of each rank: values whose sums depend on the order of addition.
template <typename T>
std::vector<std::vector<T>> inputs_of(uint64_t seed, uint32_t ranks, size_t count) {
  Rng rng(seed);
  std::vector<std::vector<T>> inputs(ranks, std::vector<T>(count));
  for (std::vector<T>& values : inputs) {
    for (T& value : values) value = static_cast<T>((rng.uniform() - 0.4) * (rng.below(2) == 0 ? 1.0 : 1000.0));
  }
  return inputs;
}

/// The reduction in rank order, element by element.
template <typename T>
std::vector<T> folded(CollectiveOp op, const std::vector<std::vector<T>>& inputs) {
  std::vector<T> total = inputs[0];
  for (size_t rank = 1; rank < inputs.size(); ++rank) {
    for (size_t i = 0; i < total.size(); ++i) {
      const T other = inputs[rank][i];
      if (op == CollectiveOp::min) total[i] = std::min(total[i], other);
      if (op == CollectiveOp::max) total[i] = std::max(total[i], other);
      if (op == CollectiveOp::prod) total[i] *= other;
      if (op == CollectiveOp::sum || op == CollectiveOp::mean) total[i] += other;
    }
  }
  if (op == CollectiveOp::mean && inputs.size() > 1) {
    for (T& value : total) value /= static_cast<T>(inputs.size());
  }
  return total;
}

/// A call with its name as its signature.
inline CallSpec spec_of(CollectiveKind kind, const std::string& name, const std::string& where = "") {
  CallSpec spec;
  spec.kind = kind;
  spec.name = spec.signature = name;
  spec.where = where;
  return spec;
}

/// The collectives of one rank.
class Caller {
 public:
  /// Without a courier, for tests that do not lose a leader.
  Caller(Node& node, Meetings& meetings, Algorithm algorithm = Algorithm::automatic)
      : own_(std::make_unique<Arbiter>(Arbiter::Wiring{
            node.cluster().process(), [](ProcessId, Kind, const std::string&, const Blob&) {},
            [&node] { return node.newest_membership(); }, [](const std::function<void()>& call) { call(); }})),
        collectives_(node, meetings, *own_),
        algorithm_(algorithm) {}
  Caller(Node& node, Meetings& meetings, Arbiter& arbiter)
      : collectives_(node, meetings, arbiter), algorithm_(Algorithm::automatic) {}

  Status barrier(const std::string& where, double timeout = kForever) {
    auto passed = run(spec_of(CollectiveKind::barrier, "barrier", where), timeout);
    return passed ? Status() : Status(passed.error());
  }

  template <typename T>
  Result<std::vector<T>> allreduce(const std::vector<T>& values, CollectiveOp op, const std::string& where,
                                   double timeout = kForever) {
    auto result = allreduce(bytes_of(values), dtype_of<T>, op, where, timeout);
    if (!result) return result.error();
    return values_of<T>(*result);
  }

  Result<Blob> allreduce(Blob input, Dtype dtype, CollectiveOp op, const std::string& where,
                         double timeout = kForever) {
    CallSpec spec = spec_of(CollectiveKind::allreduce, "allreduce", where);
    spec.signature = std::string("allreduce ") + collective_op_name(op) +
                     (dtype == Dtype::f32 ? " float32[" : " float64[") +
                     std::to_string(input.size() / dtype_size(dtype)) + "]";
    spec.op = op;
    spec.dtype = dtype;
    spec.input = std::move(input);
    auto result = run(std::move(spec), timeout);
    if (!result) return result.error();
    return std::move(result->buffer);
  }

  Result<CallResult> run(CallSpec spec, double timeout = kForever) {
    if (algorithm_fits(spec.kind, algorithm_)) spec.choice.forced = algorithm_;
    return collectives_.run(collectives_.all_workers(), std::move(spec), timeout);
  }

  /// A barrier of a named group of workers, in shared memory or over frames.
  Status barrier_of(const std::string& name, const std::vector<NodeId>& ids, const std::string& where) {
    CollectiveGroup& group = groups_[name];
    group.name = name;
    group.ids = ids;
    group.id = static_cast<uint32_t>(std::hash<std::string>{}(name) | 1U);
    CallSpec spec = spec_of(CollectiveKind::barrier, "barrier", where);
    spec.signature = "barrier in group '" + name + "'";
    auto passed = collectives_.run(group, std::move(spec));
    return passed ? Status() : Status(passed.error());
  }

  Collectives& collectives() { return collectives_; }

 private:
  std::unique_ptr<Arbiter> own_;
  Collectives collectives_;
  const Algorithm algorithm_;
  std::map<std::string, CollectiveGroup> groups_;
};

/// A caller for each node of one process; over frames if an algorithm is given.
struct Callers {
  explicit Callers(TestProcess& process, Algorithm algorithm = Algorithm::automatic) {
    for (const auto& node : process.nodes) all.push_back(std::make_unique<Caller>(*node, meetings, algorithm));
  }
  Caller& operator[](size_t i) { return *all[i]; }

  Meetings meetings;
  std::vector<std::unique_ptr<Caller>> all;
};

/// Lets threads pass in a given order: `turns` has the turn of each thread.
class Turnstile {
 public:
  explicit Turnstile(std::vector<uint32_t> turns) : turns_(std::move(turns)) {}
  void pass(uint32_t thread) {
    while (turn_.load() != turns_[thread]) std::this_thread::yield();
    turn_.fetch_add(1);
  }

 private:
  std::vector<uint32_t> turns_;
  std::atomic<uint32_t> turn_{0};
};

inline std::vector<uint32_t> random_order(Rng& rng, uint32_t count) {
  std::vector<uint32_t> all(count);
  for (uint32_t i = 0; i < count; ++i) all[i] = i;
  std::vector<uint32_t> order(count);
  rng.sample(all, count, order.data());
  return order;
}

}  // namespace actorhost::test
