#include "host/data/file/packed_writer.hpp"

#include <array>
#include <span>

#include <archive.h>
#include <archive_entry.h>

#include "host/data/file/files.hpp"

namespace actorhost {

namespace {

struct Named {
  FilePacking packing;
  std::string_view extension;
};

constexpr std::array<Named, 4> kNames = {
    {{FilePacking::gzip, ".gz"}, {FilePacking::zstd, ".zst"}, {FilePacking::xz, ".xz"}, {FilePacking::bzip2, ".bz2"}}};

class FileOfSink final : public ByteSink {
 public:
  FileOfSink(Fd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Status write(std::span<const std::byte> bytes) override { return write_all(fd_.get(), bytes, path_); }
  Status close() override { return fd_.close(path_); }

 private:
  Fd fd_;
  std::filesystem::path path_;
};

class PlainWriter final : public PackedWriter {
 public:
  explicit PlainWriter(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {}
  Status write(std::string_view bytes) override {
    bytes_ += bytes.size();
    return sink_->write(std::as_bytes(std::span(bytes)));
  }
  Status close() override { return sink_->close(); }
  uint64_t file_bytes() const noexcept override { return bytes_; }

 private:
  std::unique_ptr<ByteSink> sink_;
  uint64_t bytes_ = 0;
};

/// Writes through libarchive. libarchive 3.6 does not free its output buffer after a failure, so every write is
/// reported to it as a success. The actual error is stored here.
class ArchiveWriter final : public PackedWriter {
 public:
  ArchiveWriter(std::unique_ptr<ByteSink> sink, std::string name)
      : sink_(std::move(sink)), name_(std::move(name)), archive_(archive_write_new()) {}
  ~ArchiveWriter() override {
    abandoned_ = true;  // freeing `archive_` writes the end of the data
    archive_write_free(archive_);
  }

  Status open(FilePacking packing) {
    if (archive_write_set_format_raw(archive_) != ARCHIVE_OK || add_filter(packing) != ARCHIVE_OK) return failure();
    archive_write_set_bytes_per_block(archive_, kBlockBytes);
    archive_write_set_bytes_in_last_block(archive_, 1);
    if (archive_write_open(archive_, this, nullptr, on_write, nullptr) != ARCHIVE_OK) return failure();
    archive_entry* entry = archive_entry_new();
    archive_entry_set_filetype(entry, AE_IFREG);
    const int status = archive_write_header(archive_, entry);
    archive_entry_free(entry);
    return status == ARCHIVE_OK ? error_ : failure();
  }

  Status write(std::string_view bytes) override {
    while (!bytes.empty() && error_.ok()) {
      const la_ssize_t n = archive_write_data(archive_, bytes.data(), bytes.size());
      if (n <= 0) return failure();
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return error_;
  }

  Status close() override {
    if (archive_write_close(archive_) != ARCHIVE_OK) return failure();
    AH_TRY(error_);
    return sink_->close();
  }
  uint64_t file_bytes() const noexcept override { return bytes_; }

 private:
  static constexpr int kBlockBytes = 256 * 1024;

  int add_filter(FilePacking packing) {
    switch (packing) {
      case FilePacking::gzip: return archive_write_add_filter_gzip(archive_);
      case FilePacking::zstd: return archive_write_add_filter_zstd(archive_);
      case FilePacking::xz: return archive_write_add_filter_xz(archive_);
      case FilePacking::bzip2: return archive_write_add_filter_bzip2(archive_);
      case FilePacking::none: break;
    }
    return ARCHIVE_FATAL;
  }

  static la_ssize_t on_write(archive*, void* self_pointer, const void* bytes, size_t size) {
    auto* self = static_cast<ArchiveWriter*>(self_pointer);
    if (self->error_.ok() && !self->abandoned_) {
      self->error_ = self->sink_->write({static_cast<const std::byte*>(bytes), size});
    }
    self->bytes_ += size;
    return static_cast<la_ssize_t>(size);
  }

  Status failure() {
    if (!error_.ok()) return error_;
    const char* reason = archive_error_string(archive_);
    return Error{Code::io, name_ + ": cannot be compressed: " + (reason != nullptr ? reason : "libarchive failed")};
  }

  std::unique_ptr<ByteSink> sink_;
  std::string name_;
  archive* archive_;
  Status error_;  // of the sink
  bool abandoned_ = false;
  uint64_t bytes_ = 0;
};

}  // namespace

FilePacking packing_of_name(std::string_view name) noexcept {
  for (const Named& each : kNames) {
    if (name.ends_with(each.extension)) return each.packing;
  }
  return FilePacking::none;
}

std::string_view extension_of(FilePacking packing) noexcept {
  for (const Named& each : kNames) {
    if (each.packing == packing) return each.extension;
  }
  return "";
}

Result<std::unique_ptr<PackedWriter>> PackedWriter::open(const std::filesystem::path& path, FilePacking packing) {
  AH_LET(auto fd, open_for_writing(path));
  return open(std::make_unique<FileOfSink>(std::move(fd), path), path.string(), packing);
}

Result<std::unique_ptr<PackedWriter>> PackedWriter::open(std::unique_ptr<ByteSink> sink, const std::string& name,
                                                         FilePacking packing) {
  if (packing == FilePacking::none) {
    return std::unique_ptr<PackedWriter>(std::make_unique<PlainWriter>(std::move(sink)));
  }
  auto writer = std::make_unique<ArchiveWriter>(std::move(sink), name);
  AH_TRY(writer->open(packing));
  return std::unique_ptr<PackedWriter>(std::move(writer));
}

}  // namespace actorhost
