// Lines of files cut anywhere: each line once, its bytes unchanged.

#include "host/mapreduce/files/text_input.hpp"

#include "host/mapreduce/files/file_list.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

using TextLines = std::vector<std::string>;

TextLines read_lines(std::unique_ptr<TextInput> input) {
  LineSource source(std::move(input));
  RowBatch batch;
  TextLines lines;
  for (;;) {
    const Status status = source.next(batch);
    if (!status) throw std::runtime_error(status.error().message);
    if (batch.count == 0) return lines;
    for (uint32_t i = 0; i < batch.count; ++i) lines.emplace_back(batch.first[i].text());
  }
}

TextLines read_text_part(const std::filesystem::path& path, uint64_t begin, uint64_t end, uint64_t size) {
  auto input = TextInput::open_part(path, begin, end, size);
  if (!input) throw std::runtime_error(input.error().message);
  return read_lines(std::move(*input));
}

TextLines lines_of(const std::string& text) {
  TextLines lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void append(TextLines& to, const TextLines& lines) { to.insert(to.end(), lines.begin(), lines.end()); }

}  // namespace

TEST_CASE("the parts of a text cut anywhere have each line once") {
  const TempDir dir;
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (size_t k = random() % 24; k > 0; --k) text += "\n\n\r a\0\xff"[random() % 7];
    if (round == 0) text.clear();
    INFO(round);
    const auto path = dir.write("text", text);
    const TextLines wanted = lines_of(text);
    for (size_t first = 0; first <= text.size(); ++first) {
      for (size_t second = first; second <= text.size(); second += 1 + random() % 3) {
        TextLines lines = read_text_part(path, 0, first, text.size());
        append(lines, read_text_part(path, first, second, text.size()));
        append(lines, read_text_part(path, second, text.size(), text.size()));
        REQUIRE(lines == wanted);
      }
    }
  }
}

TEST_CASE("a byte order mark at the front of a file is dropped, once, wherever the file is cut") {
  const TempDir dir;
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string rest : {"", "\n", "a", "\na\n", "a\nb\n",
                                 "\xef\xbb\xbf\n\xef\xbb\xbf"
                                 "b"}) {
    const std::string text = mark + rest;
    const auto path = dir.write("text", text);
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      INFO(rest << " cut at " << cut);
      TextLines lines = read_text_part(path, 0, cut, text.size());
      append(lines, read_text_part(path, cut, text.size(), text.size()));
      CHECK(lines == lines_of(rest));
    }
    auto whole = required(TextInput::open_whole(path));
    CHECK(read_lines(std::move(*whole)) == lines_of(rest));
  }
}

TEST_CASE("lines longer than a read, across reads and beyond a part's end are read whole") {
  const TempDir dir;
  std::mt19937 random(2);
  std::string text;
  for (const size_t size :
       {size_t{3} << 20, size_t{1}, (size_t{1} << 20) - 3, size_t{0}, size_t{5000}, size_t{1} << 20}) {
    text += std::string(size, static_cast<char>('a' + random() % 26)) + "\n";
  }
  text += std::string(10000, 'z');
  const auto path = dir.write("text", text);
  const TextLines wanted = lines_of(text);
  for (int round = 0; round < 40; ++round) {
    const uint64_t first = random() % text.size();
    const uint64_t second = first + random() % (text.size() - first);
    TextLines lines = read_text_part(path, 0, first, text.size());
    append(lines, read_text_part(path, first, second, text.size()));
    append(lines, read_text_part(path, second, text.size(), text.size()));
    INFO(first << " " << second);
    REQUIRE(lines == wanted);
  }
}

TEST_CASE("a file with another size than planned is an error with both sizes") {
  const TempDir dir;
  const auto path = dir.write("text", "one\ntwo\nthree");
  CHECK_THROWS_WITH(read_text_part(path, 0, 7, 12),
                    Catch::Contains("had 12 bytes when the job was planned and has 13 now"));
  // The file grows or shrinks after it was opened.
  auto grown = required(TextInput::open_part(path, 9, 13, 13));
  std::ofstream(path, std::ios::app) << " and more";
  CHECK_THROWS_WITH(read_lines(std::move(*grown)), Catch::Contains("has 22 now"));
  auto shrunk = required(TextInput::open_part(path, 0, 22, 22));
  std::filesystem::resize_file(path, 5);
  CHECK_THROWS_WITH(read_lines(std::move(*shrunk)),
                    Catch::Contains("had 22 bytes when the job was planned and has 5 now"));
}

