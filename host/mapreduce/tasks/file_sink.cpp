#include "host/mapreduce/tasks/file_sink.hpp"

#include <cstdio>
#include <system_error>

#include "host/base/system_random.hpp"
#include "host/data/content/text_number.hpp"
#include "host/data/file/object_upload.hpp"
#include "host/mapreduce/files/object_save.hpp"
#include "host/mapreduce/files/value_text.hpp"

namespace actorhost {

namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

}  // namespace

std::string part_name(uint32_t part, const FileOptions& options) {
  char number[16];
  std::snprintf(number, sizeof number, "part-%05u", part);
  std::string name = number;
  if (options.format == RowFormat::csv) name += ".csv";
  if (options.format == RowFormat::jsonl) name += ".jsonl";
  return name.append(extension_of(options.packing));
}

std::filesystem::path attempt_path(const SaveFolder& save, const std::string& name) {
  if (is_committed(save)) return "/dev/null";
  if (is_object_url(save.target.string())) return save.target / name;
  return save.staging / ("." + name + "-" + std::to_string(system_random()));
}

Result<std::unique_ptr<FileSink>> FileSink::open(const SaveFolder& save, uint32_t part, const FileOptions& options) {
  const std::string name = part_name(part, options);
  std::unique_ptr<FileSink> sink(new FileSink(options));
  std::filesystem::path path = attempt_path(save, name);
  if (is_object_url(path.string())) return open_upload(std::move(sink), path.string(), name);
  auto writer = PackedWriter::open(path, options.packing);
  if (!writer) {
    Error error = std::move(writer).error();
    if (!std::filesystem::exists(save.staging)) error.message += "; all hosts have to see the same folder";
    return error;
  }
  if (path != "/dev/null") sink->path_ = std::move(path);
  sink->writer_ = *std::move(writer);
  sink->begin_text();
  return sink;
}

Result<std::unique_ptr<FileSink>> FileSink::open_upload(std::unique_ptr<FileSink> sink, const std::string& url,
                                                        const std::string& name) {
  AH_LET(auto upload, ObjectUpload::begin(url, true));
  sink->upload_ = upload.get();
  sink->name_ = name;
  AH_LET(sink->writer_, PackedWriter::open(std::move(upload), url, sink->options_.packing));
  sink->begin_text();
  return sink;
}

void FileSink::begin_text() {
  if (!options_.names.empty()) buffer_ = csv_header(options_.names, options_.separator);
}

FileSink::~FileSink() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove(path_, error);
}

Status FileSink::put(const RowValue& first, const RowValue* second) {
  AH_TRY(line(first, second));
  // A reader drops the mark at the front of a file, so a text that begins with a mark gets a second mark.
  const bool marked = rows_ == 0 && options_.format == RowFormat::text && buffer_.starts_with(kByteOrderMark);
  if (marked) buffer_.insert(0, kByteOrderMark);
  buffer_ += '\n';
  ++rows_;
  if (buffer_.size() < kBufferBytes) return {};
  AH_TRY(writer_->write(buffer_));
  buffer_.clear();
  return {};
}

Status FileSink::line(const RowValue& first, const RowValue* second) {
  switch (options_.format) {
    case RowFormat::text:
      AH_TRY(append_text(buffer_, first));
      if (second == nullptr) return {};
      buffer_ += options_.separator;
      return append_text(buffer_, *second);
    case RowFormat::csv: {
      const size_t before = buffer_.size();
      bool is_first = true;
      if (second == nullptr && !options_.names.empty() && is_record(first)) {
        return append_csv_record(buffer_, first, options_.separator, options_.names);
      }
      AH_TRY(append_csv(buffer_, first, options_.separator, is_first, second == nullptr));
      if (second != nullptr) AH_TRY(append_csv(buffer_, *second, options_.separator, is_first, false));
      if (buffer_.size() == before) buffer_ += "\"\"";  // a reader skips empty lines
      return {};
    }
    case RowFormat::jsonl:
      if (second == nullptr) return append_json(buffer_, first);
      buffer_ += '[';
      AH_TRY(append_json(buffer_, first));
      buffer_ += ',';
      AH_TRY(append_json(buffer_, *second));
      buffer_ += ']';
      return {};
    case RowFormat::rows: break;  // written by RowFileSink
  }
  return {};
}

Status FileSink::finish() {
  AH_TRY(writer_->write(buffer_));
  buffer_.clear();
  AH_TRY(writer_->close());
  name_ = upload_ != nullptr ? upload_name(name_, upload_->id()) : std::exchange(path_, {}).filename().string();
  return {};
}

}  // namespace actorhost
