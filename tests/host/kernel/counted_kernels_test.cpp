#include "host/kernel/counted_kernels.hpp"

#include <array>

#include "tests/test.hpp"

namespace {

kernel::Work reported;

}  // namespace

TEST_CASE("counted kernels report their work and have the results of the kernels that they call") {
  using kernel::Kernels;
  const Kernels& plain = kernel::kernels();
  CHECK(&kernel::counted(plain) == &plain);  // without a function that takes the reports
  kernel::report_work([](const kernel::Work& work) noexcept { reported = work; });
  const Kernels& table = kernel::counted(plain);
  REQUIRE(&table != &plain);

  const std::array<double, 6> x = {1, 2, 3, 4, 5, 6};
  std::array<double, 6> wanted = x, got = x;
  plain.axpy(Dtype::f64, 6, 0.5, x.data(), 1, wanted.data(), 1);
  table.axpy(Dtype::f64, 6, 0.5, x.data(), 1, got.data(), 1);
  CHECK(got == wanted);
  CHECK((reported.elements == 6 && reported.operations == 0));

  plain.softmax(Dtype::f64, 2, 3, wanted.data(), 3, x.data(), 3);
  table.softmax(Dtype::f64, 2, 3, got.data(), 3, x.data(), 3);
  CHECK(got == wanted);
  CHECK((reported.elements == 6 && reported.operations == 0));

  const kernel::Operand matrix{x.data(), 3, false};
  plain.matrix_vector(Dtype::f64, 2, 3, 1, matrix, x.data(), wanted.data(), 1, false);
  table.matrix_vector(Dtype::f64, 2, 3, 1, matrix, x.data(), got.data(), 1, false);
  CHECK(got == wanted);
  CHECK((reported.elements == 0 && reported.operations == 12));
  kernel::report_work(nullptr);
}
