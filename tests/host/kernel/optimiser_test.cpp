#include "host/kernel/optimiser.hpp"

#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

namespace {

struct Scalar {
  double w, a = 0, b = 0;
};

// The update of a single number, directly from the formulas, in double.
void reference(const OptimiserSpec& spec, int64_t step, double g, Scalar& s) {
  const double lr = learning_rate(spec, step);
  if (spec.kind == OptimiserKind::add) {
    s.w += spec.scale * g;
    return;
  }
  const bool decoupled = spec.kind == OptimiserKind::adamw;
  if (decoupled) s.w *= 1 - lr * spec.weight_decay;
  if (!decoupled) g += spec.weight_decay * s.w;
  switch (spec.kind) {
    case OptimiserKind::sgd:
      s.a = spec.momentum * s.a + g;
      s.w -= lr * (spec.nesterov ? g + spec.momentum * s.a : s.a);
      break;
    case OptimiserKind::adagrad:
      s.a += g * g;
      s.w -= lr * g / (std::sqrt(s.a) + spec.epsilon);
      break;
    case OptimiserKind::rmsprop: {
      s.a = spec.alpha * s.a + (1 - spec.alpha) * g * g;
      s.b = spec.momentum * s.b + g / (std::sqrt(s.a) + spec.epsilon);
      s.w -= lr * s.b;
      break;
    }
    default: {
      s.a = spec.beta1 * s.a + (1 - spec.beta1) * g;
      s.b = spec.beta2 * s.b + (1 - spec.beta2) * g * g;
      const auto t = static_cast<double>(step + 1);
      const double mean = s.a / (1 - std::pow(spec.beta1, t));
      const double variance = s.b / (1 - std::pow(spec.beta2, t));
      s.w -= lr * mean / (std::sqrt(variance) + spec.epsilon);
    }
  }
}

std::vector<OptimiserSpec> specs() {
  OptimiserSpec add{.kind = OptimiserKind::add, .scale = -0.5};
  OptimiserSpec sgd{.kind = OptimiserKind::sgd, .lr = 0.1};
  OptimiserSpec decayed{.kind = OptimiserKind::sgd, .lr = 0.1, .weight_decay = 0.01};
  OptimiserSpec momentum{.kind = OptimiserKind::sgd, .lr = 0.05, .momentum = 0.9, .weight_decay = 0.001};
  OptimiserSpec nesterov = momentum;
  nesterov.nesterov = true;
  OptimiserSpec adagrad{.kind = OptimiserKind::adagrad, .lr = 0.1, .weight_decay = 0.001, .initial = 0.1};
  OptimiserSpec adam{.kind = OptimiserKind::adam, .lr = 0.01, .weight_decay = 0.01};
  adam.decay = {.kind = DecayKind::inverse_time, .rate = 0.5, .every = 2};
  OptimiserSpec rmsprop{.kind = OptimiserKind::rmsprop, .lr = 0.01, .weight_decay = 0.001, .alpha = 0.9};
  OptimiserSpec moving = rmsprop;
  moving.momentum = 0.8;
  OptimiserSpec adamw{.kind = OptimiserKind::adamw, .lr = 0.01, .weight_decay = 0.1};
  adamw.decay = {.kind = DecayKind::cosine, .every = 3, .warm_steps = 2, .warm_start = 0.5};
  return {add, sgd, decayed, momentum, nesterov, adagrad, adam, rmsprop, moving, adamw};
}

template <typename T>
struct Model {
  std::vector<T> w;
  std::vector<std::vector<T>> state;
};

template <typename T>
Model<T> train(const Kernels& table, const OptimiserSpec& spec, int64_t n, int64_t piece, uint64_t seed) {
  Rng rng(seed);
  Model<T> model{normals<T>(rng, n), {}};
  model.state.assign(static_cast<size_t>(state_parts(spec)),
                     std::vector<T>(static_cast<size_t>(n), static_cast<T>(state_fill(spec))));
  for (int64_t step = 0; step < 5; ++step) {
    const auto g = normals<T>(rng, n);
    for (int64_t from = 0; from < n; from += piece) {
      void* parts[kMaxStateParts] = {};
      for (size_t i = 0; i < model.state.size(); ++i) parts[i] = model.state[i].data() + from;
      apply_update(table, spec, dtype_of<T>, std::min(piece, n - from), learning_rate(spec, step), step,
                   g.data() + from, parts, model.w.data() + from);
    }
  }
  return model;
}

}  // namespace

