#include "host/data/content/idx.hpp"

#include <array>
#include <cstring>
#include <optional>

#include "host/data/file/file_reader.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxBytes = uint64_t{16} << 30;

Error bad(const fs::path& path, const std::string& what) { return {Code::bad_data, path.string() + ": " + what}; }

std::string hex(uint32_t value) {
  std::array<char, 11> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

uint32_t big32(const std::byte* p) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(p[i]);
  return value;
}

std::string text_of(std::span<const int64_t> sizes) {
  std::string text;
  for (const int64_t dim : sizes) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text;
}

struct IdxType {
  Dtype type;
  size_t file_bytes;
};

std::optional<IdxType> type_of(unsigned code) {
  switch (code) {
    case 0x08: return IdxType{Dtype::u8, 1};
    case 0x0b: return IdxType{Dtype::i32, 2};
    case 0x0c: return IdxType{Dtype::i32, 4};
    case 0x0d: return IdxType{Dtype::f32, 4};
    case 0x0e: return IdxType{Dtype::f64, 8};
    default: return {};
  }
}

/// Converts `count` big-endian numbers to this machine's order; two-byte numbers become int32.
Blob swapped(const std::byte* from, size_t count, const IdxType& type) {
  Blob out = Blob::allocate(count * dtype_size(type.type));
  std::byte* to = out.data();
  for (size_t i = 0; i < count; ++i, from += type.file_bytes) {
    if (type.file_bytes == 2) {
      const auto high = static_cast<int8_t>(std::to_integer<uint8_t>(from[0]));
      const int32_t value = high * 256 + std::to_integer<int32_t>(from[1]);
      std::memcpy(to + 4 * i, &value, 4);
    } else {
      std::reverse_copy(from, from + type.file_bytes, to + i * type.file_bytes);
    }
  }
  return out;
}

struct IdxHeader {
  IdxType type;
  Shape shape;
  size_t data_at;
};

Result<IdxHeader> parse_header(const fs::path& path, const Blob& file) {
  if (file.size() < 4) return bad(path, "not an IDX file: " + std::to_string(file.size()) + " bytes are no header");
  const uint32_t magic = big32(file.data());
  const auto type = type_of(magic >> 8 & 0xff);
  const size_t rank = magic & 0xff;
  if (magic >> 16 != 0 || !type || rank > Shape::kMaxRank) {
    return bad(path, "not an IDX file: magic " + hex(magic) +
                         " found, 0x00000803 (images), 0x00000801 (labels) or another of types 8, b, c, d, e and at "
                         "most 8 dimensions expected");
  }
  IdxHeader header{*type, {}, 4 + 4 * rank};
  if (file.size() < header.data_at) {
    return bad(path, "truncated: " + std::to_string(rank) + " dimensions need " + std::to_string(header.data_at) +
                         " bytes of header, " + std::to_string(file.size()) + " found");
  }
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < rank; ++i) sizes.push_back(big32(file.data() + 4 + 4 * i));
  const auto shape = Shape::of(sizes);
  if (!shape) return bad(path, "the dimensions " + text_of(sizes) + " cannot be: " + shape.error().message);
  header.shape = *shape;
  const size_t bytes = static_cast<size_t>(shape->elements()) * type->file_bytes;
  const size_t found = file.size() - header.data_at;
  if (bytes == found) return header;
  return bad(path, std::string(bytes > found ? "truncated" : "too long") + ": the dimensions " + text_of(sizes) +
                       " need " + std::to_string(bytes) + " bytes of data, " + std::to_string(found) + " found");
}

Result<Tensor> read_of_rank(const fs::path& path, size_t rank, const char* what) {
  auto array = read_idx(path);
  if (!array) return array;
  if (array->dtype == Dtype::u8 && array->shape.rank == rank) return array;
  return bad(path, std::string(what) + " have magic " + hex(0x0800 + static_cast<uint32_t>(rank)) +
                       " (unsigned bytes, " + std::to_string(rank) + " dimensions), this file holds " +
                       dtype_name(array->dtype) + " with " + std::to_string(array->shape.rank) + " dimensions");
}

/// The path of a part under any of its spellings; nothing if none exists.
std::optional<fs::path> find_part(const fs::path& dir, const std::string& part, const std::string& idx) {
  for (const char* joint : {"-", "."}) {
    for (const char* ending : {"", ".gz"}) {
      std::string name = part;
      const fs::path path = dir / name.append(joint).append(idx).append("-ubyte").append(ending);
      std::error_code ignored;
      if (fs::exists(path, ignored)) return path;
    }
  }
  return {};
}

Result<ImageSet> read_part(const fs::path& dir, const std::string& part) {
  const auto images = find_part(dir, part + "-images", "idx3");
  const auto labels = find_part(dir, part + "-labels", "idx1");
  if (!images || !labels) {
    const std::string missing = part + (images ? "-labels-idx1-ubyte" : "-images-idx3-ubyte");
    return Error{Code::io, dir.string() + ": no file " + missing + " or " + missing + ".gz; MNIST needs four files"};
  }
  return read_idx_images(*images, *labels, 10);
}

}  // namespace

Result<Tensor> read_idx(const fs::path& path) {
  auto file = read_file(path, {.max_bytes = kMaxBytes});
  if (!file) return std::move(file).error();
  AH_LET(auto header, parse_header(path, *file));
  Tensor array{{header.type.type, header.shape}, {}};
  const auto count = static_cast<size_t>(array.shape.elements());
  array.data = header.type.file_bytes == 1 ? file->slice(header.data_at, count)
                                           : swapped(file->data() + header.data_at, count, header.type);
  return array;
}

Result<ImageSet> read_idx_images(const fs::path& images, const fs::path& labels, unsigned classes) {
  AH_LET(auto pixels, read_of_rank(images, 3, "images"));
  auto found = read_of_rank(labels, 1, "labels");
  if (!found) return std::move(found).error();
  const int64_t n = pixels.shape[0];
  if (found->shape[0] != n) {
    return bad(labels, std::to_string(found->shape[0]) + " labels found, " + std::to_string(n) +
                           " expected, as many as images in " + images.string());
  }
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const auto label = std::to_integer<unsigned>(found->data.data()[i]);
    if (label >= classes) {
      return bad(labels, "label " + std::to_string(label) + " of image " + std::to_string(i) + " found, 0 to " +
                             std::to_string(classes - 1) + " expected");
    }
  }
  const auto size = [&](size_t dim) { return static_cast<size_t>(pixels.shape[dim]); };
  return ImageSet{size(0), size(1), size(2), std::move(pixels.data), std::move(found->data)};
}

Result<Mnist> read_mnist(const fs::path& dir) {
  AH_LET(auto train, read_part(dir, "train"));
  auto test = read_part(dir, "t10k");
  if (!test) return std::move(test).error();
  if (test->rows != train.rows || test->cols != train.cols) {
    return bad(dir, "test images of " + std::to_string(test->rows) + " x " + std::to_string(test->cols) +
                        " found, training images have " + std::to_string(train.rows) + " x " +
                        std::to_string(train.cols));
  }
  return Mnist{std::move(train), *std::move(test)};
}

bool has_mnist(const fs::path& dir) { return find_part(dir, "train-images", "idx3").has_value(); }

}  // namespace actorhost
