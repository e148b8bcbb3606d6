#include "host/net/token_file.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/net/handshake.hpp"
#include "tests/host/data/scratch.hpp"
#include "tests/test.hpp"

namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777U;
}

std::string secret_file(const Scratch& scratch, const std::string& text, mode_t mode = 0600) {
  const std::filesystem::path path = scratch.file("token", text);
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path.string();
}

}  // namespace

TEST_CASE("the first use creates a token, which then stays the same") {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "config" / "actorhost" / "token";
  const auto first = required(read_or_make_token(path.string()));
  CHECK(first->size() == 64);
  CHECK(first->find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(path.parent_path()) == 0700);
  CHECK(*read_or_make_token(path.string()) == *first);
  CHECK(*read_token(path.string()) == *first);
  // No other file is left behind.
  const auto files = std::filesystem::directory_iterator(path.parent_path());
  CHECK(std::distance(begin(files), end(files)) == 1);
  CHECK(*read_or_make_token((scratch / "another").string()) != *first);
}

TEST_CASE("threads that start together get the same token") {
  for (int round = 0; round < 20; ++round) {
    const Scratch scratch;
    const std::string path = (scratch / "config" / "token").string();
    std::vector<std::string> tokens(8);
    std::vector<std::thread> threads;
    for (std::string& token : tokens) {
      threads.emplace_back([&token, &path] {
        auto made = read_or_make_token(path);
        token = made ? *made : made.error().message;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(std::set<std::string>(tokens.begin(), tokens.end()).size() == 1);
    CHECK(tokens.front().size() == 64);
  }
}

TEST_CASE("processes that start together get the same token") {
  const Scratch scratch;
  const std::string path = (scratch / "config" / "token").string();
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto token = read_or_make_token(path);
      const std::string mine = path + "." + std::to_string(i);
      FILE* out = std::fopen(mine.c_str(), "w");
      if (!token || out == nullptr) ::_exit(1);
      std::fputs(token->c_str(), out);
      std::fclose(out);
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  for (int i = 0; i < 8; ++i) CHECK(actorhost::slurp(path + "." + std::to_string(i)) == *read_token(path));
}

TEST_CASE("white space around a token does not count") {
  const Scratch scratch;
  CHECK(*read_token(secret_file(scratch, "\n 0123456789abcdef \r\n")) == "0123456789abcdef");
  CHECK(*read_token(secret_file(scratch, "0123456789 abcdef", 0400)) == "0123456789 abcdef");
}

TEST_CASE("a file that others can read is refused with the command that fixes it") {
  const Scratch scratch;
  for (const mode_t mode : {0644U, 0640U, 0604U, 0620U, 0666U}) {
    const std::string path = secret_file(scratch, "0123456789abcdef", mode);
    const auto token = read_or_make_token(path);
    REQUIRE(!token.ok());
    CHECK(token.error().code == Code::refused);
    CHECK_THAT(token.error().message, Catch::Contains("run: chmod 600 " + path));
  }
}

TEST_CASE("an invalid token file is refused with the reason") {
  const Scratch scratch;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "it is empty"},
      {" \n\n", "it is empty"},
      {"short\n", "a token of 5 characters is too short"},
      {std::string(5000, 'x'), "longer than a token may be"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto token = read_or_make_token(secret_file(scratch, text));
    REQUIRE(!token.ok());
    CHECK(token.error().code == Code::refused);
    CHECK_THAT(token.error().message, Catch::Contains(wanted) && Catch::Contains((scratch / "token").string()));
  }
  const auto directory = read_token(scratch.path().string());
  REQUIRE(!directory.ok());
  CHECK_THAT(directory.error().message, Catch::Contains("it is no regular file"));
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(read_token((scratch / "pipe").string()).error().message, Catch::Contains("it is no regular file"));
}

TEST_CASE("the error for a token file that cannot be read or created names the cause") {
  const Scratch scratch;
  const auto missing = read_token((scratch / "missing").string());
  REQUIRE(!missing.ok());
  CHECK(missing.error().code == Code::io);
  CHECK_THAT(missing.error().message, Catch::Contains("missing") && Catch::Contains("No such file"));

  const std::string below_a_file = secret_file(scratch, "0123456789abcdef") + "/token";
  const auto made = read_or_make_token(below_a_file);
  REQUIRE(!made.ok());
  CHECK(made.error().code == Code::io);
  CHECK_THAT(made.error().message, Catch::Contains(below_a_file));

  std::filesystem::create_symlink(scratch / "nowhere", scratch / "dangling");
  CHECK(!read_or_make_token((scratch / "dangling").string()).ok());
  CHECK(!std::filesystem::exists(scratch / "nowhere"));
}

TEST_CASE("the default place follows the environment") {
  CHECK(*default_token_path("/cfg", "/home/u") == "/cfg/actorhost/token");
  CHECK(*default_token_path("", "/home/u") == "/home/u/.config/actorhost/token");
  CHECK(*default_token_path("relative", "/home/u") == "/home/u/.config/actorhost/token");
  const auto none = default_token_path("", "");
  REQUIRE(!none.ok());
  CHECK_THAT(none.error().message, Catch::Contains("--token-file"));
}

TEST_CASE("the reading token is stored beside the token, with its mode, and changes with it") {
  const Scratch scratch;
  const std::string path = (scratch / "config" / "token").string();
  const auto token = required(read_or_make_token(path));
  REQUIRE(store_reading_token(path, *token).ok());
  const std::string beside = reading_token_path(path);
  CHECK(beside == path + ".read");
  CHECK(mode_of(beside) == 0600);
  CHECK(*read_token(beside) == reading_token(*token));
  CHECK(*read_reading_token(path) == reading_token(*token));
  CHECK(*read_reading_token(beside) == reading_token(*token));
  REQUIRE(store_reading_token(path, *token).ok());
  REQUIRE(store_reading_token(path, "another token of many characters").ok());
  CHECK(*read_token(beside) == reading_token("another token of many characters"));
  CHECK(mode_of(beside) == 0600);
  // No other file is left behind.
  const auto files = std::filesystem::directory_iterator(std::filesystem::path(path).parent_path());
  CHECK(std::distance(begin(files), end(files)) == 2);
  REQUIRE(std::filesystem::remove(path));
  CHECK(*read_reading_token(path) == reading_token("another token of many characters"));
  REQUIRE(std::filesystem::remove(beside));
  CHECK(read_reading_token(path).error().message.find(path + ": cannot be opened") != std::string::npos);
}

TEST_CASE("a user's file in place of the reading token is kept and reported") {
  const Scratch scratch;
  const std::string path = (scratch / "token").string();
  const auto token = required(read_or_make_token(path));
  const auto message = [&] { return store_reading_token(path, *token).error().message; };
  const std::string beside = scratch.file("token.read", "a secret of the user's own").string();
  REQUIRE(::chmod(beside.c_str(), 0644) == 0);
  CHECK(message().find("chmod 600") != std::string::npos);
  REQUIRE(::chmod(beside.c_str(), 0600) == 0);
  CHECK(message().find("it holds no reading token") != std::string::npos);
  CHECK(*read_token(beside) == "a secret of the user's own");
  REQUIRE(std::filesystem::remove(beside));
  std::filesystem::create_symlink(scratch / "nowhere", beside);
  CHECK(message().find("cannot be opened") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(scratch / "nowhere"));
}
