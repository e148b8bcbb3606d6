#include "host/data/file/file_reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include <unistd.h>

#include "host/data/file/decompress.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/plain_source.hpp"
#include "host/data/file/url_source.hpp"

namespace actorhost {

namespace {

enum class Packing { none, gzip, other };

/// Whether `start` is "BZh", a digit, and the mark of a first block or of the end. A short `start` may be cut in the
/// mark.
bool is_bzip2(std::string_view start) {
  if (start.size() < 5 || !start.starts_with("BZh") || start[3] < '1' || start[3] > '9') return false;
  const std::string_view mark = start.substr(4, 6);
  return std::string_view("1AY&SY").starts_with(mark) || std::string_view("\x17rE8P\x90").starts_with(mark);
}

Packing packing_of(std::string_view start) {
  if (start.starts_with("\x1f\x8b")) return Packing::gzip;
  if (start.starts_with("\x28\xb5\x2f\xfd") || start.starts_with(std::string_view("\xfd\x37zXZ\0", 6)) ||
      is_bzip2(start)) {
    return Packing::other;
  }
  return Packing::none;
}

/// Fails once more than `max_bytes` have passed through.
class LimitedSource final : public ByteSource {
 public:
  LimitedSource(std::unique_ptr<ByteSource> inner, const std::filesystem::path& path, uint64_t max_bytes)
      : inner_(std::move(inner)), path_(path.string()), max_bytes_(max_bytes) {}

  Result<size_t> read(std::span<std::byte> out) override {
    auto got = inner_->read(out);
    if (!got) return got;
    total_ += *got;
    if (total_ <= max_bytes_) return got;
    return Error{Code::bad_data, path_ + ": more than the " + std::to_string(max_bytes_) +
                                     " bytes of content that are allowed here (max_bytes)"};
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::string path_;
  uint64_t max_bytes_;
  uint64_t total_ = 0;
};

struct Opened {
  std::unique_ptr<ByteSource> source;
  uint64_t size_hint = 0;  // exact for an unchanging plain regular file, and for most gzip files
};

/// The content size according to the end of a gzip file: the bytes, modulo 2^32, of the last member. Limited to a size
/// that the compressed bytes can expand to.
uint64_t gzip_size_hint(int fd, uint64_t file_bytes) {
  constexpr uint64_t kLeastBytes = 18;
  std::array<unsigned char, 4> end{};
  if (file_bytes < kLeastBytes) return file_bytes;
  if (::pread(fd, end.data(), end.size(), static_cast<off_t>(file_bytes - end.size())) != 4) return file_bytes;
  const uint64_t size = end[0] | end[1] << 8 | end[2] << 16 | uint64_t{end[3]} << 24;
  return std::clamp(size, file_bytes, kDeflateLimit * file_bytes);
}

/// A prefix that was already read from a source, then the rest of the source.
class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}
  Result<size_t> read(std::span<std::byte> out) override {
    if (used_ == prefix_.size()) return rest_->read(out);
    const size_t size = std::min(out.size(), prefix_.size() - used_);
    std::memcpy(out.data(), prefix_.data() + used_, size);
    used_ += size;
    return size;
  }

 private:
  std::string prefix_;
  size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

/// The decompressed content of a source.
Result<std::unique_ptr<ByteSource>> unpacked(std::unique_ptr<ByteSource> packed, const std::string& name) {
  std::array<std::byte, 10> start{};
  AH_LET(auto got, read_fully(*packed, start));
  std::string prefix(reinterpret_cast<const char*>(start.data()), got);
  const Packing packing = packing_of(prefix);
  std::unique_ptr<ByteSource> source = std::make_unique<PrefixedSource>(std::move(prefix), std::move(packed));
  if (packing == Packing::gzip) return gzip_source(std::move(source), name);
  if (packing == Packing::other) return archive_source(std::move(source), name);
  return source;
}

Result<Opened> open_fetched(const std::string& url) {
  AH_LET(auto fetched, url_source(url));
  const HttpSource& reply = *fetched;
  Opened opened;
  AH_LET(opened.source, unpacked(std::move(fetched), shown_url(url)));
  constexpr uint64_t kMostHint = uint64_t{256} << 20;  // a server may announce any size
  opened.size_hint = std::min(reply.size().value_or(0), kMostHint);
  return opened;
}

Result<Opened> open_detected(const std::filesystem::path& path) {
  if (is_remote(path.string())) return open_fetched(path.string());
  AH_LET(auto file, open_for_reading(path));
  std::array<std::byte, 10> start{};
  Opened opened;
  opened.size_hint = file.size;
  // The bytes read for format detection become the prefix of the plain source, since pipes cannot seek.
  PlainSource peek(std::move(file.fd), path);
  AH_LET(auto got, read_fully(peek, start));
  std::string prefix(reinterpret_cast<const char*>(start.data()), got);
  const Packing packing = packing_of(prefix);
  Fd fd = std::move(peek).release();
  if (packing == Packing::gzip) opened.size_hint = gzip_size_hint(fd.get(), opened.size_hint);
  auto plain = std::make_unique<PlainSource>(std::move(fd), path, std::move(prefix));
  if (packing == Packing::none) {
    opened.source = std::move(plain);
  } else if (packing == Packing::gzip) {
    opened.source = gzip_source(std::move(plain), path);
  } else {
    AH_LET(opened.source, archive_source(std::move(plain), path));
  }
  return opened;
}

/// Memory of `size` bytes that starts with the first `used` bytes of `old`.
Result<Blob> grown(const Blob& old, size_t used, uint64_t size, const std::filesystem::path& path) {
  try {
    Blob blob = Blob::allocate(size);
    if (used != 0) std::memcpy(blob.data(), old.data(), used);
    return blob;
  } catch (const std::bad_alloc&) {
    return Error{Code::io, path.string() + ": no memory for " + std::to_string(size) + " bytes of content"};
  }
}

}  // namespace

bool is_compressed(std::string_view start) noexcept { return packing_of(start) != Packing::none; }

Result<std::unique_ptr<ByteSource>> open_source(const std::filesystem::path& path, const ReadOptions& options) {
  AH_LET(auto opened, open_detected(path));
  return std::unique_ptr<ByteSource>(
      std::make_unique<LimitedSource>(std::move(opened.source), path, options.max_bytes));
}

Result<std::unique_ptr<ByteSource>> open_source(std::unique_ptr<ByteSource> packed, const std::string& name,
                                                const ReadOptions& options) {
  AH_LET(auto source, unpacked(std::move(packed), name));
  return std::unique_ptr<ByteSource>(std::make_unique<LimitedSource>(std::move(source), name, options.max_bytes));
}

Result<Blob> read_file(const std::filesystem::path& path, const ReadOptions& options) {
  AH_LET(auto opened, open_detected(path));
  LimitedSource source(std::move(opened.source), path, options.max_bytes);
  // One byte beyond the expected size detects the end without growing the memory.
  auto blob = grown({}, 0, std::min(opened.size_hint, options.max_bytes) + 1, path);
  if (!blob) return blob;
  size_t used = 0;
  for (;;) {
    auto got = read_fully(source, {blob->data() + used, blob->size() - used});
    if (!got) return std::move(got).error();
    used += *got;
    if (used < blob->size()) return blob->slice(0, used);
    blob = grown(*blob, used, std::max<uint64_t>(2 * blob->size(), 64 * 1024), path);
    if (!blob) return blob;
  }
}

}  // namespace actorhost
