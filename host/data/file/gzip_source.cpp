#include <algorithm>
#include <limits>
#include <vector>

#include <zlib.h>

#include "host/data/file/decompress.hpp"

namespace actorhost {

namespace {

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, const std::filesystem::path& path)
      : packed_(std::move(packed)), path_(path.string()), buffer_(256 * 1024) {
    usable_ = inflateInit2(&stream_, 15 + 16) == Z_OK;
  }
  ~GzipSource() override {
    if (usable_) inflateEnd(&stream_);
  }

  Result<size_t> read(std::span<std::byte> out) override {
    if (!usable_) return bad("no memory to decompress");
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    const size_t room = std::min<size_t>(out.size(), std::numeric_limits<uInt>::max());
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out == room && room != 0) {
      AH_LET(auto more, fill());
      if (between_members_) {
        AH_LET(auto member, more ? next_member() : Result<bool>(false));
        if (!member) break;
      } else if (!more) {
        return bad("truncated gzip data");
      }
      AH_TRY(step());
    }
    const size_t got = room - stream_.avail_out;
    offset_ += got;
    return got;
  }

 private:
  Error bad(const std::string& what) const {
    return {Code::bad_data, path_ + ", byte " + std::to_string(offset_) + " of its content: " + what};
  }

  /// Fills the input buffer if it is empty; false at the end of the input.
  Result<bool> fill() {
    if (stream_.avail_in != 0) return true;
    auto got = packed_->read(buffer_);
    if (!got) return std::move(got).error();
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(*got);
    return *got != 0;
  }

  /// Starts the next member after the end of a member; false if only zero padding remains.
  Result<bool> next_member() {
    while (*stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
      auto more = fill();
      if (!more || !*more) return more;
    }
    if (*stream_.next_in != 0x1f) return bad("bytes that are not gzip follow the end of the data");
    inflateReset(&stream_);
    between_members_ = false;
    return true;
  }

  Status step() {
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) between_members_ = true;
    if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR) return {};
    return bad(std::string("damaged gzip data: ") + (stream_.msg != nullptr ? stream_.msg : zError(status)));
  }

  std::unique_ptr<ByteSource> packed_;
  std::string path_;
  std::vector<std::byte> buffer_;
  z_stream stream_{};
  bool usable_ = false;
  bool between_members_ = false;
  uint64_t offset_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> packed, const std::filesystem::path& path) {
  return std::make_unique<GzipSource>(std::move(packed), path);
}

}  // namespace actorhost
