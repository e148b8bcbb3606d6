#pragma once
// Writes a part of a `save`: rows as text, CSV or JSON lines, in a file of the save's hidden folder. A sink belongs to
// the thread that works on the task. Parts of a checkpoint: row_file.hpp.

#include <memory>
#include <string>
#include <vector>

#include "host/data/file/object_upload.hpp"
#include "host/data/file/packed_writer.hpp"
#include "host/mapreduce/files/save_folder.hpp"
#include "host/mapreduce/tasks/task_sinks.hpp"

namespace actorhost {

enum class RowFormat : uint8_t { text = 0, csv = 1, jsonl = 2, rows = 3 };

/// Any part of a saved folder.
class PartSink : public TaskSink {
 public:
  /// Completes the attempt. Without `finish`, the destructor removes the attempt.
  Status finish() override = 0;
  /// After `finish`.
  virtual SavedPart saved() const = 0;
  /// Whether an earlier run has completed the part, so that it takes no rows.
  virtual bool ready() const noexcept { return false; }
};

struct FileOptions {
  RowFormat format = RowFormat::text;
  FilePacking packing = FilePacking::none;
  char separator = ',';              // of CSV; in text between the values of a pair
  std::vector<std::string> names{};  // of CSV's columns: the first line of each part
};

/// "part-00003.csv.gz"
std::string part_name(uint32_t part, const FileOptions& options);
/// The path for an attempt at the part, under a unique name, or the URL of the part's upload; "/dev/null" when the save
/// is already complete.
std::filesystem::path attempt_path(const SaveFolder& save, const std::string& name);

class FileSink final : public PartSink {
 public:
  /// Code::io when the save's folder does not exist. A part of a completed save is discarded.
  static Result<std::unique_ptr<FileSink>> open(const SaveFolder& save, uint32_t part, const FileOptions& options);
  /// Removes an unfinished attempt.
  ~FileSink() override;

  Status put(const RowValue& first, const RowValue* second) override;
  Status finish() override;
  SavedPart saved() const override { return {name_, rows_, writer_->file_bytes()}; }

 private:
  explicit FileSink(FileOptions options) : options_(std::move(options)) {}
  /// Makes `sink` write an upload, which the save's commit completes.
  static Result<std::unique_ptr<FileSink>> open_upload(std::unique_ptr<FileSink> sink, const std::string& url,
                                                       const std::string& name);
  void begin_text();
  Status line(const RowValue& first, const RowValue* second);

  FileOptions options_;
  std::filesystem::path path_;      // empty when the part is discarded, complete or an upload
  std::string name_;                // of the complete file; of the part of an upload
  ObjectUpload* upload_ = nullptr;  // of writer_; nullptr for a file
  std::unique_ptr<PackedWriter> writer_;
  std::string buffer_;
  uint64_t rows_ = 0;
};

}  // namespace actorhost
