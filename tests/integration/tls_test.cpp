// Runs over tls+tcp://, with certificates made for each test.

#include "tests/host/net/raw_socket.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

class TlsFolder : public CertificateFolder {
 public:
  TlsFolder() : CertificateFolder("DNS:127.0.0.1, DNS:localhost") {}
};

const Words kHost = {"--tls-cert", "host.pem", "--tls-key", "host.key", "--tls-ca", "ca.pem"};

Words meeting(const FreePort& port) {
  return {"-n", "1", "--nnodes", "2", "--rdzv-endpoint", "tls+tcp://" + port.endpoint(), "--start-timeout", "30"};
}

}  // namespace

TEST_CASE("hosts meet over TLS with the same command") {
  const TlsFolder folder;
  const FreePort port;
  // The scheme is optional: TLS files imply it.
  Words words = meeting(port);
  if (GENERATE(false, true)) words[5] = port.endpoint();
  if (GENERATE(false, true)) words.insert(words.begin(), "--isolate");
  words = with(with(words, kHost), {"jobs/tls.lua"});
  Process first = folder.start(words);
  Process second = folder.start(words);
  const Ended both({first, second}, 20);
  CHECK(first.out() + second.out() == "sum: 6\n");
}

TEST_CASE("an agent joins over TLS without a certificate of its own") {
  const TlsFolder folder;
  const FreePort port;
  Process agent =
      folder.start({"agent", "-n", "1", "--once", "--join", "tls+tcp://" + port.endpoint(), "--tls-ca", "ca.pem"});
  Process coordinator = folder.start(with(with(meeting(port), kHost), {"jobs/tls.lua"}));
  const Ended both({coordinator, agent}, 20);
  CHECK(coordinator.out() + agent.out() == "sum: 6\n");
}

TEST_CASE("a host that does not trust the coordinator's certificate reports this and exits with 3") {
  const TlsFolder folder;
  const FreePort port;
  // The certificate is signed by another authority, or for another name than 127.0.0.1.
  const auto [mine, trusted] =
      GENERATE(table<std::string, std::string>({{"host", "other.pem"}, {"other", "other.pem"}}));
  const Words words = meeting(port);
  Process coordinator = folder.start(
      with(words, {"--tls-cert", mine + ".pem", "--tls-key", mine + ".key", "--node-rank", "0", "jobs/tls.lua"}),
      "info] seed");
  const Finished other = folder.run(with(words, {"--tls-ca", trusted, "--node-rank", "1", "jobs/tls.lua"}));
  // The coordinator continues to wait for a host that trusts it.
  CHECK(coordinator.wait_for_output("connection refused", 20));
  coordinator.signal(SIGINT);
  CHECK(coordinator.wait(10) == 130);
  INFO(coordinator.describe() << other.description);
  CHECK(other.status == 3);
  CHECK_THAT(other.err, Contains("does not answer as an actorhost") && Contains("signed by one of --tls-ca") &&
                            Contains("issued to '127.0.0.1'"));
  CHECK_THAT(coordinator.err(), Contains("TLS failed: a certificate is not trusted"));
}

TEST_CASE("a host with missing or wrong TLS files exits with 2 and names them") {
  const TlsFolder folder;
  const FreePort port;
  const auto [words, message] = GENERATE(table<Words, std::string>({
      {{"--tls-cert", "host.pem", "--tls-key", "missing.key", "--tls-ca", "ca.pem"},
       "--tls-key: cannot read 'missing.key': No such file"},
      {{"--tls-cert", "host.pem", "--tls-ca", "ca.pem"}, "--tls-cert and --tls-key belong together"},
      {{"--tls-cert", "host.pem", "--tls-key", "jobs/tls.lua", "--tls-ca", "ca.pem"},
       "--tls-key: 'jobs/tls.lua' is no PEM file"},
      {{"--tls-ca", "missing.pem"}, "--tls-ca: cannot read 'missing.pem'"},
      {{"--tls-ca", "ca.pem"}, "needs --tls-cert and --tls-key"},
      {{"--tls-cert", "host.pem", "--tls-key", "host.key", "--node-rank", "1"}, "needs --tls-ca"},
      {Words{}, "needs --tls-cert and --tls-key"},
  }));
  const Ended run(folder.run(with(with(meeting(port), words), {"jobs/tls.lua"})), 2);
  CHECK_THAT(run.err, Contains(message));
  CHECK(run.out.empty());
}

TEST_CASE("clients without TLS at a TLS port neither block nor harm the run") {
  const TlsFolder folder;
  const FreePort port;
  const Words words = with(with(meeting(port), kHost), {"jobs/tls.lua"});
  Process coordinator = folder.start(words, "info] seed");
  RawSocket silent = RawSocket::connect_to(port.endpoint());
  RawSocket talks = RawSocket::connect_to(port.endpoint());
  REQUIRE(talks.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  RawSocket client = RawSocket::connect_to(port.endpoint());
  REQUIRE(client.write("ACTORHST" + std::string(40, '\0')));
  Words plain = meeting(port);
  plain[5] = port.endpoint();
  plain.back() = "3";  // the host does not receive the reason, so it tries again
  const Ended without(folder.run(with(plain, {"--node-rank", "1", "jobs/tls.lua"})), 3);
  Process second = folder.start(words);
  const Ended both({coordinator, second}, 20);
  CHECK_THAT(without.err, Contains(port.endpoint() + " does not answer as an actorhost"));
  CHECK(coordinator.out() + second.out() == "sum: 6\n");
}
