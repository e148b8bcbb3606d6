#include "tests/host/kernel/kernel_cases.hpp"
#include "tests/test.hpp"

using namespace actorhost::kernel;

TEMPLATE_TEST_CASE("softmax rows sum to 1 and agree with the definition", "", float, double) {
  Rng rng(2);
  const double tolerance = sizeof(TestType) == 4 ? 1e-6 : 1e-14;
  for (const Kernels* table : tables()) {
    for (int64_t columns : {1, 3, 10, 1000}) {
      const int64_t lead = columns + 2;
      const auto in = normals<TestType>(rng, 4 * lead, 10);
      auto out = in;
      table->softmax(dtype_of<TestType>, 4, columns, out.data(), lead, out.data(), lead);
      for (int64_t i = 0; i < 4; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j)
          sum += std::exp(static_cast<double>(in[static_cast<size_t>(i * lead + j)]));
        for (int64_t j = 0; j < columns; ++j) {
          const auto at = static_cast<size_t>(i * lead + j);
          CHECK(std::abs(static_cast<double>(out[at]) - std::exp(static_cast<double>(in[at])) / sum) < tolerance);
        }
        CHECK(out[static_cast<size_t>(i * lead + columns)] == in[static_cast<size_t>(i * lead + columns)]);
      }
    }
  }
}

TEST_CASE("softmax and its loss are finite for scores that overflow exp") {
  const std::vector<float> scores{10000, 0, -10000};
  const int32_t label = 1;
  for (const Kernels* table : tables()) {
    auto out = scores;
    table->softmax(Dtype::f32, 1, 3, out.data(), 3, out.data(), 3);
    CHECK(out == std::vector<float>{1, 0, 0});
    CHECK(table->cross_entropy(Dtype::f32, 1, 3, scores.data(), 3, &label, nullptr, 0, 1) == 10000);
  }
}

TEST_CASE("the gradient of the cross-entropy is its slope, also in place") {
  Rng rng(4);
  for (const Kernels* table : tables()) {
    auto scores = normals<double>(rng, 3 * 300);
    const std::vector<int32_t> labels{0, 299, 17};
    auto grad = scores;
    auto loss = [&] {
      return table->cross_entropy(Dtype::f64, 3, 300, scores.data(), 300, labels.data(), nullptr, 0, 1) / 3;
    };
    const double with_grad =
        table->cross_entropy(Dtype::f64, 3, 300, grad.data(), 300, labels.data(), grad.data(), 300, 1.0 / 3);
    CHECK(with_grad / 3 == loss());
    for (size_t at : {size_t{0}, size_t{1}, size_t{599}, size_t{617}, size_t{899}}) {
      const double before = scores[at];
      constexpr double kStep = 1e-5;
      scores[at] = before + kStep;
      const double above = loss();
      scores[at] = before - kStep;
      const double below = loss();
      scores[at] = before;
      CHECK(grad[at] == Approx((above - below) / (2 * kStep)).margin(1e-8));
    }
  }
}
