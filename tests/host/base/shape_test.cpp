#include "host/base/tensor.hpp"
#include "tests/test.hpp"

TEST_CASE("a shape reports its elements, bytes and text") {
  CHECK(Shape{2, 3, 4}.elements() == 24);
  CHECK(Shape().elements() == 1);
  CHECK(Shape{5, 0}.elements() == 0);
  CHECK(Shape{784, 128}.print() == "784x128");
  CHECK(TensorLayout{Dtype::f64, {2, 3}}.bytes() == 48);
  CHECK(TensorLayout{Dtype::u8, {}}.bytes() == 1);
  CHECK(TensorLayout{Dtype::i32, {}}.print() == "int32 scalar");
}

TEST_CASE("shapes are equal if their dimensions are, regardless of unused entries") {
  Shape shorter{2, 3};
  --shorter.rank;
  CHECK(shorter == Shape{2});
  CHECK_FALSE(Shape{2} == Shape{2, 1});
}

TEST_CASE("untrusted shapes have a bounded number of elements, also with a zero dimension") {
  const auto of = [](const std::vector<int64_t>& sizes) { return Shape::of(sizes); };
  CHECK(of({0, 5})->elements() == 0);
  CHECK(of({int64_t{1} << 48})->rank == 1);
  CHECK_FALSE(of({(int64_t{1} << 48) + 1}));
  CHECK_FALSE(of({int64_t{1} << 32, int64_t{1} << 32}));
  CHECK_FALSE(of({0, INT64_MAX, 2}));
  CHECK_FALSE(of({3, -1}));
  CHECK_FALSE(of(std::vector<int64_t>(9, 1)));
}
