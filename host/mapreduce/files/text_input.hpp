#pragma once
// The lines of a file or of a part of a file. Offsets delimit a part; a part has the lines that begin in it, so each
// line belongs to exactly one part wherever the file is cut. Bytes are not changed, except that a byte order mark at
// the front of the file is dropped. Lines may be as long as memory allows. Used by the thread that works on the task;
// calls block on the input.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/fd.hpp"
#include "host/data/file/byte_source.hpp"
#include "host/mapreduce/rows/stream.hpp"

namespace actorhost {

class TextInput {
 public:
  static constexpr uint64_t kToTheEnd = UINT64_MAX;

  /// Opens a part of an uncompressed file of `size` bytes. Another size, now or during reading, is an error: parts of a
  /// file that is still being written would not fit together.
  static Result<std::unique_ptr<TextInput>> open_part(const std::filesystem::path& path, uint64_t begin, uint64_t end,
                                                      uint64_t size);
  /// Opens a whole file, unpacked if it is compressed.
  static Result<std::unique_ptr<TextInput>> open_whole(const std::filesystem::path& path);
  /// Reads a part of an uncompressed content of `size` bytes, called `name` in messages. `source` begins at the byte
  /// before `begin`, or at the first byte.
  static std::unique_ptr<TextInput> over_part(std::unique_ptr<ByteSource> source, std::string name, uint64_t begin,
                                              uint64_t end, uint64_t size);
  /// Reads a whole source.
  static std::unique_ptr<TextInput> over(std::unique_ptr<ByteSource> source);

  /// Returns whole lines with their ends, about a MiB of them; the last line of the file may have no end. Empty at the
  /// end. Valid until the next call.
  Result<std::string_view> next();
  /// Bytes of this part so far.
  uint64_t bytes() const noexcept { return taken_; }
  /// The offset of the part's first line in the file; set by the first lines.
  uint64_t first() const noexcept { return first_; }

 private:
  TextInput(std::unique_ptr<ByteSource> source, std::string name, uint64_t begin, uint64_t end, uint64_t size)
      : source_(std::move(source)),
        name_(std::move(name)),
        size_(size),
        end_(end),
        offset_(begin > 0 ? begin - 1 : 0),
        skipping_(begin > 0) {}
  Status fill(size_t wanted);
  Status skip_first();
  Status check_size() const;

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  uint64_t size_;  // of the whole file of a part, else kToTheEnd
  uint64_t end_;
  std::string buffer_;
  size_t used_ = 0;     // bytes of buffer_ that next() has returned
  uint64_t offset_;     // in the file, of the buffer's end
  bool skipping_;       // inside a line that began before this part
  bool ended_ = false;  // the source has no more bytes
  uint64_t taken_ = 0;
  uint64_t first_ = 0;
};

/// Removes the first line from some lines (not none) and returns it without its end.
inline std::string_view take_line(std::string_view& lines) {
  const size_t end = lines.find('\n');
  const std::string_view line = lines.substr(0, end);
  lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  return line;
}

/// A row for each line, without its end.
class LineSource final : public RowSource {
 public:
  explicit LineSource(std::unique_ptr<TextInput> input) : input_(std::move(input)) {}
  Status next(RowBatch& batch) override;
  uint64_t bytes_read() const noexcept override { return input_->bytes(); }
  /// For callers that want the lines in one piece; call before the first `next`.
  std::unique_ptr<TextInput> take_input() && { return std::move(input_); }

 private:
  std::unique_ptr<TextInput> input_;
  std::string_view left_;
};

}  // namespace actorhost
