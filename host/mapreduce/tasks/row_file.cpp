#include "host/mapreduce/tasks/row_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include <unistd.h>
#include <xxhash.h>

#include "host/base/fd.hpp"
#include "host/base/number.hpp"
#include "host/data/file/files.hpp"
#include "host/mapreduce/rows/block_packing.hpp"
#include "host/mapreduce/rows/key.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "AHROWS1\n";
constexpr size_t kHeadBytes = 32;

/// Precedes the bytes of each block; also at the file's end.
struct BlockHead {
  uint64_t stored = 0;
  uint64_t raw = 0;   // at the end: the number of blocks
  uint64_t rows = 0;  // at the end: of all blocks
  uint64_t check = 0;
};

uint64_t check_of(uint64_t place, std::string_view before, const Blob& bytes) {
  const uint64_t seed = XXH3_64bits_withSeed(before.data(), before.size(), place);
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t check_of(uint64_t place, const BlockHead& head, const Blob& bytes) {
  return check_of(place, {reinterpret_cast<const char*>(&head), offsetof(BlockHead, check)}, bytes);
}

uint64_t id_hash(const std::string& id) { return XXH3_64bits(id.data(), id.size()); }

std::string head_of(uint64_t id, uint64_t part) {
  std::string head(kMagic);
  const auto add = [&head](uint64_t number) { head.append(reinterpret_cast<const char*>(&number), sizeof number); };
  add(id);
  add(part);
  add(check_of(0, head, {}));
  return head;
}

/// The attempt in a file, if the file is complete.
std::optional<SavedPart> complete_attempt(const fs::path& path, const std::string& id, uint64_t part) {
  auto file = open_for_reading(path);
  BlockHead end;
  if (!file || file->size < kHeadBytes + sizeof end) return std::nullopt;
  std::array<char, kHeadBytes> head{};
  const auto last = file->size - sizeof end;
  if (::pread(file->fd.get(), head.data(), head.size(), 0) != ssize_t{kHeadBytes}) return std::nullopt;
  if (::pread(file->fd.get(), &end, sizeof end, static_cast<off_t>(last)) != ssize_t{sizeof end}) return std::nullopt;
  const bool whole = std::string_view(head.data(), head.size()) == head_of(id_hash(id), part) && end.stored == 0 &&
                     check_of(last, end, {}) == end.check;
  if (!whole) return std::nullopt;
  return SavedPart{path.filename().string(), end.rows, file->size};
}

/// The number of the part of an attempt's file: of ".part-00003-RANDOM".
std::optional<uint32_t> part_of_attempt(std::string_view name) {
  constexpr std::string_view kStart = ".part-";
  if (!name.starts_with(kStart)) return std::nullopt;
  name.remove_prefix(kStart.size());
  return number_of<uint32_t>(name.substr(0, name.find('-')));
}

class RowFileSource final : public BlockSource {
 public:
  RowFileSource(fs::path path, OpenedFile file) : path_(std::move(path)), file_(std::move(file)) {}

  /// Reads and checks the file's checkpoint and part.
  Status read_head(const std::string& id, uint64_t part) {
    std::array<char, kHeadBytes> head{};
    AH_TRY(read(head.data(), head.size()));
    const std::string_view found(head.data(), head.size());
    if (found == head_of(id_hash(id), part)) return {};
    if (!found.starts_with(kMagic)) return bad(0, "is no part of a checkpoint");
    std::array<uint64_t, 2> numbers{};  // the id and the part
    std::memcpy(numbers.data(), head.data() + kMagic.size(), sizeof numbers);
    if (found != head_of(numbers[0], numbers[1])) return bad(0, "is damaged");
    if (numbers[1] != part) return bad(0, "is part " + std::to_string(numbers[1]) + " under a wrong name");
    return bad(0, "belongs to another checkpoint, which has replaced the requested checkpoint");
  }

  Status next_block(RowBlock& block) override {
    block = {};
    if (ended_) return {};
    begin_ = at_;
    BlockHead head;
    AH_TRY(read(reinterpret_cast<char*>(&head), sizeof head));
    if (head.stored == 0) return end(head);
    if (head.stored > file_.size - at_) return bad(begin_, "is damaged, or cut short");
    Blob stored = Blob::allocate(head.stored);
    AH_TRY(read(stored.chars(), stored.size()));
    if (check_of(begin_, head, stored) != head.check) return bad(begin_, "is damaged");
    auto raw = unpack_block(stored, head.raw);
    if (!raw || head.rows == 0) return bad(begin_, "has an invalid block");
    block = {*std::move(raw), head.rows};
    blocks_ += 1;
    rows_ += head.rows;
    return {};
  }
  uint64_t bytes_read() const noexcept override { return at_; }

 private:
  Status end(const BlockHead& head) {
    const bool whole = check_of(begin_, head, {}) == head.check && head.raw == blocks_ && head.rows == rows_;
    if (!whole) return bad(begin_, "is damaged");
    if (at_ != file_.size) return bad(at_, "continues after its end");
    ended_ = true;
    return {};
  }

  Status read(char* to, size_t size) {
    const int error = transfer(to, size, [&](char* at, size_t left) {
      const ssize_t got = ::read(file_.fd.get(), at, left);
      if (got > 0) at_ += static_cast<uint64_t>(got);
      return got;
    });
    if (error == kNoMore) return bad(at_, "is cut short");
    return error == 0 ? Status() : file_error(path_, "reading", error);
  }

  Error bad(uint64_t place, const std::string& what) const {
    return {Code::bad_data, path_.string() + ", byte " + std::to_string(place) + ": the checkpoint " + what};
  }

  const fs::path path_;
  OpenedFile file_;
  uint64_t at_ = 0;
  uint64_t begin_ = 0;  // where the current block begins
  uint64_t blocks_ = 0;
  uint64_t rows_ = 0;
  bool ended_ = false;
};

}  // namespace

