#include "host/mapreduce/files/text_input.hpp"

#include <algorithm>
#include <span>

#include <fcntl.h>
#include <unistd.h>

#include "host/data/content/text_number.hpp"
#include "host/data/file/file_reader.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/plain_source.hpp"

namespace actorhost {

namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr size_t kLastBytes = size_t{4} << 10;  // read past a part's end, for the rest of its last line

}  // namespace

Result<std::unique_ptr<TextInput>> TextInput::open_part(const std::filesystem::path& path, uint64_t begin, uint64_t end,
                                                        uint64_t size) {
  AH_LET(auto opened, open_for_reading(path));
  if (opened.size != size) return changed_file(path, size, opened.size);
  if (begin > 0 && ::lseek(opened.fd.get(), static_cast<off_t>(begin - 1), SEEK_SET) < 0) {
    return file_error(path, "cannot seek to byte " + std::to_string(begin), errno);
  }
  ::posix_fadvise(opened.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  auto source = std::make_unique<PlainSource>(std::move(opened.fd), path);
  return over_part(std::move(source), path.string(), begin, end, size);
}

Result<std::unique_ptr<TextInput>> TextInput::open_whole(const std::filesystem::path& path) {
  auto source = open_source(path, {UINT64_MAX});
  if (!source) return source.error();
  return over(std::move(*source));
}

std::unique_ptr<TextInput> TextInput::over_part(std::unique_ptr<ByteSource> source, std::string name, uint64_t begin,
                                                uint64_t end, uint64_t size) {
  return std::unique_ptr<TextInput>(new TextInput(std::move(source), std::move(name), begin, end, size));
}

std::unique_ptr<TextInput> TextInput::over(std::unique_ptr<ByteSource> source) {
  return std::unique_ptr<TextInput>(new TextInput(std::move(source), {}, 0, kToTheEnd, kToTheEnd));
}

/// Checks that the file still has its initial size, as far as it was read.
Status TextInput::check_size() const {
  if (size_ == kToTheEnd) return {};
  if (offset_ > size_) return changed_file(name_, size_, offset_);
  if (ended_ && offset_ < size_) return changed_file(name_, size_, offset_);
  return {};
}

/// Moves the remaining bytes to the front, and appends up to `wanted` more bytes.
Status TextInput::fill(size_t wanted) {
  buffer_.erase(0, used_);
  used_ = 0;
  const size_t had = buffer_.size();
  buffer_.resize(had + wanted);
  auto got = source_->read(std::as_writable_bytes(std::span(buffer_)).subspan(had));
  buffer_.resize(had + (got ? *got : 0));
  if (!got) return got.error();
  offset_ += *got;
  ended_ = *got == 0;
  return check_size();
}

Status TextInput::skip_first() {
  while (skipping_ && !ended_) {
    AH_TRY(fill(kLastBytes));
    const size_t at = buffer_.find('\n', used_);
    used_ = at == std::string::npos ? buffer_.size() : at + 1;
    skipping_ = at == std::string::npos;
  }
  return {};
}

Result<std::string_view> TextInput::next() {
  AH_TRY(skip_first());
  size_t searched = used_;  // no line ends before this position
  for (;;) {
    const uint64_t start = offset_ - (buffer_.size() - used_);
    if (start >= end_) return std::string_view();
    // If the buffer extends beyond the part, the part ends with the first line end at or after its last byte.
    size_t cut = std::string::npos;
    if (offset_ >= end_) {
      const size_t last = buffer_.size() - static_cast<size_t>(offset_ - end_) - 1;
      cut = buffer_.find('\n', std::max(last, searched));
    } else {
      const size_t at = buffer_.size() > used_ ? buffer_.rfind('\n') : std::string::npos;
      if (at != std::string::npos && at >= searched) cut = at;
    }
    if (ended_ && cut == std::string::npos && used_ < buffer_.size()) cut = buffer_.size() - 1;
    if (cut != std::string::npos) {
      const std::string_view lines = std::string_view(buffer_).substr(used_, cut + 1 - used_);
      used_ = cut + 1;
      if (taken_ == 0) first_ = start;
      taken_ += lines.size();
      return start == 0 ? without_mark(lines) : lines;
    }
    if (ended_) return std::string_view();
    const size_t left = buffer_.size() - used_;
    const uint64_t to_end = end_ > offset_ ? end_ - offset_ : 0;
    // For a line longer than a read the size doubles, so that its bytes are not moved repeatedly.
    const size_t most = std::max(kReadBytes, left);
    AH_TRY(fill(to_end > 0 ? static_cast<size_t>(std::min<uint64_t>(most, to_end)) : std::max(kLastBytes, left)));
    searched = left;
  }
}

Status LineSource::next(RowBatch& batch) {
  batch.count = 0;
  if (left_.empty()) {
    AH_LET(left_, input_->next());
  }
  while (!left_.empty() && batch.count < kBatchRows) {
    const std::string_view text = take_line(left_);
    RowValue line;
    line.tag = static_cast<uint64_t>(RowTag::text);
    line.bytes = text.data();
    line.size = text.size();
    batch.add(line);
  }
  return {};
}

}  // namespace actorhost
