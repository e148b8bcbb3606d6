#pragma once
// oneDNN's convolution of the same shapes, in oneDNN's preferred layouts. Copies into these layouts are not measured.

#include <functional>
#include <vector>

#include "host/kernel/conv.hpp"

namespace actorhost {

enum class Direction : int { forward, to_input, to_weights };

/// One direction of a convolution: `run` computes it; `result` returns the image, or the weights' gradient, in our
/// layout.
struct ConvYardstick {
  std::function<void()> run;
  std::function<std::vector<float>()> result;
};

/// float32, one group, with bias, and with relu in the forward direction. Runs on all threads of this process.
ConvYardstick onednn_conv(Direction direction, const kernel::Conv& c, const float* in, const float* weights,
                          const float* bias, const float* grad);
void set_onednn_threads(int threads);

}  // namespace actorhost