// ---- writing ----

EarlierParts::EarlierParts(const SaveFolder& save) : folder_(save.staging), id_(save.id) {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename();
    if (const auto part = part_of_attempt(name)) names_.emplace(*part, std::move(name));
  }
}

std::optional<SavedPart> EarlierParts::complete(uint32_t part) const {
  const auto [first, last] = names_.equal_range(part);
  for (auto at = first; at != last; ++at) {
    if (auto found = complete_attempt(folder_ / at->second, id_, part)) return found;
  }
  return std::nullopt;
}

RowFileSink::RowFileSink(fs::path path, MemoryBudget* budget)
    : path_(std::move(path)),
      blocks_(1, kBlockBytes, budget, [this](uint32_t, const RowBlock& block) { return write(block); }) {}

Result<std::unique_ptr<RowFileSink>> RowFileSink::open(const SaveFolder& save, uint32_t part, MemoryBudget* budget,
                                                       const EarlierParts* earlier) {
  const std::string name = part_name(part, {RowFormat::rows});
  std::unique_ptr<RowFileSink> sink(new RowFileSink(attempt_path(save, name), budget));
  if (const auto found = earlier != nullptr ? earlier->complete(part) : std::nullopt) {
    sink->path_ = "/dev/null";
    sink->name_ = found->name;
    sink->rows_ = found->rows;
    sink->at_ = found->bytes;
    sink->ready_ = true;
    return sink;
  }
  auto file = open_for_writing(sink->path_);
  if (!file) {
    Error error = std::move(file).error();
    if (!fs::exists(save.staging)) error.message += "; all hosts have to see the same folder";
    sink->path_ = "/dev/null";
    return error;
  }
  sink->file_ = *std::move(file);
  const std::string head = head_of(id_hash(save.id), part);
  AH_TRY(write_all(sink->file_.get(), std::as_bytes(std::span(head)), sink->path_));
  sink->at_ = head.size();
  return sink;
}

RowFileSink::~RowFileSink() {
  std::error_code error;
  if (path_ != "/dev/null") fs::remove(path_, error);
}

Status RowFileSink::put(const RowValue& first, const RowValue* second) {
  const size_t size = written_size(first) + (second != nullptr ? written_size(*second) : 0);
  char* at = blocks_.room(0, size);
  if (at == nullptr) return blocks_.status();
  at = write_value(at, first, second != nullptr);
  if (second != nullptr) write_value(at, *second, false);
  blocks_.added(0, size);
  return {};
}

Status RowFileSink::put_block(RowBlock&& block) {
  return blocks_.pass(0, std::move(block)) ? Status() : blocks_.status();
}

Status RowFileSink::write(const RowBlock& block) {
  const Blob stored = pack_block(block.bytes);
  BlockHead head{stored.size(), block.bytes.size(), block.rows, 0};
  head.check = check_of(at_, head, stored);
  AH_TRY(write_all(file_.get(), std::as_bytes(std::span(&head, 1)), path_));
  AH_TRY(write_all(file_.get(), {stored.data(), stored.size()}, path_));
  at_ += sizeof head + stored.size();
  written_ += 1;
  rows_ += block.rows;
  return {};
}

Status RowFileSink::finish() {
  if (ready_) return {};
  AH_TRY(blocks_.finish());
  BlockHead end{0, written_, rows_, 0};
  end.check = check_of(at_, end, {});
  AH_TRY(write_all(file_.get(), std::as_bytes(std::span(&end, 1)), path_));
  at_ += sizeof end;
  if (path_ == "/dev/null") return {};
  AH_TRY(sync_file(file_.get(), path_));
  AH_TRY(file_.close(path_));
  name_ = std::exchange(path_, "/dev/null").filename();
  return {};
}

// ---- reading ----

Result<std::unique_ptr<BlockSource>> open_row_file(const fs::path& folder, const std::string& id, uint32_t part) {
  const fs::path path = folder / part_name(part, {RowFormat::rows});
  auto file = open_for_reading(path);
  if (!file) {
    Error error = std::move(file).error();
    error.message += "; all hosts have to see the checkpoint";
    return error;
  }
  auto source = std::make_unique<RowFileSource>(path, *std::move(file));
  AH_TRY(source->read_head(id, part));
  return std::unique_ptr<BlockSource>(std::move(source));
}

}  // namespace actorhost
