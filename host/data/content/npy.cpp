#include "host/data/content/npy.hpp"

#include <array>
#include <cstring>
#include <new>

#include "host/data/content/npy_header.hpp"
#include "host/data/file/atomic_file.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/plain_source.hpp"

namespace actorhost {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlign = 64;
constexpr uint32_t kMaxHeader = 65536;  // real headers are below 200 bytes

Error bad(const std::string& where, uint64_t offset, const std::string& what) {
  return {Code::bad_data, where + ", byte " + std::to_string(offset) + ": " + what};
}

/// Reads exactly `size` bytes from `offset` on; fewer bytes are an error.
Status read_part(ByteSource& source, void* out, size_t size, const std::string& where, uint64_t offset,
                 const char* part) {
  auto got = read_fully(source, {static_cast<std::byte*>(out), size});
  if (!got) return std::move(got).error();
  if (*got == size) return {};
  return bad(where, offset + *got,
             std::string("truncated ") + part + ": " + std::to_string(size) + " bytes expected, " +
                 std::to_string(*got) + " found");
}

/// Reads magic, version and header text; returns the offset of the data.
Result<uint64_t> read_header(ByteSource& source, const std::string& where, NpyHeader& header) {
  std::array<unsigned char, 12> start{};
  AH_TRY(read_part(source, start.data(), 8, where, 0, "magic"));
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    return bad(where, 0, "not a .npy array: magic \"\\x93NUMPY\" expected");
  }
  const unsigned major = start[6];
  if (major < 1 || major > 3) {
    return bad(where, 6, "format version " + std::to_string(major) + " is not read; 1, 2 or 3 expected");
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  AH_TRY(read_part(source, start.data() + 8, length_bytes, where, 8, "header length"));
  uint32_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= static_cast<uint32_t>(start[8 + i]) << (8 * i);
  const size_t text_at = 8 + length_bytes;
  if (length > kMaxHeader) return bad(where, 8, "header of " + std::to_string(length) + " bytes is too long");
  std::string text(length, '\0');
  AH_TRY(read_part(source, text.data(), length, where, text_at, "header"));
  NpyHeaderFault fault;
  if (!parse_npy_header(text, header, fault)) return bad(where, text_at + fault.offset, fault.message);
  return text_at + length;
}

const char* npy_descr(Dtype dtype) noexcept {
  static constexpr std::array<const char*, 6> kDescrs = {"<f4", "<f8", "<i4", "<i8", "|u1", "|b1"};
  return name_of(kDescrs, dtype);
}

}  // namespace

std::string npy_header(const TensorLayout& layout) {
  const Shape& shape = layout.shape;
  std::string text = std::string("{'descr': '") + npy_descr(layout.dtype) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.rank; ++i) {
    text += std::to_string(shape[i]);
    if (i == 0 || i + 1 < shape.rank) text += i + 1 < shape.rank ? ", " : ",";
  }
  text += "), }";
  const size_t fixed = kMagic.size() + 4;
  const size_t padded = (fixed + text.size() + 1 + kAlign - 1) / kAlign * kAlign;
  text.append(padded - fixed - text.size() - 1, ' ').push_back('\n');
  std::string out(kMagic);
  out.append({'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)});
  return out + text;
}

Result<Tensor> decode_npy(ByteSource& source, const std::string& where, uint64_t available) {
  NpyHeader header;
  AH_LET(auto data_at, read_header(source, where, header));
  const uint64_t bytes = static_cast<uint64_t>(header.shape.elements()) * header.stored.bytes;
  const uint64_t left = available > data_at ? available - data_at : 0;
  if (bytes > left) {
    return bad(where, data_at,
               "truncated data: the shape needs " + std::to_string(bytes) + " bytes, at most " + std::to_string(left) +
                   " are there");
  }
  Blob data;
  try {
    data = Blob::allocate(bytes);
  } catch (const std::bad_alloc&) {
    return bad(where, data_at, "no memory for " + std::to_string(bytes) + " bytes");
  }
  AH_TRY(read_part(source, data.data(), bytes, where, data_at, "data"));
  std::byte extra{};
  auto more = source.read({&extra, 1});
  if (!more) return std::move(more).error();
  if (*more != 0) return bad(where, data_at + bytes, "bytes follow the end of the array");
  return from_stored(header, std::move(data), where);
}

Result<Tensor> read_npy(const std::filesystem::path& path) {
  AH_LET(auto file, open_for_reading(path));
  const uint64_t available = file.regular ? file.size : UINT64_MAX;
  PlainSource source(std::move(file.fd), path);
  return decode_npy(source, path.string(), available);
}

Status write_npy(const std::filesystem::path& path, const Tensor& array) {
  AH_LET(auto file, AtomicFile::begin(path));
  const std::string header = npy_header(array);
  AH_TRY(file.write(std::as_bytes(std::span(header))));
  AH_TRY(file.write({array.data.data(), array.bytes()}));
  return file.commit();
}

}  // namespace actorhost
