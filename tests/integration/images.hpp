#pragma once
// Small sets of images in MNIST's file format, for jobs that train. Pure functions; thread-safe.

#include <cstdint>
#include <filesystem>

namespace actorhost::test {

/// Writes MNIST's four files: 28 x 28 images of ten classes, each with noise and a bright patch at the place of its
/// class. A seed always gives the same files.
void write_images(const std::filesystem::path& dir, uint32_t train, uint32_t test, uint64_t seed = 1);

}  // namespace actorhost::test
