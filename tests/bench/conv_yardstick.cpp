#include "tests/bench/conv_yardstick.hpp"

#include <memory>
#include <unordered_map>

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace actorhost {

namespace {

using Tag = dnnl::memory::format_tag;

constexpr auto kFloat = dnnl::memory::data_type::f32;

// The arrays of one primitive.
struct Arrays {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<int, dnnl::memory> args;
  dnnl::primitive primitive;
  dnnl::memory::desc result_desc;
  int result_arg = 0;

  void put(int arg, const dnnl::memory::desc& wanted, const dnnl::memory::desc& plain, const float* from) {
    dnnl::memory source(plain, engine, const_cast<float*>(from));
    dnnl::memory target(wanted, engine);
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
    args[arg] = target;
  }

  void room(int arg, const dnnl::memory::desc& wanted, const dnnl::memory::desc& plain) {
    args[arg] = dnnl::memory(wanted, engine);
    if (result_arg == 0) {
      result_arg = arg;
      result_desc = plain;
    }
  }

  void run() {
    primitive.execute(stream, args);
    stream.wait();
  }

  std::vector<float> result() {
    std::vector<float> values(result_desc.get_size() / sizeof(float));
    dnnl::memory target(result_desc, engine, values.data());
    dnnl::reorder(args[result_arg], target).execute(stream, args[result_arg], target);
    stream.wait();
    return values;
  }
};

}  // namespace

void set_onednn_threads(int threads) { omp_set_num_threads(threads); }

ConvYardstick onednn_conv(Direction direction, const kernel::Conv& c, const float* in, const float* weights,
                          const float* bias, const float* grad) {
  const kernel::Windows& w = c.windows;
  const auto both = std::make_shared<Arrays>();
  Arrays& a = *both;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto desc = [&](const dnnl::memory::dims& d, Tag tag) { return dnnl::memory::desc(d, kFloat, tag); };
  const dnnl::memory::dims images = {w.batch, w.channels, w.height, w.width};
  const dnnl::memory::dims kernels = {c.filters, w.channels, w.kernel_h, w.kernel_w};
  const dnnl::memory::dims results = {w.batch, c.filters, w.out_h, w.out_w};
  const dnnl::memory::dims strides = {w.stride_h, w.stride_w};
  const dnnl::memory::dims before = {w.pad_top, w.pad_left};
  const dnnl::memory::dims after = {(w.out_h - 1) * w.stride_h + w.kernel_h - w.height - w.pad_top,
                                    (w.out_w - 1) * w.stride_w + w.kernel_w - w.width - w.pad_left};
  const auto bias_desc = desc({c.filters}, Tag::x);
  dnnl::post_ops relu;
  relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attributes;
  if (direction == Direction::forward) attributes.set_post_ops(relu);
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, desc(images, Tag::any), desc(kernels, Tag::any), bias_desc,
       desc(results, Tag::any), strides, before, after},
      attributes, a.engine);
  if (direction == Direction::forward) {
    a.room(DNNL_ARG_DST, forward.dst_desc(), desc(results, Tag::nhwc));
    a.put(DNNL_ARG_SRC, forward.src_desc(), desc(images, Tag::nhwc), in);
    a.put(DNNL_ARG_WEIGHTS, forward.weights_desc(), desc(kernels, Tag::hwio), weights);
    a.put(DNNL_ARG_BIAS, bias_desc, bias_desc, bias);
    a.primitive = dnnl::convolution_forward(forward);
  } else if (direction == Direction::to_input) {
    const dnnl::convolution_backward_data::primitive_desc p(
        {algorithm, desc(images, Tag::any), desc(kernels, Tag::any), desc(results, Tag::any), strides, before, after},
        a.engine, forward);
    a.room(DNNL_ARG_DIFF_SRC, p.diff_src_desc(), desc(images, Tag::nhwc));
    a.put(DNNL_ARG_WEIGHTS, p.weights_desc(), desc(kernels, Tag::hwio), weights);
    a.put(DNNL_ARG_DIFF_DST, p.diff_dst_desc(), desc(results, Tag::nhwc), grad);
    a.primitive = dnnl::convolution_backward_data(p);
  } else {
    const dnnl::convolution_backward_weights::primitive_desc p(
        {algorithm, desc(images, Tag::any), desc(kernels, Tag::any), bias_desc, desc(results, Tag::any), strides,
         before, after},
        a.engine, forward);
    a.room(DNNL_ARG_DIFF_WEIGHTS, p.diff_weights_desc(), desc(kernels, Tag::hwio));
    a.room(DNNL_ARG_DIFF_BIAS, bias_desc, bias_desc);
    a.put(DNNL_ARG_SRC, p.src_desc(), desc(images, Tag::nhwc), in);
    a.put(DNNL_ARG_DIFF_DST, p.diff_dst_desc(), desc(results, Tag::nhwc), grad);
    a.primitive = dnnl::convolution_backward_weights(p);
  }
  return {[both] { both->run(); }, [both] { return both->result(); }};
}

}  // namespace actorhost
