// Convolutions of real networks, forward (with bias and relu) and backward, in GFLOP/s on one and two threads, beside
// oneDNN's convolutions of the same shapes (where oneDNN is installed); and pooling beside memcpy of as many bytes.
// Both sides run in turns. The figures are medians, and the ratio is the median of the turns' ratios. The times of one
// thread are CPU time, which other work disturbs little; the times of two threads are wall time. Results are compared
// first.
// Usage: conv_bench [rounds [part of a shape's name]]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "host/base/blob.hpp"
#include "host/base/random.hpp"
#include "tests/bench/conv_yardstick.hpp"
#include "tests/bench/in_turns.hpp"

using namespace actorhost;
using namespace actorhost::kernel;

namespace {

// Aligned like tensors.
struct Array {
  Blob bytes;

  explicit Array(int64_t size) : bytes(Blob::allocate(static_cast<size_t>(size) * sizeof(float))) {
    Rng rng(static_cast<uint64_t>(size));
    for (size_t i = 0; i < this->size(); ++i) data()[i] = static_cast<float>(rng.uniform() - 0.5);
  }
  float* data() noexcept { return reinterpret_cast<float*>(bytes.data()); }
  size_t size() const noexcept { return bytes.size() / sizeof(float); }
};

struct ConvShape {
  const char* name;
  Conv c;
};

// Batch 128: the CNN of MNIST, the second layer of a deeper CNN, then layers of larger networks.
const ConvShape kShapes[] = {
    {"28x28x1 5x5x32", {{128, 28, 28, 1, 5, 5, 1, 1, 2, 2, 28, 28}, 32}},
    {"14x14x32 5x5x64", {{128, 14, 14, 32, 5, 5, 1, 1, 2, 2, 14, 14}, 64}},
    {"28x28x64 3x3x64", {{128, 28, 28, 64, 3, 3, 1, 1, 1, 1, 28, 28}, 64}},
    {"28x28x64 3x3x64 /2", {{128, 28, 28, 64, 3, 3, 2, 2, 0, 0, 14, 14}, 64}},
    {"56x56x64 1x1x64", {{128, 56, 56, 64, 1, 1, 1, 1, 0, 0, 56, 56}, 64}},
    {"7x7x512 3x3x512", {{16, 7, 7, 512, 3, 3, 1, 1, 1, 1, 7, 7}, 512}},
    {"112x112x3 7x7x64 /2", {{32, 112, 112, 3, 7, 7, 2, 2, 2, 2, 56, 56}, 64}},
};

#if AH_ONEDNN
// The largest difference divided by the largest element.
double apart(Array& a, const std::vector<float>& b) {
  double most = 0;
  double size = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    most = std::max(most, static_cast<double>(std::abs(a.data()[i] - b[i])));
    size = std::max(size, static_cast<double>(std::abs(b[i])));
  }
  return most / size;
}
#endif

struct Layer {
  Conv c;
  int64_t images = c.windows.batch * c.windows.height * c.windows.width * c.windows.channels;
  int64_t results = c.windows.batch * c.windows.out_h * c.windows.out_w * c.filters;
  int64_t taps = c.windows.kernel_h * c.windows.kernel_w * c.windows.channels * c.filters;
  Array in{images}, weights{taps}, bias{c.filters}, grad{results};
  Array out{results}, in_grad{images}, weight_grad{taps}, bias_grad{c.filters};

  double gigaflops() const {
    const Windows& w = c.windows;
    return 2e-9 * static_cast<double>(w.batch * w.out_h * w.out_w) * static_cast<double>(weights.size());
  }

  Array& run(Direction direction, ThreadPool& pool) {
    const Kernels& k = kernels();
    switch (direction) {
      case Direction::forward:
        conv(k, Dtype::f32, c, in.data(), weights.data(), bias.data(), Unary::relu, out.data(), &pool);
        return out;
      case Direction::to_input:
        conv_to_input(k, Dtype::f32, c, grad.data(), weights.data(), in_grad.data(), &pool);
        return in_grad;
      default:
        conv_to_weights(k, Dtype::f32, c, in.data(), grad.data(), weight_grad.data(), bias_grad.data(), &pool);
        return weight_grad;
    }
  }
};

