#include "host/data/content/digits.hpp"

#include <cstdio>

#include <xxhash.h>

#include "host/data/content/data_cache.hpp"
#include "tests/host/data/packed.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace {

std::string hash(const Blob& blob) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(blob.data(), blob.size())));
  return text.data();
}

std::string idx_file(const std::string& header, const Blob& data) { return header + std::string(data.view()); }

}  // namespace

TEST_CASE("a seed gives the same digits on every machine") {
  // The hash is from g++ 12 and clang 14 at -O0 to -O3, with and without AVX2: all agree.
  CHECK(hash(draw_digits(7, 0, 50).images) == "9711ddaaf727d057");
}

TEST_CASE("a digit depends on the seed and its own number only") {
  const ImageSet many = draw_digits(3, 100, 20);
  const ImageSet one = draw_digits(3, 107, 1);
  CHECK(one.images.view() == many.images.slice(7 * 784, 784).view());
  CHECK(one.labels.data()[0] == many.labels.data()[7]);
  CHECK(draw_digits(4, 107, 1).images.view() != one.images.view());
  const Mnist both = draw_mnist(3, 30, 30);
  CHECK(both.train.images.view() != both.test.images.view());
}

TEST_CASE("digits are equally frequent, have ink, and are mostly dark") {
  const size_t n = 2000;
  const ImageSet set = draw_digits(1, 0, n);
  std::array<int, 10> counts{};
  for (size_t i = 0; i < n; ++i) {
    ++counts.at(std::to_integer<size_t>(set.labels.data()[i]));
    size_t bright = 0;
    for (size_t p = 0; p < 784; ++p) {
      if (std::to_integer<int>(set.images.data()[i * 784 + p]) > 90) ++bright;
    }
    INFO("sample " << i);
    CHECK(bright > 5);
    CHECK(bright < 400);
  }
  for (int count : counts) CHECK(std::abs(count - 200) < 60);
}

TEST_CASE("digits of one class are more alike than those of different classes, yet not the same") {
  const size_t n = 1500;
  const ImageSet set = draw_digits(5, 0, n);
  std::vector<std::array<double, 784>> mean(10);
  std::array<double, 10> count{};
  for (size_t i = 0; i < n; ++i) {
    const auto label = std::to_integer<size_t>(set.labels.data()[i]);
    ++count.at(label);
    for (size_t p = 0; p < 784; ++p) mean[label].at(p) += std::to_integer<int>(set.images.data()[i * 784 + p]);
  }
  for (size_t c = 0; c < 10; ++c) {
    for (double& value : mean[c]) value /= count.at(c);
  }
  const ImageSet test = draw_digits(5, 1000000, n);
  size_t right = 0;
  for (size_t i = 0; i < n; ++i) {
    size_t best = 0;
    double least = 1e300;
    for (size_t c = 0; c < 10; ++c) {
      double sum = 0;
      for (size_t p = 0; p < 784; ++p) {
        const double d = std::to_integer<int>(test.images.data()[i * 784 + p]) - mean[c].at(p);
        sum += d * d;
      }
      if (sum < least) {
        least = sum;
        best = c;
      }
    }
    if (best == std::to_integer<size_t>(test.labels.data()[i])) ++right;
  }
  const double share = static_cast<double>(right) / static_cast<double>(n);
  CHECK(share > 0.45);  // the nearest class mean carries information
  CHECK(share < 0.90);  // but is far from sufficient
}

TEST_CASE("nodes with the same digits share one copy") {
  DataCache cache;
  std::vector<std::shared_ptr<const Mnist>> got(6);
  std::vector<std::thread> nodes;
  for (auto& slot : got) {
    nodes.emplace_back([&cache, &slot] { slot = *cache.digits(1, 300, 100); });
  }
  for (std::thread& node : nodes) node.join();
  for (const auto& set : got) CHECK(set == got[0]);
  CHECK(*cache.digits(2, 300, 100) != got[0]);
  const std::weak_ptr<const Mnist> watch = got[0];
  got.clear();
  CHECK(watch.expired());
}

TEST_CASE("MNIST is shared until one of its files changes, and a failed load is retried") {
  const Scratch scratch;
  DataCache cache;
  CHECK(!cache.mnist(scratch / "none").ok());
  const std::string header("\0\0\x08\x03\0\0\0\x02\0\0\0\x1c\0\0\0\x1c", 16);
  const std::string label_header("\0\0\x08\x01\0\0\0\x02", 8);
  const ImageSet two = draw_digits(1, 0, 2);
  for (const std::string& part : {std::string("train"), std::string("t10k")}) {
    CHECK(!cache.mnist(scratch.path()).ok());
    scratch.file(part + "-images-idx3-ubyte", idx_file(header, two.images));
    scratch.file(part + "-labels-idx1-ubyte.gz", packed(idx_file(label_header, two.labels), "gzip"));
  }
  auto first = required(cache.mnist(scratch.path()));
  CHECK(*cache.mnist(scratch / ".") == *first);
  scratch.file("train-images-idx3-ubyte", idx_file(header, draw_digits(9, 0, 2).images));
  std::filesystem::last_write_time(scratch / "train-images-idx3-ubyte",
                                   std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  auto second = required(cache.mnist(scratch.path()));
  CHECK(*second != *first);
  CHECK((*second)->train.images.view() == draw_digits(9, 0, 2).images.view());
}
