// Pooling of a batch; threads take whole images.
#include "host/kernel/conv.hpp"
#include "host/kernel/strided.hpp"

namespace actorhost::kernel {

namespace {

// Image elements below which the calling thread works alone.
constexpr int64_t kElementsForThreads = 100'000;

// Calls task(offset of the image, offset of its result), in elements, for each image.
template <typename F>
void each_image(const Windows& w, ThreadPool* pool, F task) {
  const int64_t size = w.height * w.width * w.channels;
  const int64_t out_size = w.out_h * w.out_w * w.channels;
  const auto image = [&](int i) { task(i * size, i * out_size); };
  if (pool != nullptr && w.batch * size >= kElementsForThreads) return pool->run(static_cast<int>(w.batch), image);
  for (int i = 0; i < w.batch; ++i) image(i);
}

}  // namespace

void max_pool(const Kernels& k, Dtype dtype, const Windows& w, const void* in, void* out, uint16_t* places,
              ThreadPool* pool) {
  each_image(w, pool, [&](int64_t from, int64_t to) {
    k.pool_windows(Pooling::max, dtype, w, element_at(dtype, in, from), element_at(dtype, out, to), places + to);
  });
}

void max_pool_to_input(const Kernels& k, Dtype dtype, const Windows& w, const void* out_grad, const uint16_t* places,
                       void* in_grad, ThreadPool* pool) {
  each_image(w, pool, [&](int64_t from, int64_t to) {
    k.unpool_windows(Pooling::max, dtype, w, element_at(dtype, out_grad, to), places + to,
                     element_at(dtype, in_grad, from));
  });
}

void average_pool(const Kernels& k, Dtype dtype, const Windows& w, const void* in, void* out, ThreadPool* pool) {
  each_image(w, pool, [&](int64_t from, int64_t to) {
    k.pool_windows(Pooling::average, dtype, w, element_at(dtype, in, from), element_at(dtype, out, to), nullptr);
  });
}

void average_pool_to_input(const Kernels& k, Dtype dtype, const Windows& w, const void* out_grad, void* in_grad,
                           ThreadPool* pool) {
  each_image(w, pool, [&](int64_t from, int64_t to) {
    k.unpool_windows(Pooling::average, dtype, w, element_at(dtype, out_grad, to), nullptr,
                     element_at(dtype, in_grad, from));
  });
}

}  // namespace actorhost::kernel