void measure(Layer& layer, const char* name, Direction direction, int threads, int rounds) {
  static const char* const kNames[] = {"forward", "to input", "to weights"};
  ThreadPool pool(threads);
  std::function<void()> theirs;
#if AH_ONEDNN
  set_onednn_threads(threads);
  const ConvYardstick yardstick =
      onednn_conv(direction, layer.c, layer.in.data(), layer.weights.data(), layer.bias.data(), layer.grad.data());
  theirs = yardstick.run;
  theirs();
  const double off = apart(layer.run(direction, pool), yardstick.result());
  if (!(off < 1e-4)) std::printf("results differ: %g\n", off);
#endif
  const Turns turns(
      threads, rounds, [&] { layer.run(direction, pool); }, theirs);
  std::printf("%-20s %-10s %d thread%s %7.1f GFLOP/s", name, kNames[static_cast<int>(direction)], threads,
              threads == 1 ? " " : "s", layer.gigaflops() / median(turns.ours));
  if (theirs) std::printf(", oneDNN %7.1f, ratio %.2f", layer.gigaflops() / median(turns.theirs), median(turns.ratios));
  std::printf("\n");
  std::fflush(stdout);
}

void pooling(int threads, int rounds) {
  const Windows w = {128, 28, 28, 32, 2, 2, 2, 2, 0, 0, 14, 14};
  Array in(w.batch * w.height * w.width * w.channels);
  Array out(w.batch * w.out_h * w.out_w * w.channels);
  std::vector<uint16_t> places(out.size());
  ThreadPool pool(threads);
  const size_t bytes = in.size() * 4 + out.size() * 6;  // each way
  std::vector<char> from(bytes / 2);
  std::vector<char> to(bytes / 2);
  const auto copy = [&] {
    pool.run(threads, [&](int i) {
      const size_t part = bytes / 2 / static_cast<size_t>(threads);
      std::memcpy(to.data() + static_cast<size_t>(i) * part, from.data() + static_cast<size_t>(i) * part, part);
    });
  };
  const Kernels& k = kernels();
  const auto print = [&](const char* name, const std::function<void()>& f) {
    const Turns turns(threads, rounds, f, copy);
    std::printf("%-31s %d thread%s %7.1f GB/s, memcpy %.1f, ratio %.2f\n", name, threads, threads == 1 ? " " : "s",
                1e-9 * static_cast<double>(bytes) / median(turns.ours),
                1e-9 * static_cast<double>(bytes) / median(turns.theirs), median(turns.ratios));
  };
  print("28x28x32 max 2x2", [&] { max_pool(k, Dtype::f32, w, in.data(), out.data(), places.data(), &pool); });
  print("28x28x32 max 2x2 to input",
        [&] { max_pool_to_input(k, Dtype::f32, w, out.data(), places.data(), in.data(), &pool); });
  print("28x28x32 average 2x2", [&] { average_pool(k, Dtype::f32, w, in.data(), out.data(), &pool); });
  print("28x28x32 average 2x2 to input",
        [&] { average_pool_to_input(k, Dtype::f32, w, out.data(), in.data(), &pool); });
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 11;
  std::printf("%s\n", kernels().isa);
  const char* part = argc > 2 ? argv[2] : "";
  for (const ConvShape& shape : kShapes) {
    if (std::strstr(shape.name, part) == nullptr) continue;
    Layer layer{shape.c};
    for (Direction direction : {Direction::forward, Direction::to_input, Direction::to_weights}) {
      for (int threads : {1, 2}) measure(layer, shape.name, direction, threads, rounds);
    }
  }
  if (std::strstr("pooling", part) == nullptr) return 0;
  for (int threads : {1, 2}) pooling(threads, rounds);
  return 0;
}
