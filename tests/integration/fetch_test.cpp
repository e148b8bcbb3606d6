// data.fetch, data.mnist { fetch = true } and actorhost fetch, against a web server of the test.

#include <sodium.h>

#include "host/data/file/packed_writer.hpp"
#include "tests/integration/http_server.hpp"
#include "tests/integration/images.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

namespace fs = std::filesystem;

std::string sum_of(const std::string& bytes) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> sum{};
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text{};
  crypto_hash_sha256(sum.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  sodium_bin2hex(text.data(), text.size(), sum.data(), sum.size());
  return text.data();
}

/// A job's folder with a cache of its own.
class CacheFolder : public JobFolder {
 public:
  CacheFolder() { set("XDG_CACHE_HOME", (path() / "cache").string()); }
  /// The names of the files in the cache.
  std::vector<std::string> cached() const {
    std::vector<std::string> names;
    if (!fs::exists(path() / "cache")) return names;
    for (const auto& entry : fs::recursive_directory_iterator(path() / "cache")) {
      if (!entry.is_directory()) names.push_back(entry.path().filename());
    }
    return names;
  }
};

constexpr const char* kFetchJob = "jobs/fetch.lua";

}  // namespace

TEST_CASE("nodes and processes that fetch a file at once download it once, and later runs find it") {
  const CacheFolder folder;
  const HttpServer server({{"/set/a.txt", {200, {}, "some bytes"}}});
  const std::string url = server.url() + "/set/a.txt";
  const Words words = {"-n", "4", "--print", "all", kFetchJob, "content", url, sum_of("some bytes")};
  Process one = folder.start(words);
  Process two = folder.start(words);
  const Ended both({one, two}, 30);
  CHECK(count_of(both.out, "/a.txt has some bytes\n") == 8);
  CHECK(count_of(both.out, (folder.path() / "cache/actorhost/files/").string()) == 8);
  const Ended later(folder.run(words));
  CHECK(server.requests() == 1);
  CHECK(folder.cached() == std::vector<std::string>{"a.txt"});
}

TEST_CASE("a wrong sum is an error with both sums, and the cache keeps nothing") {
  const CacheFolder folder;
  const HttpServer server({{"/a", {200, {}, "some bytes"}}});
  const std::string expected(64, 'A');
  const Ended run(folder.run({kFetchJob, "content", server.url() + "/a", expected}), 1);
  CHECK_THAT(run.err, Contains("/a: the SHA-256 sum of the content is " + sum_of("some bytes") + ", expected " +
                               std::string(64, 'a')));
  CHECK(folder.cached().empty());
}

TEST_CASE("a stored file with another sum than the expected is fetched again") {
  const CacheFolder folder;
  const HttpServer server({{"/a", {200, {}, "new bytes"}}});
  const std::string url = server.url() + "/a";
  const Ended first(folder.run({"-n", "1", kFetchJob, "content", url}));
  const std::string path = first.out.substr(0, first.out.find(" has "));
  std::ofstream(path) << "old bytes";
  const Ended unchecked(folder.run({"-n", "1", kFetchJob, "content", url}));
  CHECK(unchecked.out == path + " has old bytes\n");
  const Ended checked(folder.run({"-n", "1", kFetchJob, "content", url, sum_of("new bytes")}));
  CHECK(checked.out == path + " has new bytes\n");
  CHECK(server.requests() == 2);
}

TEST_CASE("a download continues after a lost connection") {
  const CacheFolder folder;
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes += std::to_string(i) + " ";
  HttpServer::Response response{200, {}, bytes};
  response.lost_after = 300'000;
  const HttpServer server({{"/a", response}});
  const Ended run(folder.run({"-n", "1", kFetchJob, "content", server.url() + "/a", sum_of(bytes)}));
  CHECK(server.requests() == 2);
  CHECK(folder.cached() == std::vector<std::string>{"a"});
}

