// The kernels of a training step and of inference of the CNN in cnn.lua, called from C++ one after the other: the cost
// of the layers without Lua. Milliseconds, batch 128, medians; CPU time of one thread, wall time of several.
// Usage: cnn_bench [threads [rounds]]

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "host/base/blob.hpp"
#include "host/base/random.hpp"
#include "host/kernel/conv.hpp"
#include "host/kernel/matmul.hpp"
#include "host/kernel/normalise.hpp"
#include "host/kernel/optimiser.hpp"
#include "tests/bench/in_turns.hpp"

using namespace actorhost;
using namespace actorhost::kernel;

namespace {

constexpr int64_t kBatch = 128;
constexpr int64_t kSide = 28;
constexpr int64_t kFilters = 32;
constexpr int64_t kPooled = 14 * 14 * kFilters;
constexpr int64_t kHidden = 1024;
constexpr int64_t kClasses = 10;
constexpr int64_t kWeights = 25 * kFilters;

struct Array {
  Blob bytes;
  explicit Array(int64_t n) : bytes(Blob::allocate(static_cast<size_t>(n) * sizeof(float))) {
    Rng rng(static_cast<uint64_t>(n));
    for (int64_t i = 0; i < n; ++i) data()[i] = static_cast<float>(rng.uniform() - 0.5) / 16;
  }
  float* data() noexcept { return reinterpret_cast<float*>(bytes.data()); }
};

View matrix(float* data, int64_t rows, int64_t columns) { return row_major(data, Dtype::f32, {rows, columns}); }

View turned(View v) {
  std::swap(v.shape[0], v.shape[1]);
  std::swap(v.steps[0], v.steps[1]);
  return v;
}

struct Net {
  const Kernels& k = kernels();
  ThreadPool pool;
  Windows windows{kBatch, kSide, kSide, 1, 5, 5, 1, 1, 2, 2, kSide, kSide};
  Windows pooling{kBatch, kSide, kSide, kFilters, 2, 2, 2, 2, 0, 0, 14, 14};
  Array x{kBatch * kSide * kSide}, normal{kBatch * kSide * kSide}, d_normal{kBatch * kSide * kSide};
  Array conv_out{kBatch * kSide * kSide * kFilters}, d_conv_out{kBatch * kSide * kSide * kFilters};
  Array before_relu{kBatch * kSide * kSide * kFilters};
  Array pooled{kBatch * kPooled}, dropped{kBatch * kPooled}, d_pooled{kBatch * kPooled}, d_dropped{kBatch * kPooled};
  Array hidden{kBatch * kHidden}, d_hidden{kBatch * kHidden}, scores{kBatch * kClasses};
  // All parameters are in one array and all gradients in another, as in a network.
  static constexpr int64_t kParams =
      2 + kWeights + kFilters + kPooled * kHidden + kHidden + kHidden * kClasses + kClasses;
  Array params{kParams}, grads{kParams};
  std::vector<float> mean{0.1F}, variance{1.1F}, batch_mean{0}, batch_variance{0};
  std::vector<uint16_t> places = std::vector<uint16_t>(static_cast<size_t>(kBatch * kPooled));
  std::vector<int32_t> labels = std::vector<int32_t>(static_cast<size_t>(kBatch), 3);

  explicit Net(int threads) : pool(threads) {}

  struct Parts {
    float *gamma, *beta, *conv, *conv_bias, *first, *first_bias, *last, *last_bias;
  };
  static Parts parts(float* at) {
    Parts p{};
    for (auto [part, size] : {std::pair(&p.gamma, int64_t{1}),
                              {&p.beta, 1},
                              {&p.conv, kWeights},
                              {&p.conv_bias, kFilters},
                              {&p.first, kPooled * kHidden},
                              {&p.first_bias, kHidden},
                              {&p.last, kHidden * kClasses},
                              {&p.last_bias, kClasses}}) {
      *part = at;
      at += size;
    }
    return p;
  }

  void add_row(float* data, int64_t columns, float* row) {
    const View to = matrix(data, kBatch, columns);
    View wide;
    (void)broadcast_to(matrix(row, 1, columns), to, wide);
    binary(k, Binary::add, to, to, wide);
  }

