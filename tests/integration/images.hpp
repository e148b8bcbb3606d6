#pragma once
// Small sets of images in MNIST's file format, for jobs that train. Pure functions; any thread.

#include <cstdint>
#include <filesystem>

namespace actorhost::test {

/// Writes MNIST's four files: 28 x 28 images of ten classes, each with a bright patch at its class's place in noise.
/// The same files for a seed.
void write_images(const std::filesystem::path& dir, uint32_t train, uint32_t test, uint64_t seed = 1);

}  // namespace actorhost::test
