#pragma once
// A part of what a `save` writes: rows as text, CSV or JSON lines, in a file that gets its name when it is complete. A
// sink belongs to the thread that works on the task. Parts of a checkpoint: row_file.hpp.

#include <memory>
#include <string>

#include "host/data/packed_writer.hpp"
#include "host/mapreduce/save_folder.hpp"
#include "host/mapreduce/task_sinks.hpp"

namespace actorhost {

enum class RowFormat : uint8_t { text = 0, csv = 1, jsonl = 2, rows = 3 };

/// Any part of a folder that becomes complete.
class PartSink : public TaskSink {
 public:
  /// The part is there under its name.
  Status finish() override = 0;
  virtual uint64_t rows() const noexcept = 0;
  /// Of the file; after `finish`.
  virtual uint64_t bytes() const noexcept = 0;
};

struct FileOptions {
  RowFormat format = RowFormat::text;
  FilePacking packing = FilePacking::none;
  char separator = ',';  // of CSV; of the two of a pair in text
  std::string header{};  // the first line of each part, with its end
};

/// "part-00003.csv.gz"
std::string part_name(uint32_t part, const FileOptions& options);
/// A name for an attempt at it beside it, of its own and hidden; "/dev/null" when the save is complete already.
std::filesystem::path attempt_path(const SaveFolder& save, const std::string& name);

class FileSink final : public PartSink {
 public:
  /// Code::io when the save's folder is not there. A part of a save that is complete already goes nowhere.
  static Result<std::unique_ptr<FileSink>> open(const SaveFolder& save, uint32_t part, const FileOptions& options);
  /// An attempt that was not finished leaves nothing.
  ~FileSink() override;

  Status put(const RowValue& first, const RowValue* second) override;
  Status finish() override;
  uint64_t rows() const noexcept override { return rows_; }
  uint64_t bytes() const noexcept override { return writer_->file_bytes(); }

 private:
  FileSink(FileOptions options, std::filesystem::path path) : options_(std::move(options)), path_(std::move(path)) {}
  Status line(const RowValue& first, const RowValue* second);

  FileOptions options_;
  std::filesystem::path path_;       // when complete
  std::filesystem::path temporary_;  // empty when there is none
  std::unique_ptr<PackedWriter> writer_;
  std::string buffer_;
  uint64_t rows_ = 0;
};

}  // namespace actorhost
