#include "host/engine/values/update.hpp"
#include "tests/test.hpp"

TEMPLATE_TEST_CASE("infinite values and NaN are found at every position, and no other values", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  constexpr Dtype kType = sizeof(TestType) == 4 ? Dtype::f32 : Dtype::f64;
  constexpr size_t kCount = 2500;
  std::vector<TestType> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<TestType>(i) - 1000;
  const auto found = [&] { return has_non_finite(kType, kCount, values.data()); };
  CHECK_FALSE(found());
  for (const size_t at : {size_t{0}, size_t{7}, size_t{1023}, size_t{1024}, kCount - 1}) {
    for (const TestType finite :
         {Limits::max(), Limits::lowest(), Limits::min(), Limits::denorm_min(), TestType(-0.0)}) {
      values[at] = finite;
      CHECK_FALSE(found());
    }
    for (const TestType other : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN(),
                                 Limits::signaling_NaN(), std::nextafter(Limits::max(), Limits::infinity())}) {
      values[at] = other;
      CHECK(found());
    }
    values[at] = 1;
  }
  CHECK_FALSE(has_non_finite(kType, 0, nullptr));
}
