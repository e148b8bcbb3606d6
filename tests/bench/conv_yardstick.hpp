#pragma once
// oneDNN's convolution of the same shapes, in the layouts that it likes best; to copy into them is not measured.

#include <functional>
#include <vector>

#include "host/kernel/conv.hpp"

namespace actorhost {

enum class Direction : int { forward, to_input, to_weights };

/// What one direction does, and its result (the image, or the weights' gradient) in our layout.
struct ConvYardstick {
  std::function<void()> run;
  std::function<std::vector<float>()> result;
};

/// Of float32, one group, with bias, and with relu forward. For all of this process's threads.
ConvYardstick onednn_conv(Direction direction, const kernel::Conv& c, const float* in, const float* weights,
                          const float* bias, const float* grad);
void set_onednn_threads(int threads);

}  // namespace actorhost
