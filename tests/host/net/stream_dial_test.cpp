// The errors of failed dials and listens.

#include "host/net/handshake.hpp"
#include "tests/host/net/raw_socket.hpp"
#include "tests/host/net/stream_cluster.hpp"
#include "tests/test.hpp"

namespace {

const SteadyClock dial_clock;

std::string host_and_port(const std::string& url) { return url.substr(url.find("://") + 3); }

}  // namespace

TEST_CASE("both ends refuse a wrong token, and the link never starts") {
  for (const char* scheme : {"tcp://127.0.0.1:0", "ipc"}) {
    StreamHost listener({.token = "one"});
    StreamHost dialler({.token = "two"});
    const auto url = required(listener.transport.listen(scheme == std::string("ipc") ? fresh_ipc_url() : scheme));
    const auto link = dialler.transport.dial(*url, kPatience);
    CHECK(failure_of(link).code == Code::refused);
    CHECK(failure_of(link).message == "the token of " + host_and_port(*url) + " differs from ours");
    listener.transport.close();
    CHECK(listener.transport.counters().refused == 1);
    CHECK(listener.quiet.has("differs from ours"));
    CHECK(listener.events.ups.empty());
    CHECK(dialler.events.ups.empty());
  }
}

TEST_CASE("an address without a listener is unreachable") {
  StreamHost host;
  std::string url;
  {
    StreamHost stopped;
    url = stopped.transport.listen("tcp://127.0.0.1:0").value();
  }
  auto link = host.transport.dial(url, kPatience);
  CHECK(failure_of(link).code == Code::unreachable);
  CHECK(failure_of(link).message.find(url) != std::string::npos);
  link = host.transport.dial(fresh_ipc_url(), kPatience);
  CHECK(failure_of(link).code == Code::unreachable);
}

TEST_CASE("an invalid address is a bad argument") {
  StreamHost host;
  for (const char* url : {"", "nonsense", "foo://127.0.0.1:1"}) {
    CHECK(host.transport.dial(url, kPatience).error().code == Code::bad_argument);
    CHECK(host.transport.listen(url).error().code == Code::bad_argument);
  }
}

TEST_CASE("the error for an address in use names the cause") {
  StreamHost first;
  StreamHost second;
  for (const std::string& wanted : {std::string("tcp://127.0.0.1:0"), fresh_ipc_url()}) {
    const auto url = required(first.transport.listen(wanted));
    const auto again = second.transport.listen(*url);
    CHECK(failure_of(again).code == Code::io);
    CHECK(failure_of(again).message == "cannot listen at " + *url + ": address in use");
  }
}

TEST_CASE("a program with another reply is no actorhost") {
  RawListener web;
  std::thread server([&] {
    RawSocket client = web.accept();
    client.write("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n");
    client.read_to_end();
  });
  StreamHost host;
  const auto link = host.transport.dial(web.url(), kPatience);
  server.join();
  CHECK(failure_of(link).code == Code::refused);
  CHECK(failure_of(link).message.find("does not answer as an actorhost") != std::string::npos);
}

TEST_CASE("a program that closes before a wrong reply is unreachable: a retry may help") {
  const std::string hello = Handshake(Handshake::Side::dialler, "", Handshake::fresh_nonce(), "").output();
  for (const bool reset : {false, true}) {
    for (const size_t sent : {size_t{0}, size_t{10}, hello.size()}) {
      INFO("reset " << reset << ", " << sent << " bytes sent");
      RawListener listener;
      std::thread server([&] {
        RawSocket client = listener.accept();
        if (reset) client.reset_when_closed();
        if (reset || sent > 0) client.read_some();
        client.write(hello.substr(0, sent));
      });
      StreamHost host;
      const auto link = host.transport.dial(listener.url(), kPatience);
      server.join();
      CHECK(failure_of(link).code == Code::unreachable);
      CHECK(failure_of(link).message.find(host_and_port(listener.url())) == 0);
    }
  }
}

