#include "host/cluster/job.hpp"

#include <sys/stat.h>

#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

namespace fs = std::filesystem;

/// A temporary folder whose paths are strings.
struct Folder : TempDir {
  std::string write(const std::string& name, const std::string& text) const { return TempDir::write(name, text); }
  std::string at(const std::string& name) const { return *this / name; }
};

std::string error_of(const Result<SourceText>& found, Code code = Code::bad_argument) {
  if (found.ok()) return "found " + found->chunk;
  CHECK(found.error().code == code);
  return found.error().message;
}

}  // namespace

TEST_CASE("a source's hash distinguishes texts and is never 0") {
  CHECK(source_hash("a") == source_hash("a"));
  CHECK(source_hash("a") != source_hash("b"));
  CHECK(source_hash("") != 0);
}

TEST_CASE("a script is opened with its name, text, hash and folder") {
  const Folder folder;
  JobSource job;
  CHECK_FALSE(job.has_script());
  CHECK(job.hash() == 0);
  REQUIRE(job.open(folder.write("sub/job.lua", "return 1\r\n")).ok());
  CHECK(job.name() == "job.lua");
  CHECK(job.text() == "return 1\r\n");
  CHECK(job.hash() == source_hash(job.text()));
  CHECK(job.folder() == folder.at("sub"));
}

TEST_CASE("an empty script is a script") {
  const Folder folder;
  JobSource job;
  REQUIRE(job.open(folder.write("job.lua", "")).ok());
  CHECK(job.has_script());
  CHECK(job.hash() != 0);
}

TEST_CASE("the error of an unreadable script names its path") {
  const Folder folder;
  JobSource job;
  const auto missing = job.open(folder.at("nothing.lua"));
  CHECK(failure_of(missing).code == Code::bad_argument);
  CHECK_THAT(failure_of(missing).message, Contains("nothing.lua") && Contains("No such file"));
  folder.write("sub/x.lua", "");
  CHECK_THAT(job.open(folder.at("sub")).error().message, Contains("is a folder"));
}

TEST_CASE("a module is a regular file of at most 16 MiB, for this machine and for another") {
  const Folder folder;
  JobSource job;
  REQUIRE(job.open(folder.write("job.lua", "")).ok());
  REQUIRE(mkfifo(folder.at("pipe.lua").c_str(), 0600) == 0);
  fs::create_symlink(folder.at("pipe.lua"), folder.at("link.lua"));
  fs::create_symlink("/dev/zero", folder.at("zero.lua"));
  fs::create_directory(folder.at("folder.lua"));
  folder.write("most.lua", "");
  fs::resize_file(folder.at("most.lua"), size_t{16} << 20);
  folder.write("large.lua", "");
  fs::resize_file(folder.at("large.lua"), size_t{3} << 30);
  CHECK(job.find_here("most")->text.size() == size_t{16} << 20);
  const std::pair<const char*, const char*> wrong[] = {{"pipe", "is a pipe or a device, not a Lua file"},
                                                       {"link", "is a pipe or a device, not a Lua file"},
                                                       {"zero", "is a pipe or a device, not a Lua file"},
                                                       {"folder", "is a folder, not a Lua file"},
                                                       {"large", "has more than 16 MiB"}};
  for (const auto& [name, message] : wrong) {
    for (const std::string& name_or_file : {std::string(name), name + std::string(".lua")}) {
      CAPTURE(name_or_file);
      const std::string here = error_of(job.find_here(name_or_file), Code::refused);
      CHECK_THAT(here, Contains(message) && Contains(folder.at(std::string(name) + ".lua")));
      if (std::string(name) != "zero") CHECK(error_of(job.find_to_send(name_or_file), Code::refused) == here);
    }
  }
  // A link to outside is never sent.
  CHECK_THAT(error_of(job.find_to_send("zero"), Code::refused), Contains("outside of the script's folder"));
}

