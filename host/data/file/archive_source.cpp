#include <optional>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

#include "host/data/file/decompress.hpp"

namespace actorhost {

namespace {

class ArchiveSource final : public ByteSource {
 public:
  ArchiveSource(std::unique_ptr<ByteSource> packed, const std::filesystem::path& path)
      : packed_(std::move(packed)), path_(path.string()), buffer_(256 * 1024), archive_(archive_read_new()) {}
  ~ArchiveSource() override { archive_read_free(archive_); }

  Status open() {
    archive_entry* entry = nullptr;
    if (archive_read_support_format_raw(archive_) != ARCHIVE_OK ||
        archive_read_support_format_empty(archive_) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(archive_) != ARCHIVE_OK ||
        archive_read_support_filter_xz(archive_) != ARCHIVE_OK ||
        archive_read_support_filter_bzip2(archive_) != ARCHIVE_OK) {
      return Error{Code::unsupported, path_ + ": this libarchive cannot decompress it: " + message()};
    }
    if (archive_read_open(archive_, this, nullptr, on_read, nullptr) != ARCHIVE_OK) return failure();
    const int status = archive_read_next_header(archive_, &entry);
    if (status == ARCHIVE_EOF) at_end_ = true;
    if (status != ARCHIVE_OK && status != ARCHIVE_EOF) return failure();
    if (archive_filter_code(archive_, 0) == ARCHIVE_FILTER_NONE) {  // would give the compressed bytes as content
      return Error{Code::bad_data, path_ + ": damaged or truncated: its first bytes are those of a compressed file"};
    }
    return {};
  }

  Result<size_t> read(std::span<std::byte> out) override {
    if (at_end_ || out.empty()) return size_t{0};
    const la_ssize_t n = archive_read_data(archive_, out.data(), out.size());
    if (n < 0) return failure();
    offset_ += static_cast<uint64_t>(n);
    return static_cast<size_t>(n);
  }

 private:
  static la_ssize_t on_read(archive* a, void* self_pointer, const void** bytes) {
    auto* self = static_cast<ArchiveSource*>(self_pointer);
    auto got = self->packed_->read(self->buffer_);
    if (!got) {
      self->input_error_ = std::move(got).error();
      archive_set_error(a, EIO, "reading failed");
      return -1;
    }
    *bytes = self->buffer_.data();
    return static_cast<la_ssize_t>(*got);
  }

  std::string message() const {
    const char* text = archive_error_string(archive_);
    return text != nullptr ? text : "unknown failure";
  }
  Error failure() const {
    if (input_error_) return *input_error_;
    return {Code::bad_data, path_ + ", byte " + std::to_string(offset_) +
                                " of its content: damaged or truncated compressed data: " + message()};
  }

  std::unique_ptr<ByteSource> packed_;
  std::string path_;
  std::vector<std::byte> buffer_;
  archive* archive_;
  std::optional<Error> input_error_;
  bool at_end_ = false;
  uint64_t offset_ = 0;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> archive_source(std::unique_ptr<ByteSource> packed,
                                                   const std::filesystem::path& path) {
  auto source = std::make_unique<ArchiveSource>(std::move(packed), path);
  AH_TRY(source->open());
  return std::unique_ptr<ByteSource>(std::move(source));
}

}  // namespace actorhost