TEST_CASE("a listener with too many handshakes refuses a dialler as unreachable, and accepts it later") {
  StreamHost listener({.token = "t", .max_unproved = 2});
  const auto url = required(listener.transport.listen("tcp://127.0.0.1:0"));
  StreamHost host({.token = "t"});
  {
    RawSocket first = RawSocket::connect_to(*url);
    RawSocket second = RawSocket::connect_to(*url);
    CHECK(failure_of(host.transport.dial(*url, kPatience)).code == Code::unreachable);
    CHECK(listener.quiet.has("too many connections at a time"));
  }
  Result<LinkId> link = Error{Code::unreachable, ""};
  const double deadline = dial_clock.now() + kPatience;
  while (!link.ok() && dial_clock.now() < deadline) {
    link = host.transport.dial(*url, kPatience);
    if (!link.ok()) REQUIRE(link.error().code == Code::unreachable);
  }
  CHECK(link.ok());
}

TEST_CASE("a program that never replies ends the dial at its deadline") {
  RawListener silent;
  StreamHost host;
  const double before = dial_clock.now();
  CHECK(failure_of(host.transport.dial(silent.url(), 0.05)).code == Code::timeout);
  CHECK(dial_clock.now() - before >= 0.05);
  CHECK(dial_clock.now() - before < kPatience);
}

TEST_CASE("closing ends a dial that waits for a reply") {
  RawListener silent;
  StreamHost host;
  std::thread closer([&] {
    RawSocket client = silent.accept();
    client.read_some();  // the hello: the dial is in progress
    host.transport.close();
    client.read_to_end();
  });
  const auto link = host.transport.dial(silent.url(), kPatience);
  closer.join();
  CHECK(failure_of(link).code == Code::interrupted);
}

TEST_CASE("TLS connects with a trusted certificate, and reports the problem otherwise") {
  StreamHost listener({.token = "t", .tls = test_tls_files()});
  const auto url = required(listener.transport.listen("tls+tcp://127.0.0.1:0"));

  StreamHost trusting({.token = "t", .tls = {.ca = test_tls_files().ca}});
  CHECK(trusting.transport.dial(*url, kPatience).ok());

  StreamHost wrong_token({.token = "u", .tls = {.ca = test_tls_files().ca}});
  CHECK(wrong_token.transport.dial(*url, kPatience).error().message.find("token") != std::string::npos);

  StreamHost without;
  CHECK(without.transport.dial(*url, kPatience).error().code == Code::bad_argument);

  StreamHost missing({.tls = {.ca = "/nowhere/ca.pem"}});
  CHECK(missing.transport.dial(*url, kPatience).error().message.find("/nowhere/ca.pem") != std::string::npos);
  CHECK(missing.transport.listen("tls+tcp://127.0.0.1:0").error().code == Code::bad_argument);

  StreamHost no_pem({.tls = {.ca = test_tls_files().key}});
  CHECK_FALSE(no_pem.transport.dial(*url, kPatience).ok());

  StreamHost plain({.token = "t"});
  const auto tcp = "tcp" + url->substr(url->find("://"));
  const auto without_tls = plain.transport.dial(tcp, kPatience);  // the other end does not report the problem
  CHECK(failure_of(without_tls).code == Code::unreachable);
  CHECK(failure_of(without_tls).message.find("wants TLS") != std::string::npos);
}

TEST_CASE("a listener reports that TLS may have failed when a dialler closes without a message") {
  const bool reset = GENERATE(false, true);
  StreamHost listener({.tls = test_tls_files()});
  const auto url = required(listener.transport.listen("tls+tcp://127.0.0.1:0"));
  {
    RawSocket dialler = RawSocket::connect_to(*url);
    if (reset) dialler.reset_when_closed();
  }
  const double deadline = dial_clock.now() + kPatience;
  while (listener.transport.counters().refused == 0 && dial_clock.now() < deadline) std::this_thread::yield();
  listener.transport.close();
  CHECK(
      listener.quiet.has("does not answer as an actorhost (it ended the connection without a reply): it is busy, or "
                         "TLS failed: a certificate is not trusted"));
}
