#include "host/data/file/file_reader.hpp"

#include <sys/stat.h>

#include "tests/host/data/packed.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace {

/// A text that is partly compressible, longer than every buffer, and without repetition.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 700000; ++i) text += "line " + std::to_string(i * 7919 % 10007) + "\n";
  return text;
}

std::string stream_of(const std::filesystem::path& path, size_t chunk) {
  auto source = required(open_source(path));
  std::string all;
  std::vector<std::byte> buffer(chunk);
  for (;;) {
    auto got = required((*source)->read(buffer));
    if (*got == 0) return all;
    all.append(reinterpret_cast<const char*>(buffer.data()), *got);
  }
}

Error read_failure(const std::filesystem::path& path, ReadOptions options = {}) {
  auto read = read_file(path, options);
  REQUIRE(!read.ok());
  return read.error();
}

const char* const kFilters[] = {"gzip", "zstd", "xz", "bzip2"};

}  // namespace

TEST_CASE("plain and compressed files have the same content, whole and as a stream") {
  const Scratch scratch;
  const std::string text = long_text();
  const auto plain = scratch.file("plain.gz", text);  // the name does not matter
  CHECK(read_file(plain)->view() == text);
  CHECK(stream_of(plain, 1000) == text);
  for (const char* filter : kFilters) {
    INFO(filter);
    const auto path = scratch.file("data.txt", packed(text, filter));
    auto read = required(read_file(path));
    CHECK(read->view() == text);
    CHECK(stream_of(path, 999) == text);
  }
}

TEST_CASE("empty files and empty compressed files have no content") {
  const Scratch scratch;
  CHECK(read_file(scratch.file("empty", ""))->empty());
  for (const char* filter : kFilters) {
    INFO(filter);
    auto read = required(read_file(scratch.file("empty.x", packed("", filter))));
    CHECK(read->empty());
  }
}

TEST_CASE("files shorter than a magic number are plain") {
  const Scratch scratch;
  for (const std::string& text :
       {std::string("B"), std::string("BZh9 is text"), std::string("\x28\xb5"), std::string("ab\n")}) {
    CHECK(read_file(scratch.file("short", text))->view() == text);
  }
}

TEST_CASE("all concatenated members are read, and zero padding after gzip is not content") {
  const Scratch scratch;
  for (const char* filter : kFilters) {
    INFO(filter);
    auto read = required(read_file(scratch.file("two", packed("first ", filter) + packed("second", filter))));
    CHECK(read->view() == "first second");
  }
  CHECK(read_file(scratch.file("padded", packed("x", "gzip") + std::string(700, '\0')))->view() == "x");
  CHECK(contains(read_failure(scratch.file("trailing", packed("x", "gzip") + "junk")).message, "not gzip follow"));
}

TEST_CASE("truncated compressed files are errors that name file and offset, never shorter content") {
  const Scratch scratch;
  const std::string text = long_text();
  for (const char* filter : kFilters) {
    const std::string whole = packed(text, filter);
    for (size_t cut : {whole.size() - 1, whole.size() / 2, size_t{12}}) {
      INFO(filter << " cut to " << cut << " of " << whole.size());
      const Error error = read_failure(scratch.file("cut", whole.substr(0, cut)));
      CHECK(error.code == Code::bad_data);
      CHECK(contains(error.message, (scratch / "cut").string()));
    }
  }
}

TEST_CASE("a wrong checksum is an error") {
  const Scratch scratch;
  for (const char* filter : {"gzip", "xz", "bzip2"}) {
    const std::string whole = packed(long_text(), filter);
    const size_t at = filter == std::string("gzip") ? whole.size() - 6 : whole.size() / 2;
    std::string damaged = whole;
    damaged[at] ^= 0x40;
    INFO(filter);
    CHECK(read_failure(scratch.file("damaged", damaged)).code == Code::bad_data);
  }
  std::string damaged = packed("some text", "gzip");
  damaged[damaged.size() - 6] ^= 1;
  CHECK(contains(read_failure(scratch.file("crc", damaged)).message, "incorrect data check"));
}

TEST_CASE("content above the limit is an error with the limit in the message", "[deep]") {
  const Scratch scratch;
  const std::string zeros(50'000'000, '\0');
  for (const char* filter : kFilters) {
    const auto path = scratch.file("bomb", packed(zeros, filter));
    INFO(filter << " " << std::filesystem::file_size(path));
    const Error error = read_failure(path, {.max_bytes = 1'000'000});
    CHECK(error.code == Code::bad_data);
    CHECK(contains(error.message, "1000000 bytes"));
  }
  CHECK(read_failure(scratch.file("plain", "12345"), {.max_bytes = 4}).code == Code::bad_data);
  CHECK(read_file(scratch.file("plain", "12345"), {.max_bytes = 5})->size() == 5);
}

TEST_CASE("a named pipe is read to its end, compressed or not") {
  const Scratch scratch;
  const std::string text = long_text();
  for (const std::string& bytes : {text, packed(text, "gzip"), packed(text, "zstd")}) {
    const auto path = scratch / "pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
    auto read = read_file(path);
    writer.join();
    REQUIRE(read.ok());
    CHECK(read->view() == text);
    std::filesystem::remove(path);
  }
}

TEST_CASE("mutated compressed files never crash and stay within the limit") {
  const Scratch scratch;
  const uint64_t seed = 99;
  INFO("seed " << seed);
  Rng rng(seed);
  const std::string text = long_text().substr(0, 3000);
  for (const char* filter : kFilters) {
    const std::string whole = packed(text, filter);
    size_t refused = 0;
    for (int round = 0; round < 400; ++round) {
      auto read = read_file(scratch.file("m", mutate(whole, rng)), {.max_bytes = 1 << 20});
      if (!read.ok()) ++refused;
    }
    INFO(filter);
    CHECK(refused > 200);
  }
}