TEST_CASE("a path names a file, the files of a folder, or the matches of a pattern") {
  const TempDir dir;
  for (const char* name : {"b.txt", "a.txt", "_SUCCESS", ".hidden", "c.dat", "sub/d.txt"}) dir.write(name, "x");
  const auto names = [&](const std::string& path) {
    const auto files = find_input_files(dir.path() / path);
    TextLines out;
    if (!files) return TextLines{"error: " + files.error().message.substr(dir.path().string().size())};
    for (const InputFile& file : *files) out.push_back(std::filesystem::path(file.path).filename());
    return out;
  };
  CHECK(names("") == TextLines{"a.txt", "b.txt", "c.dat"});
  CHECK(names("*.txt") == TextLines{"a.txt", "b.txt"});
  CHECK(names("?.[dt]*t") == TextLines{"a.txt", "b.txt", "c.dat"});
  CHECK(names("a.txt") == TextLines{"a.txt"});
  CHECK(names("*.csv") == TextLines{"error: /*.csv: no file matches"});
  CHECK(names("none") == TextLines{"error: /none: cannot open for reading: No such file or directory"});
  std::filesystem::create_directory(dir / "empty");
  CHECK(names("empty") == TextLines{"error: /empty: the folder has no files"});
}

TEST_CASE("patterns find files in nested folders and by choices, in order and each once") {
  const TempDir dir;
  for (const char* name : {"z.txt", "a/x.txt", "a/b/y.txt", "a/b/c/y.csv", "a/_b/no.txt", "a/.git/no.txt",
                           "a/b/_SUCCESS", "2023/1.txt", "2024/1.txt", "o{d}d.txt", "{x,y}"}) {
    dir.write(name, "x");
  }
  std::filesystem::create_directory_symlink("..", dir / "a/b/loop");
  std::filesystem::create_directory_symlink("a/b", dir / "link");
  const auto names = [&](const std::string& path) {
    const auto files = find_input_files(dir.path() / path);
    TextLines out;
    if (!files) return TextLines{"error: " + files.error().message.substr(dir.path().string().size())};
    for (const InputFile& file : *files) out.push_back(file.path.substr(dir.path().string().size() + 1));
    return out;
  };
  CHECK(names("**/*.txt") == TextLines{"2023/1.txt", "2024/1.txt", "a/b/y.txt", "a/x.txt", "o{d}d.txt", "z.txt"});
  CHECK(names("**") ==
        TextLines{"2023/1.txt", "2024/1.txt", "a/b/c/y.csv", "a/b/y.txt", "a/x.txt", "o{d}d.txt", "z.txt", "{x,y}"});
  CHECK(names("a/**") == TextLines{"a/b/c/y.csv", "a/b/y.txt", "a/x.txt"});
  CHECK(names("**/b/**/y.*") == TextLines{"a/b/c/y.csv", "a/b/y.txt"});
  CHECK(names("**/**/y.txt") == TextLines{"a/b/y.txt"});
  CHECK(names("link/*.txt") == TextLines{"link/y.txt"});
  CHECK(names("a/_*/*") == TextLines{"a/_b/no.txt"});
  CHECK(names("a/b/*") == TextLines{"a/b/y.txt"});
  CHECK(names("{2024,2023}/*.txt") == TextLines{"2023/1.txt", "2024/1.txt"});
  CHECK(names("{a/{x,b/y},z,*}.txt") == TextLines{"a/b/y.txt", "a/x.txt", "o{d}d.txt", "z.txt"});
  CHECK(names("{2023,a/b}") == TextLines{"2023/1.txt", "a/b/y.txt"});
  CHECK(names("**/*.{csv,tsv}") == TextLines{"a/b/c/y.csv"});
  CHECK(names("o{d}d.txt") == TextLines{"o{d}d.txt"});
  CHECK(names("{x,y}") == TextLines{"{x,y}"});
  CHECK(names("{z,none}.txt") == TextLines{"error: /none.txt: cannot open for reading: No such file or directory"});
  CHECK(names("**/*.{a,b}") == TextLines{"error: /**/*.{a,b}: no file matches"});
  CHECK(names("none/**") == TextLines{"error: /none/**: no file matches"});
  std::string many = "x";
  for (int i = 0; i < 14; ++i) many += "{1,2}";
  CHECK(names(many) == TextLines{"error: /" + many + ": the braces expand to more than 10000 names"});
}
