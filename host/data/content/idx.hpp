#pragma once
// IDX files, the format of MNIST, plain or compressed:
//
//   idx = 0:u16 type:u8 rank:u8 (dim:u32) x rank data        all numbers big-endian, the last dimension varies fastest
//   type = 8 (u1), 0xb (i2), 0xc (i4), 0xd (f4), 0xe (f8)
//
// Any thread; calls block on the disk. Every error names the file, the found and the expected content.

#include <cstddef>
#include <filesystem>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/data/content/npy.hpp"

namespace actorhost {

/// Any IDX file, with bytes in this machine's order; two-byte numbers become int32. The file must have exactly the size
/// that its dimensions imply.
Result<Tensor> read_idx(const std::filesystem::path& path);

/// Labelled images of one size, as bytes: pixel 0..255, label 0..255.
struct ImageSet {
  size_t n = 0;
  size_t rows = 0;
  size_t cols = 0;
  Blob images;  // n x rows x cols
  Blob labels;  // n
};

/// Matching files of images (u1, rank 3) and labels (u1, rank 1, below `classes`).
Result<ImageSet> read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels,
                                 unsigned classes = 256);

struct Mnist {
  ImageSet train;
  ImageSet test;
};

/// The four files of MNIST in `dir`: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, each plain or with the
/// suffix .gz (also with a '.' before "idx", as on some mirrors). Labels must be below 10.
Result<Mnist> read_mnist(const std::filesystem::path& dir);

/// Whether `dir` holds the training images under one of these names.
bool has_mnist(const std::filesystem::path& dir);

}  // namespace actorhost
