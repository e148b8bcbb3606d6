// Parts of checkpoints: reading returns the written rows, whatever was done to the file, or an error with the place.

#include "host/mapreduce/tasks/row_file.hpp"

#include "host/mapreduce/files/checkpoint_folder.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/host/mapreduce/rows.hpp"
#include "tests/test.hpp"

namespace {

SaveFolder begun(const Scratch& scratch, const std::string& name = "ck") {
  auto start = required(begin_checkpoint(scratch / name, "fingerprint", {}, name + "-id"));
  REQUIRE_FALSE(start->ready);
  return start->save;
}

/// Puts the rows one by one, with blocks in between.
SavedPart write_row_part(const SaveFolder& save, uint32_t part, const std::vector<PlainRow>& rows) {
  auto sink = required(RowFileSink::open(save, part, nullptr));
  for (const PlainRow& row : rows) {
    const RowValue first = row.first.view();
    const RowValue second = row.second ? row.second->view() : RowValue();
    REQUIRE((*sink)->put(first, row.second ? &second : nullptr));
  }
  REQUIRE((*sink)->finish());
  CHECK((*sink)->saved().rows == rows.size());
  return (*sink)->saved();
}

std::vector<PlainRow> random_file_rows(Rng& rng, size_t count) {
  std::vector<PlainRow> rows(count);
  for (auto& row : rows) {
    row.first = rng.below(2) == 0 ? Plain::of(static_cast<double>(rng.below(1000))) : Plain::of(random_text(rng, 300));
    if (rng.below(2) == 0) row.second = Plain::of(random_text(rng, 40));
  }
  return rows;
}

Result<std::vector<PlainRow>> read_row_part(const std::filesystem::path& folder, const std::string& id, uint32_t part) {
  auto source = open_row_file(folder, id, part);
  if (!source) return source.error();
  std::vector<PlainRow> rows;
  for (;;) {
    RowBlock block;
    AH_TRY((*source)->next_block(block));
    if (block.rows == 0) return rows;
    const auto more = rows_of(block);
    rows.insert(rows.end(), more.begin(), more.end());
  }
}

std::vector<PlainRow> read_by_batches(BlockSource& source) {
  std::vector<PlainRow> rows;
  RowBatch batch;
  for (;;) {
    REQUIRE(source.next(batch));
    if (batch.count == 0) return rows;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rows.push_back({Plain::from(batch.first[i]), {}});
      if (batch.pair[i] != 0) rows.back().second = Plain::from(batch.second[i]);
    }
  }
}

}  // namespace

TEST_CASE("a part of a checkpoint is read unchanged, by blocks and by batches") {
  const Scratch scratch;
  Rng rng(1);
  const SaveFolder save = begun(scratch);
  const std::vector<std::vector<PlainRow>> parts = {{}, random_file_rows(rng, 1), random_file_rows(rng, 9000)};
  std::vector<SavedPart> saved;
  for (uint32_t i = 0; i < parts.size(); ++i) saved.push_back(write_row_part(save, i, parts[i]));
  REQUIRE(commit_save(save, saved));
  for (uint32_t i = 0; i < parts.size(); ++i) {
    const auto rows = read_row_part(save.target, save.id, i);
    REQUIRE(rows);
    CHECK(*rows == parts[i]);
    CHECK(read_by_batches(**open_row_file(save.target, save.id, i)) == parts[i]);
  }
  CHECK_FALSE(std::filesystem::exists(save.staging));
}

