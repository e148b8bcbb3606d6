#include "host/cluster/place/pmi_job.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.hpp"

namespace {

/// The requests to a launcher that gives these replies, one after the other, and then closes; and the job's name.
std::pair<std::string, std::string> requests_with(const std::vector<std::string>& replies) {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  std::string requests;
  std::thread launcher([&] {
    char bytes[256];
    for (const std::string& reply : replies) {
      const ssize_t got = ::recv(ends[1], bytes, sizeof bytes, 0);
      if (got <= 0) break;
      requests.append(bytes, static_cast<size_t>(got));
      ::send(ends[1], reply.data(), reply.size(), MSG_NOSIGNAL);
    }
    ::shutdown(ends[1], SHUT_RDWR);
  });
  const std::string job = query_pmi_job(ends[0]);
  ::shutdown(ends[0], SHUT_RDWR);
  launcher.join();
  ::close(ends[0]);
  ::close(ends[1]);
  return {job, requests};
}

}  // namespace

TEST_CASE("a launcher that implements PMI-1 returns the job's name on request") {
  const auto [job, requests] =
      requests_with({"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                     "cmd=my_kvsname kvsname=kvs_2400_0_1944870137_vm\n", "cmd=finalize_ack\n"});
  CHECK(job == "kvs_2400_0_1944870137_vm");
  CHECK(requests == "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\ncmd=finalize\n");
}

TEST_CASE("a launcher that replies otherwise or not at all names no job") {
  CHECK(requests_with({}).first.empty());
  CHECK(requests_with({"cmd=response_to_init pmi_version=2 rc=-1\n"}).first.empty());
  CHECK(requests_with({"45 cmd=fullinit-response;rc=0;\n"}).first.empty());
  CHECK(requests_with({"cmd=response_to_init rc=0\n", "cmd=unknown\n"}).first.empty());
  CHECK(requests_with({std::string(9000, 'x')}).first.empty());
  CHECK(query_pmi_job(-1).empty());
}