TEST_CASE("a script may be a pipe, as of a shell's <(...), and has a bound") {
  const Folder folder;
  REQUIRE(mkfifo(folder.at("pipe").c_str(), 0600) == 0);
  const std::string text = "return 1 --" + std::string(100'000, 'x');
  std::thread writer([&] { std::ofstream(folder.at("pipe")) << text; });
  JobSource job;
  CHECK(job.open(folder.at("pipe")).ok());
  writer.join();
  CHECK(job.text() == text);
  const Status endless = job.open("/dev/zero");
  CHECK(failure_of(endless).code == Code::bad_argument);
  CHECK_THAT(failure_of(endless).message, Contains("has more than 16 MiB"));
}

TEST_CASE("modules are found beside the script") {
  const Folder folder;
  JobSource job;
  REQUIRE(job.open(folder.write("job.lua", "")).ok());
  folder.write("rules.lua", "one");
  folder.write("a/b.lua", "two");
  folder.write("a/c/init.lua", "three");
  folder.write("a/b/init.lua", "shadowed");
  CHECK(job.find_here("rules")->text == "one");
  CHECK(job.find_here("rules")->chunk == "rules.lua");
  CHECK(job.find_here("a.b")->text == "two");
  CHECK(job.find_here("a.b")->chunk == "a/b.lua");
  CHECK(job.find_here("a.c")->text == "three");
  CHECK(job.find_here("a.c")->chunk == "a/c/init.lua");
  CHECK(job.find_here("a/b.lua")->text == "two");
  CHECK(job.find_here("a/b.lua")->chunk == "a/b.lua");
}

TEST_CASE("the error of a missing module names every tried file") {
  const Folder folder;
  JobSource job;
  REQUIRE(job.open(folder.write("job.lua", "")).ok());
  const std::string error = error_of(job.find_here("a.b"));
  CHECK_THAT(error, Contains("module 'a.b' not found"));
  CHECK_THAT(error, Contains(folder.at("a/b.lua")) && Contains(folder.at("a/b/init.lua")));
}

TEST_CASE("no file outside the script's folder can be read") {
  const Folder folder;
  const std::string secret = folder.write("secret.lua", "secret");
  folder.write("job/key.pem", "secret");
  JobSource job;
  REQUIRE(job.open(folder.write("job/job.lua", "")).ok());
  for (const std::string& name :
       {std::string(".."), std::string("..secret"), std::string("...secret"), std::string("a..b"), std::string(".a"),
        std::string("a."), std::string("/etc/passwd"), std::string("../secret"), std::string(""), std::string("a/b"),
        std::string("a\\b"), std::string("secret\0", 7)}) {
    INFO(name);
    CHECK_THAT(error_of(job.find_here(name)), Contains("is not a module name"));
  }
  for (const std::string& name : {std::string("../secret.lua"), std::string("x/../../secret.lua"), secret,
                                  std::string("key.pem\0.lua", 12), std::string("../job/../secret.lua")}) {
    INFO(name);
    CHECK_THAT(error_of(job.find_here(name)), Contains("is not below the script's folder"));
  }
  CHECK_FALSE(job.find_here("key.pem").ok());
}

TEST_CASE("neither a link to outside nor a hidden file is sent; both serve this machine") {
  const Folder folder;
  const std::string secret = folder.write("secret.lua", "secret");
  folder.write("elsewhere/m.lua", "elsewhere");
  JobSource job;
  REQUIRE(job.open(folder.write("job/job.lua", "")).ok());
  folder.write("job/rules.lua", "rules");
  folder.write("job/.hidden.lua", "hidden");
  folder.write("job/.git/x.lua", "hidden");
  fs::create_symlink(secret, folder.at("job/linked.lua"));
  fs::create_symlink(folder.at("elsewhere"), folder.at("job/lib"));
  fs::create_symlink(folder.at("job/rules.lua"), folder.at("job/inside.lua"));
  fs::create_symlink(folder.at("job/.hidden.lua"), folder.at("job/seen.lua"));
  for (const char* name : {"linked", "linked.lua", "lib.m", "lib/m.lua"}) {
    INFO(name);
    CHECK(job.find_here(name).ok());
    CHECK_THAT(error_of(job.find_to_send(name), Code::refused),
               Contains("is a link to outside of the script's folder"));
  }
  for (const char* name : {".hidden.lua", ".git/x.lua", "seen.lua"}) {
    INFO(name);
    CHECK(job.find_here(name).ok());
    CHECK_THAT(error_of(job.find_to_send(name), Code::refused), Contains("is a hidden file"));
  }
  CHECK(job.find_to_send("rules")->text == "rules");
  CHECK(job.find_to_send("inside")->chunk == "inside.lua");
  CHECK_THAT(error_of(job.find_to_send("gone.lua")), Contains("No such file"));
  job.add_rule_file(folder.at("job/linked.lua"));
  CHECK(job.find_to_send(folder.at("job/linked.lua"))->text == "secret");
}

TEST_CASE("a script that is a link has the files beside the link") {
  const Folder folder;
  fs::create_directories(folder.at("job"));
  fs::create_symlink(folder.write("real/job.lua", "linked"), folder.at("job/job.lua"));
  folder.write("job/m.lua", "beside");
  JobSource job;
  REQUIRE(job.open(folder.at("job/job.lua")).ok());
  CHECK(job.find_to_send("m")->text == "beside");
}

TEST_CASE("the barrier file may be anywhere, but only under its given name") {
  const Folder folder;
  const std::string rules = folder.write("elsewhere/rules.lua", "rule");
  const std::string other = folder.write("elsewhere/other.lua", "other");
  JobSource job;
  REQUIRE(job.open(folder.write("job/job.lua", "")).ok());
  CHECK_FALSE(job.find_here(rules).ok());
  job.add_rule_file(rules);
  CHECK(job.find_here(rules)->text == "rule");
  CHECK(job.find_here(rules)->chunk == "rules.lua");
  CHECK_FALSE(job.find_here(other).ok());
}

TEST_CASE("a script from the network has no files beside it") {
  const Folder folder;
  JobSource job;
  job.receive("job.lua", "return 2");
  CHECK(job.has_script());
  CHECK(job.text() == "return 2");
  CHECK(job.folder().empty());
  CHECK_THAT(error_of(job.find_here("rules")), Contains("not on this machine"));
  // Files in the agent's working folder do not belong to the job.
  const fs::path before = fs::current_path();
  folder.write("rules.lua", "stray");
  fs::current_path(folder.at("."));
  const std::string found = error_of(job.find_here("rules.lua"));
  fs::current_path(before);
  CHECK_THAT(found, Contains("not on this machine"));
}