  void forward(bool training) {
    const Parts p = parts(params.data());
    const Channels channels{k, Dtype::f32, kBatch * kSide * kSide, 1};
    if (training) channel_moments(channels, x.data(), batch_mean.data(), batch_variance.data());
    normalise(channels, {mean.data(), variance.data(), 1e-8, p.gamma, p.beta}, x.data(), normal.data());
    conv(k, Dtype::f32, {windows, kFilters}, normal.data(), p.conv, p.conv_bias, Unary::relu, conv_out.data(), &pool);
    max_pool(k, Dtype::f32, pooling, conv_out.data(), pooled.data(), places.data(), &pool);
    float* in = pooled.data();
    if (training) {
      k.dropout(Dtype::f32, kBatch * kPooled, dropped.data(), in, 42, 0, 1U << 28, 1.1);
      in = dropped.data();
    }
    matmul(k, matrix(in, kBatch, kPooled), matrix(p.first, kPooled, kHidden), matrix(hidden.data(), kBatch, kHidden), 1,
           false, &pool);
    add_row(hidden.data(), kHidden, p.first_bias);
    k.unary(Unary::relu, Dtype::f32, kBatch * kHidden, hidden.data(), 1, hidden.data(), 1);
    matmul(k, matrix(hidden.data(), kBatch, kHidden), matrix(p.last, kHidden, kClasses),
           matrix(scores.data(), kBatch, kClasses), 1, false, &pool);
    add_row(scores.data(), kClasses, p.last_bias);
    if (!training) k.softmax(Dtype::f32, kBatch, kClasses, scores.data(), kClasses, scores.data(), kClasses);
  }

  void step() {
    forward(true);
    const Parts p = parts(params.data());
    const Parts g = parts(grads.data());
    (void)k.cross_entropy(Dtype::f32, kBatch, kClasses, scores.data(), kClasses, labels.data(), scores.data(), kClasses,
                          1.0 / kBatch);
    const View d_scores = matrix(scores.data(), kBatch, kClasses);
    const View h = matrix(hidden.data(), kBatch, kHidden);
    const View dh = matrix(d_hidden.data(), kBatch, kHidden);
    matmul(k, turned(h), d_scores, matrix(g.last, kHidden, kClasses), 1, false, &pool);
    reduce_dim(k, Reduction::sum, d_scores, 0, matrix(g.last_bias, 1, kClasses));
    matmul(k, d_scores, turned(matrix(p.last, kHidden, kClasses)), dh, 1, false, &pool);
    binary(k, Binary::relu_grad, dh, dh, h);
    matmul(k, turned(matrix(dropped.data(), kBatch, kPooled)), dh, matrix(g.first, kPooled, kHidden), 1, false, &pool);
    reduce_dim(k, Reduction::sum, dh, 0, matrix(g.first_bias, 1, kHidden));
    matmul(k, dh, turned(matrix(p.first, kPooled, kHidden)), matrix(d_dropped.data(), kBatch, kPooled), 1, false,
           &pool);
    k.dropout(Dtype::f32, kBatch * kPooled, d_pooled.data(), d_dropped.data(), 42, 0, 1U << 28, 1.1);
    max_pool_to_input(k, Dtype::f32, pooling, d_pooled.data(), places.data(), d_conv_out.data(), &pool);
    k.binary(Binary::relu_grad, Dtype::f32, kBatch * kSide * kSide * kFilters, before_relu.data(), 1, d_conv_out.data(),
             1, conv_out.data(), 1);
    const Conv c{windows, kFilters};
    conv_to_weights(k, Dtype::f32, c, normal.data(), before_relu.data(), g.conv, g.conv_bias, &pool);
    conv_to_input(k, Dtype::f32, c, before_relu.data(), p.conv, d_normal.data(), &pool);
    normalise_grad({k, Dtype::f32, kBatch * kSide * kSide, 1}, {mean.data(), variance.data(), 1e-8, p.gamma, p.beta},
                   false, x.data(), d_normal.data(), nullptr, g.gamma, g.beta);
    const OptimiserSpec spec{.lr = 0.01};
    apply_update(k, spec, Dtype::f32, kParams, spec.lr, 0, grads.data(), nullptr, params.data());
  }
};

double median_ms(int threads, int rounds, const std::function<void()>& f) {
  constexpr int kSteps = 10;
  for (int i = 0; i < 3; ++i) f();
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const double began = seconds_now(threads);
    for (int i = 0; i < kSteps; ++i) f();
    times.push_back((seconds_now(threads) - began) / kSteps * 1e3);
  }
  return median(times);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  Net net(threads);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 11;
  std::printf("training step %.2f ms\n", median_ms(threads, rounds, [&] { net.step(); }));
  std::printf("inference %.2f ms\n", median_ms(threads, rounds, [&] { net.forward(false); }));
}
