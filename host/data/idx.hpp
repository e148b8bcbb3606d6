#pragma once
// IDX files, the format of MNIST, plain or compressed:
//
//   idx = 0:u16 type:u8 rank:u8 (dim:u32) x rank data        all numbers big-endian, the last dimension runs fastest
//   type = 8 (u1), 0xb (i2), 0xc (i4), 0xd (f4), 0xe (f8)
//
// Any thread; calls block on the disk. Every error names the file, what was found and what was expected.

#include <cstddef>
#include <filesystem>

#include "host/base/blob.hpp"
#include "host/base/result.hpp"
#include "host/data/npy.hpp"

namespace actorhost {

/// Any IDX file (two-byte numbers become int32), bytes in this machine's order. The file must hold exactly what
/// its dimensions say.
Result<Tensor> read_idx(const std::filesystem::path& path);

/// Labelled images of one size, as bytes: pixel 0..255, label 0..255.
struct ImageSet {
  size_t n = 0;
  size_t rows = 0;
  size_t cols = 0;
  Blob images;  // n x rows x cols
  Blob labels;  // n
};

/// Images (u1, rank 3) and labels (u1, rank 1, below `classes`) that belong together.
Result<ImageSet> read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels,
                                 unsigned classes = 256);

struct Mnist {
  ImageSet train;
  ImageSet test;
};

/// The four files of MNIST in `dir`: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, as they are or with the
/// ending .gz (also with a '.' before "idx", as some mirrors have it). Labels must be below 10.
Result<Mnist> read_mnist(const std::filesystem::path& dir);

/// True when `dir` holds the training images under one of those names.
bool has_mnist(const std::filesystem::path& dir);

}  // namespace actorhost
