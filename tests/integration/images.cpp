#include "tests/integration/images.hpp"

#include "host/base/random.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

namespace {

constexpr uint32_t kSide = 28;
constexpr uint32_t kClasses = 10;

void put_big_endian(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

void draw(std::string& out, uint32_t label, Rng& rng) {
  const uint32_t top = label / 5 * 14 + 2;
  const uint32_t left = label % 5 * 5 + 2;
  for (uint32_t y = 0; y < kSide; ++y) {
    for (uint32_t x = 0; x < kSide; ++x) {
      const bool bright = y >= top && y < top + 10 && x >= left && x < left + 4;
      out.push_back(static_cast<char>(rng.below(96) + (bright ? 128 : 0)));
    }
  }
}

void write_pair(const std::filesystem::path& dir, const std::string& name, uint32_t count, Rng& rng) {
  std::string images;
  std::string labels;
  put_big_endian(images, 0x00000803);
  put_big_endian(labels, 0x00000801);
  for (std::string* file : {&images, &labels}) put_big_endian(*file, count);
  put_big_endian(images, kSide);
  put_big_endian(images, kSide);
  for (uint32_t i = 0; i < count; ++i) {
    draw(images, i % kClasses, rng);
    labels.push_back(static_cast<char>(i % kClasses));
  }
  std::ofstream(dir / (name + "-images-idx3-ubyte"), std::ios::binary) << images;
  std::ofstream(dir / (name + "-labels-idx1-ubyte"), std::ios::binary) << labels;
}

}  // namespace

void write_images(const std::filesystem::path& dir, uint32_t train, uint32_t test, uint64_t seed) {
  std::filesystem::create_directories(dir);
  Rng rng(seed, 0);
  write_pair(dir, "train", train, rng);
  write_pair(dir, "t10k", test, rng);
}

}  // namespace actorhost::test