TEST_CASE("a failed download is an error with the URL, and the cache keeps nothing") {
  const CacheFolder folder;
  HttpServer::Response cut{200, {}, "short"};
  cut.claimed = 100000;
  const HttpServer server({{"/cut", cut}, {"/silent", {.silent = true}}, {"/no", {403, {}, "no"}}});
  const FreePort unused;
  const std::string at = server.url();
  const Ended run(folder.run({"-n", "1", kFetchJob, "errors", at + "/none", at + "/cut", at + "/silent", at + "/no",
                              "http://user:word@" + unused.endpoint() + "/x", "file:///no/such"}));
  CHECK_THAT(run.out, Contains("/none: the server replied 404") && Contains("/cut, byte 5: cannot be") &&
                          Contains("/silent: cannot be fetched: ") && Contains("/no: the server replied 403") &&
                          Contains(unused.endpoint() + "/x: cannot be fetched: ") &&
                          Contains("/no/such: cannot open for reading"));
  CHECK(run.out.find("word@") == std::string::npos);
  CHECK(folder.cached().empty());
}

TEST_CASE("a failed download removes its progress bar") {
  const CacheFolder folder;
  HttpServer::Response response{200, {}, std::string(400'000, 'x')};
  response.lost_after = 300'000;  // the bar appears in the pause before the second request
  const HttpServer server({{"/long", response}});
  const std::string command = "stty cols 80 rows 24; exec " + shell_word(actorhost_binary()) +
                              " -n 1 --log-level warn jobs/fetch.lua wrong_sum " + server.url() + "/long";
  const Ended run(run_program("script", {"-qec", command, "/dev/null"}, 20, folder.options()));
  CHECK_THAT(run.out, Contains("long [") && Contains(": the SHA-256 sum of the content is"));
  CHECK(run.out.rfind("long [") < run.out.find(": the SHA-256 sum"));
}

TEST_CASE("a busy server is asked again") {
  const CacheFolder folder;
  HttpServer::Response busy{200, {}, "at last"};
  busy.busy = 2;
  const HttpServer server({{"/a", busy}});
  const Ended run(folder.run({"-n", "1", kFetchJob, "content", server.url() + "/a"}));
  CHECK_THAT(run.out, Contains("a has at last"));
  CHECK(server.requests() == 3);
}

TEST_CASE("a cache folder that cannot be made is an error that names it and the variable") {
  CacheFolder folder;
  folder.write("file", "");
  folder.set("XDG_CACHE_HOME", (folder.path() / "file").string());
  const HttpServer server({{"/a", {200, {}, "some bytes"}}});
  const Ended run(folder.run({"-n", "1", kFetchJob, "errors", server.url() + "/a"}));
  CHECK_THAT(run.out, Contains("file/actorhost") && Contains("XDG_CACHE_HOME names another folder"));
  folder.set("XDG_CACHE_HOME", "relative");
  folder.set("HOME", (folder.path() / "home").string());
  const Ended home(folder.run({"-n", "1", kFetchJob, "content", server.url() + "/a"}));
  CHECK_THAT(home.out, Catch::StartsWith((folder.path() / "home/.cache/actorhost/files/").string()));
}

TEST_CASE("a file URL is its own path") {
  const CacheFolder folder;
  const std::string path = folder.write("a.txt", "local").string();
  const Ended run(folder.run({"-n", "1", kFetchJob, "content", "file://" + path, sum_of("local")}));
  CHECK(run.out == path + " has local\n");
  const Ended wrong(folder.run({"-n", "1", kFetchJob, "content", "file://" + path, sum_of("other")}), 1);
  CHECK_THAT(wrong.err, Contains("is " + sum_of("local") + ", expected " + sum_of("other")));
}

TEST_CASE("wrong arguments of data.fetch are errors at the line of the user") {
  const Ended run(CacheFolder().run({"-n", "1", kFetchJob, "wrong_arguments"}));
}

TEST_CASE("data.mnist fetches missing files from a mirror, and verifies their unpacked content") {
  const CacheFolder folder;
  write_images(folder.path() / "images", 60, 20);
  std::map<std::string, HttpServer::Response> files;
  std::map<std::string, std::string> sums;
  for (const auto& entry : fs::directory_iterator(folder.path() / "images")) {
    const std::string name = entry.path().filename();
    const std::string bytes = read_text(entry.path());
    const fs::path packed = folder.path() / "packed";
    const auto writer = required(PackedWriter::open(packed, FilePacking::gzip));
    REQUIRE((*writer)->write(bytes));
    REQUIRE((*writer)->close());
    files["/mnist/" + name + ".gz"] = {200, {}, read_text(packed)};
    sums[name] = sum_of(bytes);
  }
  const HttpServer server(files);
  const std::string mirror = server.url() + "/mnist";
  const Ended real(folder.run({kFetchJob, "mnist", mirror}), 1);
  CHECK_THAT(real.err, Contains("data.mnist: MNIST cannot be fetched:\n  " + mirror +
                                "/t10k-images-idx3-ubyte.gz: "
                                "the SHA-256 sum of the unpacked content is " +
                                sums["t10k-images-idx3-ubyte"] +
                                ", expected 0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"));
  CHECK(folder.cached().empty());
  const Words words = {"-n",
                       "3",
                       "--print",
                       "all",
                       kFetchJob,
                       "mnist",
                       mirror,
                       sums["train-images-idx3-ubyte"],
                       sums["train-labels-idx1-ubyte"]};
  const int before = server.requests();
  const Ended first(folder.run(words));
  const Ended second(folder.run(words));
  CHECK(count_of(second.out, "a set in MNIST's form from " + (folder.path() / "cache").string()) == 3);
  CHECK(count_of(second.out, "\t60\t20\n") == 3);
  CHECK(server.requests() - before == 4);
}

TEST_CASE("without MNIST, one line of the log names the files, the places of the search and the remedy") {
  const CacheFolder folder;
  folder.write("job.lua", "print(require('actor').data.mnist { train = 10, test = 5 }.source)");
  // The program searches beside itself: its copy is where no MNIST is near.
  const fs::path program = folder.path() / "program";
  fs::copy_file(actorhost_binary(), program);
  const Ended run(run_program(program, {"-n", "3", "job.lua"}, 30, folder.options()));
  CHECK(count_of(run.err, "data.mnist: no MNIST is here, so the digits are synthetic") == 1);
  CHECK_THAT(run.err, Contains("train-images-idx3-ubyte") && Contains("t10k-labels-idx1-ubyte") &&
                          Contains((folder.path() / "cache/actorhost/mnist").string()) &&
                          Contains("'actorhost fetch mnist'") && Contains("ACTORHOST_MNIST=FOLDER") &&
                          Contains("data.mnist { fetch = true }"));
  CHECK_THAT(run.out, Contains("synthetic digits of seed 1 ('actorhost fetch mnist' gets the real MNIST)\n"));
}

TEST_CASE("ACTORHOST_MNIST names the folder of MNIST, which must have the files") {
  CacheFolder folder;
  write_images(folder.path() / "images", 60, 20);
  folder.write("job.lua", "local set = require('actor').data.mnist() print(set.source, set.train.n)");
  folder.set("ACTORHOST_MNIST", (folder.path() / "images").string());
  const Ended run(folder.run({"-n", "1", "job.lua"}));
  CHECK(run.out == "MNIST from " + (folder.path() / "images").string() + "\t60\n");
  folder.set("ACTORHOST_MNIST", "nowhere");
  const Ended none(folder.run({"-n", "1", "job.lua"}), 1);
  CHECK_THAT(none.err, Contains("nowhere: no file train-images-idx3-ubyte"));
}

TEST_CASE("actorhost fetch stores a file and prints its path", "[deep]") {
  const CacheFolder folder;
  const HttpServer server({{"/a", {200, {}, "some bytes"}}});
  const Ended run(folder.run({"fetch", server.url() + "/a", "--sha256", sum_of("some bytes")}));
  CHECK(read_text(run.out.substr(0, run.out.size() - 1)) == "some bytes");
  const Ended none(folder.run({"fetch", server.url() + "/b"}), 1);
  CHECK_THAT(none.err, Catch::StartsWith("actorhost fetch: ") && Contains("/b: the server replied 404"));
  const Ended mirror(folder.run({"fetch", "mnist", "--mirror", server.url()}), 1);
  CHECK_THAT(mirror.err, Catch::StartsWith("actorhost fetch: MNIST cannot be fetched:\n  ") &&
                             Contains("/t10k-images-idx3-ubyte.gz: the server replied 404"));
  const auto [word, message] = GENERATE(table<Words, std::string>({
      {Words{}, "mnist or a URL"},
      {{"mnist", "more"}, "it takes one word, got 'more' too"},
      {{"mnist", "--sha256", "1"}, "--sha256 is for a URL"},
      {{"http://x/y", "--mirror", "ossci"}, "--mirror is for mnist"},
  }));
  const Ended misused(folder.run(with({"fetch"}, word)), 2);
  CHECK_THAT(misused.err, Contains(message) && Contains("run 'actorhost fetch --help'"));
}