TEMPLATE_TEST_CASE("every optimiser follows its formula on every instruction set", "", float, double) {
  const double tolerance = sizeof(TestType) == 4 ? 2e-5 : 1e-12;
  for (const Kernels* table : tables()) {
    for (const OptimiserSpec& spec : specs()) {
      const int64_t n = 77;
      const auto model = train<TestType>(*table, spec, n, n, 5);
      Rng rng(5);
      std::vector<Scalar> wanted;
      for (TestType w : normals<TestType>(rng, n)) wanted.push_back({w, state_fill(spec), 0});
      for (int64_t step = 0; step < 5; ++step) {
        const auto g = normals<TestType>(rng, n);
        for (size_t i = 0; i < wanted.size(); ++i) reference(spec, step, g[i], wanted[i]);
      }
      INFO(table->isa << ", optimiser " << static_cast<int>(spec.kind));
      for (size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(model.w[i] - wanted[i].w) < tolerance);
    }
  }
}

TEMPLATE_TEST_CASE("an update gives the same bits in pieces and on every instruction set", "", float, double) {
  for (const OptimiserSpec& spec : specs()) {
    const auto whole = train<TestType>(*tables().front(), spec, 1001, 1001, 9);
    for (const Kernels* table : tables()) {
      for (int64_t piece : {1001, 500, 64, 7, 1}) {
        INFO(table->isa << ", pieces of " << piece);
        CHECK(train<TestType>(*table, spec, 1001, piece, 9).w == whole.w);
      }
    }
  }
}

TEST_CASE("decay schedules have the values of their formulas") {
  OptimiserSpec spec{.lr = 2};
  auto rate = [&](Decay decay, int64_t step) {
    spec.decay = decay;
    return learning_rate(spec, step);
  };
  CHECK(rate({}, 1000) == 2);
  CHECK(rate({.kind = DecayKind::step, .rate = 0.5, .every = 10}, 9) == 2);
  CHECK(rate({.kind = DecayKind::step, .rate = 0.5, .every = 10}, 25) == 0.5);
  CHECK(rate({.kind = DecayKind::exponential, .rate = 0.25, .every = 10}, 5) == Approx(1));
  CHECK(rate({.kind = DecayKind::inverse_time, .rate = 1, .every = 4}, 12) == 0.5);
  const Decay cosine{.kind = DecayKind::cosine, .every = 100, .floor = 0.1};
  CHECK(rate(cosine, 0) == 2);
  CHECK(rate(cosine, 50) == Approx(1.1));
  CHECK(rate(cosine, 100) == Approx(0.2));
  CHECK(rate(cosine, 5000) == Approx(0.2));
  CHECK(rate({.warm_steps = 4, .warm_start = 0.5}, 0) == 1);
  CHECK(rate({.warm_steps = 4, .warm_start = 0.5}, 2) == 1.5);
  CHECK(rate({.warm_steps = 4, .warm_start = 0.5}, 1000) == 2);
  const Decay warmed{.kind = DecayKind::step, .rate = 0.5, .every = 10, .warm_steps = 4};
  CHECK(rate(warmed, 3) == 1.5);
  CHECK(rate(warmed, 13) == 2);
  CHECK(rate(warmed, 14) == 1);
}

TEST_CASE("every optimiser is found by its name") {
  for (const char* name : {"add", "sgd", "adagrad", "adam", "rmsprop", "adamw"}) {
    CHECK(name_of(optimiser_named(name).value()) == std::string(name));
  }
  CHECK_FALSE(optimiser_named("lion"));
}

TEST_CASE("a description with a bad number is refused with the field's name") {
  auto message = [](OptimiserSpec spec) {
    const Status status = check(spec);
    return status.ok() ? std::string() : status.error().message;
  };
  CHECK(message({}).empty());
  CHECK(message({.lr = -1}).find("lr has to be") == 0);
  CHECK(message({.lr = std::numeric_limits<double>::quiet_NaN()}).find("lr") == 0);
  CHECK(message({.momentum = 1}).find("momentum") == 0);
  CHECK(message({.kind = OptimiserKind::add, .scale = INFINITY}).find("scale") == 0);
  CHECK(message({.decay = {.kind = DecayKind::step, .rate = 2}}).find("decay.rate") == 0);
  CHECK(message({.decay = {.kind = DecayKind::cosine, .every = 0}}).find("decay.every") == 0);
  CHECK(message({.decay = {.warm_steps = -1}}).find("decay.steps") == 0);
  CHECK(message({.decay = {.warm_steps = 1, .warm_start = 2}}).find("decay.start") == 0);
  CHECK(message({.kind = OptimiserKind::rmsprop, .alpha = 1}).find("alpha") == 0);
}