TEST_CASE("whole blocks go into a part unchanged, in their place among rows") {
  const Scratch scratch;
  const SaveFolder save = begun(scratch);
  class Blocks final : public BlockSource {
   public:
    Status next_block(RowBlock& block) override {
      block = given_++ < 2 ? block_of({{Plain::of(1.0), {}}, {Plain::of(2.0), {}}}) : RowBlock();
      return {};
    }

   private:
    int given_ = 0;
  };
  auto sink = required(RowFileSink::open(save, 0, nullptr));
  const Plain before = Plain::of("before");
  REQUIRE((*sink)->put(before.view(), nullptr));
  Blocks blocks;
  RowBatch batch;
  uint64_t rows = 0;
  TaskSink& as_task = **sink;
  REQUIRE(as_task.pour(blocks, batch, rows));
  CHECK(rows == 4);
  REQUIRE((*sink)->finish());
  REQUIRE(commit_save(save, {(*sink)->saved()}));
  const auto read = read_row_part(save.target, save.id, 0);
  REQUIRE(read);
  REQUIRE(read->size() == 5);
  CHECK((*read)[0].first == before);
  CHECK((*read)[4].first == Plain::of(2.0));
}

TEST_CASE("a part cut anywhere or with any byte changed is an error with the file and the place") {
  const Scratch scratch;
  Rng rng(2);
  const SaveFolder save = begun(scratch);
  const auto rows = random_file_rows(rng, 30);
  REQUIRE(commit_save(save, {write_row_part(save, 0, rows)}));
  const auto path = save.target / "part-00000";
  const std::string bytes = slurp(path);
  const auto damaged = [&](const std::string& text) {
    scratch.file("bad/part-00000", text);
    const auto read = read_row_part(scratch / "bad", save.id, 0);
    if (read) return std::string("read");
    CHECK(read.error().code == Code::bad_data);
    return read.error().message;
  };
  CHECK(damaged(bytes) == "read");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string message = damaged(bytes.substr(0, size));
    if (message.find("bad/part-00000, byte ") == std::string::npos) FAIL("cut to " << size << ": " << message);
  }
  CHECK_THAT(damaged(bytes.substr(0, 100)), Contains("byte 32: the checkpoint is damaged, or cut short"));
  CHECK_THAT(damaged(bytes.substr(0, 50)), Contains("byte 50: the checkpoint is cut short"));
  CHECK_THAT(damaged(bytes + "x"), Contains("continues after its end"));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << rng.below(8)));
    const std::string message = damaged(changed);
    if (message.find("part-00000, byte ") == std::string::npos) FAIL("byte " << i << ": " << message);
  }
  for (int i = 0; i < 2000; ++i) {
    const std::string changed = mutate(bytes, rng);
    if (changed != bytes && damaged(changed) == "read") FAIL("a mutation was read");
  }
}

TEST_CASE("a part of another checkpoint, or another part, is refused") {
  const Scratch scratch;
  const SaveFolder save = begun(scratch);
  const SaveFolder other = begun(scratch, "other");
  REQUIRE(commit_save(save, {write_row_part(save, 3, {})}));
  const auto message = [](const auto& result) { return result ? "none" : result.error().message; };
  CHECK_THAT(message(open_row_file(save.target, other.id, 3)), Contains("belongs to another checkpoint"));
  std::filesystem::rename(save.target / "part-00003", save.target / "part-00002");
  CHECK_THAT(message(open_row_file(save.target, save.id, 2)), Contains("is part 3 under a wrong name"));
  CHECK_THAT(message(open_row_file(save.target, save.id, 3)),
             Contains("part-00003: cannot open for reading: No such "));
  scratch.file("text/part-00000", std::string(100, 'x'));
  CHECK_THAT(message(open_row_file(scratch / "text", save.id, 0)), Contains("byte 0: the checkpoint is no part of"));
}

