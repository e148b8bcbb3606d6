// The installation of cmake --install, used from outside the tree: the program, and the package in a program that
// embeds it. The test moves the installation before it uses it.

#include <nlohmann/json.hpp>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Finished cmake(const JobFolder& folder, const Words& words) {
  ProcessOptions options = folder.options();
  options.env["CCACHE_BASEDIR"] = folder.path().string();  // the folder has a new name each time
  options.env["CCACHE_NOHASHDIR"] = "1";
  Finished done = run_program(ACTORHOST_CMAKE, words, 60, options);
  INFO(done.description);
  REQUIRE(done.status == 0);
  return done;
}

}  // namespace

TEST_CASE("the installation runs jobs and is embedded in a program outside the tree, also after a move", "[deep]") {
  const JobFolder folder;
  cmake(folder, {"--install", ACTORHOST_BUILD_DIR, "--prefix", (folder.path() / "first").string()});
  std::filesystem::rename(folder.path() / "first", folder.path() / "prefix");

  folder.write("elsewhere/hello.lua", read_text(source_dir() / "examples/hello.lua"));
  ProcessOptions elsewhere = folder.options();
  elsewhere.cwd = folder.path() / "elsewhere";
  const auto installed = folder.path() / "prefix/bin/actorhost";
  for (const Words& words : {Words{"-n", "2", "hello.lua"}, Words{"-n", "2", "--isolate", "hello.lua"}}) {
    const Ended hello(run_program(installed.string(), words, 20, elsewhere));
    CHECK_THAT(hello.out, Contains("hello from rank 0 of 2\n"));
  }

  for (const char* file : {"man/man1/actorhost.1.gz", "man/man1/actorhost-sim.1.gz", "zsh/site-functions/_actorhost",
                           "bash-completion/completions/actorhost", "fish/vendor_completions.d/actorhost.fish"}) {
    CHECK(std::filesystem::file_size(folder.path() / "prefix/share" / file) > 0);
  }

  const auto doc = folder.path() / "prefix/share/doc/actorhost";
  CHECK(read_text(doc / "LICENSE") == read_text(source_dir() / "LICENSE"));
  const Ended example(run_program(installed.string(), {"-n", "2", (doc / "examples/wordcount.lua").string()}, 20));
  CHECK_THAT(example.out, Contains(" different words\n"));
  const auto settings = nlohmann::json::parse(read_text(doc / "examples/.luarc.json"));
  const std::string library = settings.at("workspace.library").at(0);
  CHECK(read_text(doc / "examples" / library / "actor/param.lua") ==
        read_text(source_dir() / "stdlib/actor/param.lua"));
  const auto own = nlohmann::json::parse(read_text(source_dir() / ".luarc.json"));
  CHECK(
      std::filesystem::exists(source_dir() / own.at("workspace.library").at(0).get<std::string>() / "actor/init.lua"));

  std::filesystem::copy(source_dir() / "examples/embed", folder.path() / "embed");
  cmake(folder, {"-S", "embed", "-B", "embed/build", "-DCMAKE_PREFIX_PATH=" + (folder.path() / "prefix").string(),
                 "-DCMAKE_BUILD_TYPE=" ACTORHOST_BUILD_TYPE, "-DCMAKE_CXX_COMPILER=" ACTORHOST_CXX,
                 "-DCMAKE_C_COMPILER=" ACTORHOST_CC, "-DCMAKE_CXX_COMPILER_LAUNCHER=" ACTORHOST_LAUNCHER,
                 "-DCMAKE_CXX_FLAGS=" ACTORHOST_CXX_FLAGS});
  cmake(folder, {"--build", "embed/build"});
  const auto embed = [&](const std::string& job) {
    ProcessOptions options = folder.options();
    options.cwd = folder.path() / "embed";
    return run_program("build/embed", {job}, 30, options);
  };

  const Ended right(embed("job.lua"));
  CHECK(right.out == "6171 takes 261 steps\nC++ was called 9999 times\n");

  const Ended type(embed("../jobs/install_type.lua"), 1);
  CHECK_THAT(type.err,
             Contains("rank 1: install_type.lua:3: bad argument 1 to host.collatz: expected number, got string"));
  CHECK(type.out == "C++ was called 0 times\n");

  const Ended throws(embed("../jobs/install_throws.lua"), 1);
  CHECK_THAT(throws.out, Contains("false\t") && Contains("there is no Collatz sequence below 1"));
  CHECK_THAT(throws.err, Contains("rank 2: install_throws.lua:5: there is no Collatz sequence below 1"));
  CHECK_THAT(throws.out, Contains("C++ was called 5 times"));
}

TEST_CASE("the installation has a library for C, and a package for Python") {
  const JobFolder folder;
  const auto prefix = folder.path() / "prefix";
  cmake(folder, {"--install", ACTORHOST_BUILD_DIR, "--prefix", prefix.string()});
  folder.write("size.c", R"(#include <actorhost.h>
#include <stdio.h>

int main(void) {
  const char* flags[] = {"-n", "3"};
  ah_host* host = ah_host_new();
  if (ah_host_start(host, AH_CONSOLE, flags, 2) != AH_OK) return 1;
  ah_call* call = ah_call_new(host, "actor.size", "=size", NULL, 0);
  if (ah_call_wait(call, 60) != AH_OK) return 1;
  printf("%g nodes\n", ah_call_values(call, 2, NULL)->number);
  ah_call_free(call);
  ah_host_free(host);
  return 0;
}
)");
  std::filesystem::path library;
  for (const auto& file : std::filesystem::recursive_directory_iterator(prefix)) {
    if (file.path().filename() == "libactorhost.so") library = file.path();
  }
  REQUIRE(!library.empty());
  ProcessOptions options = folder.options();
  options.env["LD_LIBRARY_PATH"] = library.parent_path().string();
  Words command = {"-Wall",
                   "-Werror",
                   "size.c",
                   "-o",
                   "size",
                   "-I" + (prefix / "include/actorhost").string(),
                   "-L" + library.parent_path().string(),
                   "-lactorhost"};
  const std::string sanitizers = ACTORHOST_CXX_FLAGS;
  if (!sanitizers.empty()) command.push_back(sanitizers);
  const Ended compiled(run_program(ACTORHOST_CC, command, 60, options));
  const Ended ran(run_program("./size", {}, 60, options));
  CHECK(ran.out == "3 nodes\n");

  if (!sanitizers.empty() || !std::filesystem::exists("/usr/bin/python3")) return;  // Python is not instrumented
  options.env.erase("LD_LIBRARY_PATH");
  options.env["PYTHONPATH"] = (prefix / "lib/python3/dist-packages").string();
  options.env["PYTHONDONTWRITEBYTECODE"] = "1";
  const Ended python(run_program(
      "/usr/bin/python3", {"-c", "import actorhost\nwith actorhost.Cluster(n=2) as c: print(c.eval_all('actor.rank'))"},
      60, options));
  CHECK(python.out == "[0, 1]\n");
}
