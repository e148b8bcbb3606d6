// What others must not get at: the token of a run, and the terminal of whoever reads its errors.

#include <catch2/catch.hpp>

#include "tests/integration/jobs.hpp"

using namespace actorhost;
using namespace actorhost::test;
using Catch::Contains;

TEST_CASE("the token of isolated processes is neither in their environment nor in their command line") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
local function text_of(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end
local token = text_of("config/actorhost/token"):match("%S+")
local seen = text_of("/proc/self/environ") .. text_of("/proc/self/cmdline")
actor.log.info("a child: %s, its token is there: %s", seen:find("ACTORHOST_CHILD", 1, true) ~= nil,
  seen:find(token, 1, true) ~= nil)
)");
  const FreePort port;
  const Finished run = folder.run({"-n", "2", "--isolate", "--rdzv-endpoint", port.endpoint(), "job.lua"});
  INFO(run.description);
  CHECK(run.status == 0);
  CHECK(count_of(run.err, "a child: true, its token is there: false") == 2);
}

TEST_CASE("an error of another host cannot send the terminal a command or begin a line of its own") {
  const JobFolder folder;
  folder.write("job.lua", R"(
local actor = require "actor"
actor.log.info("log\27[2J\nline")
if actor.rank == 1 then error("boom\27[2J\r[12:00:00.000 info] all is well", 0) end
actor.collective.barrier()
)");
  Hosts hosts(folder, 2, {"-n", "1", "job.lua"});
  const auto codes = hosts.wait(20);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>{1, 1});
  CHECK_THAT(hosts[0].err(), Contains("stopped, because rank 1: boom\\x1b[2J\\x0d[12:00:00.000 info] all is well\n"));
  CHECK_THAT(hosts[0].err(), Contains("rank 0: log\\x1b[2J\\nline\n"));
  CHECK(hosts.err().find('\x1b') == std::string::npos);
  CHECK(hosts.err().find('\r') == std::string::npos);
}