TEST_CASE("a folder with a checkpoint is refused, read or replaced as the options say") {
  const Scratch scratch;
  const std::string path = scratch / "ck";
  const SaveFolder save = begun(scratch);
  REQUIRE(commit_save(save, {write_row_part(save, 0, {{Plain::of(1.0), {}}})}));
  const auto start = [&](const std::string& fingerprint, bool overwrite, bool resume) {
    auto started = begin_checkpoint(path, fingerprint, {overwrite, resume}, "id");
    if (!started) return started.error().message;
    if (started->ready) return "ready: " + std::to_string(started->ready->rows) + " of " + started->save.id;
    abandon_save(started->save);
    return std::string("to be written");
  };
  CHECK_THAT(start("fingerprint", false, false), Contains("ck: holds a checkpoint; resume = true reads it"));
  CHECK(start("fingerprint", false, true) == "ready: 1 of " + save.id);
  CHECK(start("fingerprint", true, true) == "ready: 1 of " + save.id);
  CHECK(begin_checkpoint(path, "fingerprint", {}, save.id)->save.staging == save.staging);  // begun again
  CHECK_FALSE(begin_checkpoint(path, "fingerprint", {false, true}, save.id)->ready);
  CHECK(start("fingerprint", true, false) == "to be written");
  CHECK_THAT(start("another", false, true), Contains("ck: holds the checkpoint of another pipeline"));
  CHECK(start("another", true, true) == "to be written");
  scratch.file("ck/_SUCCESS", "{\"id\": 7, \"files\": \"many\"}");
  CHECK_THAT(start("fingerprint", false, true), Contains("ck: exists; overwrite = true replaces it"));
  scratch.file("ck/thesis.tex", "years of work");
  CHECK_THAT(start("fingerprint", true, false), Contains("holds 'thesis.tex', which no save has made"));
  CHECK(begin_checkpoint("", "fingerprint", {}, "id").error().code == Code::bad_argument);
}

TEST_CASE("the same pipeline continues an unfinished checkpoint with its complete parts") {
  const Scratch scratch;
  const std::string path = scratch / "ck";
  const auto begin = [&](const std::string& id, const std::string& parts, bool resume = true) {
    return *required(begin_checkpoint(path, "fingerprint", {false, resume, parts}, id));
  };
  const CheckpointStart first = begin("one", "parts");
  CHECK_FALSE(first.continues);
  const std::vector<PlainRow> rows = {{Plain::of(1.0), {}}, {Plain::of(2.0), {}}};
  const SavedPart part = write_row_part(first.save, 0, rows);
  const std::string bytes = read_text(first.save.staging / part.name);
  const auto copy_as = [&](const std::string& name, size_t size) {
    std::ofstream(first.save.staging / name, std::ios::binary) << bytes.substr(0, size);
  };
  copy_as(".part-00001-7", bytes.size());  // of another part
  copy_as(".part-00002-7", bytes.size() - 1);
  copy_as(".part-00003-7", 5);

  const CheckpointStart again = begin("two", "parts");
  CHECK(again.continues);
  CHECK(again.save.id == "one");
  CHECK(again.save.staging == first.save.staging);
  const EarlierParts earlier(again.save);
  const SavedPart late = write_row_part(first.save, 4, rows);  // completed later
  auto ready = required(RowFileSink::open(again.save, 0, nullptr, &earlier));
  REQUIRE((*ready)->ready());
  REQUIRE((*ready)->finish());
  CHECK((*ready)->saved().name == part.name);
  CHECK((*ready)->saved().rows == 2);
  CHECK((*ready)->saved().bytes == part.bytes);
  for (uint32_t other = 1; other < 5; ++other) {
    CHECK_FALSE((*required(RowFileSink::open(again.save, other, nullptr, &earlier)))->ready());
  }
  const EarlierParts now(again.save);
  CHECK((*required(RowFileSink::open(again.save, 4, nullptr, &now)))->saved().name == late.name);

  const CheckpointStart changed = begin("three", "other parts");
  CHECK_FALSE(changed.continues);
  CHECK(changed.save.id == "three");
  CHECK(changed.other == first.save.staging);
  CHECK_FALSE(begin("four", "parts", false).continues);

  REQUIRE(commit_save(again.save, {(*ready)->saved()}));
  CHECK(read_row_part(again.save.target, "one", 0)->size() == 2);
  CHECK(begin("five", "parts").ready);
}
