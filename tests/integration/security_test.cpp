// Protection from other users: they must not read the token of a run, nor control the terminal that shows its errors.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

TEST_CASE("the token of isolated processes is neither in their environment nor in their command line") {
  const FreePort port;
  const Ended run(JobFolder().run({"-n", "2", "--isolate", "--rdzv-endpoint", port.endpoint(), "jobs/security.lua",
                                   "token_of_isolated_processes_is_neither"}));
  CHECK(count_of(run.err, "a child: true, its token is there: false") == 2);
}

TEST_CASE("an error of another host cannot send control sequences to the terminal or begin a new line") {
  const JobFolder folder;
  Hosts hosts(folder, 2, {"-n", "1", "jobs/security.lua", "error_of_another_host_cannot_send"});
  const auto codes = hosts.wait(20);
  INFO(hosts.describe());
  CHECK(codes == std::vector<int>{1, 1});
  CHECK_THAT(hosts[0].err(), Contains("stopped, because rank 1: boom\\x1b[2J\\x0d[12:00:00.000 info] all is well\n"));
  CHECK_THAT(hosts[0].err(), Contains("rank 0: log\\x1b[2J\\nline\n"));
  CHECK(hosts.err().find('\x1b') == std::string::npos);
  CHECK(hosts.err().find('\r') == std::string::npos);
}
