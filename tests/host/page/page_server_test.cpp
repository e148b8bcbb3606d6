#include "host/page/page_server.hpp"

#include <chrono>

#include <nlohmann/json.hpp>
#include <poll.h>

#include "host/base/outside_json.hpp"
#include "host/page/page_files.hpp"
#include "host/page/state_fields.hpp"
#include "tests/host/net/raw_socket.hpp"
#include "tests/host/page/sample_state.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

constexpr double kPageWait = 10;  // seconds; a test that waits so long fails

/// A source that counts the requests for a run's state.
class CountedSource final : public StateSource {
 public:
  explicit CountedSource(size_t nodes) : state_(test::sample_state(nodes)) {}
  void request_state(const std::vector<std::string>& sections, std::function<void(std::string)> callback) override {
    {
      std::lock_guard lock(mutex_);
      sections_ = sections;
    }
    state_["run"]["t"] = 10 + 0.1 * ++requests;
    if (ended) {
      state_["run"]["ended"] = "done";
      ++requests_at_end_;
      for (json& node : state_["nodes"]) node["state"] = requests_at_end_ > 3 ? "ended" : "computing";
    }
    if (!silent) callback(json_text(state_));
  }
  /// Whether the newest request was for this section.
  bool wants(const std::string& section) {
    std::lock_guard lock(mutex_);
    return std::find(sections_.begin(), sections_.end(), section) != sections_.end();
  }
  std::atomic<int> requests{0};
  std::atomic<bool> silent{false}, ended{false};

 private:
  std::mutex mutex_;
  std::vector<std::string> sections_;
  json state_;
  int requests_at_end_ = 0;
};

/// The page of a CountedSource on a free port, at ten messages a second. It has no past unless `options` has one.
struct ServedPage {
  explicit ServedPage(size_t nodes = 4, PageOptions options = {.past_every = kForever}) : source(nodes) {
    if (options.address == kPageAddress) options.address = "127.0.0.1:0";
    options.metrics = true;
    options.every = 0.1;
    auto opened = required(PageServer::open(options, clock));
    page = std::move(*opened);
    poller = std::make_unique<StatePoller>(source, clock, log, std::vector<Watcher*>{page.get()});
    page->on_wanted([this] { poller->wake(); });
    const std::string url = page->url();
    const size_t colon = url.find(':', 7);
    port = static_cast<uint16_t>(std::stoul(url.substr(colon + 1)));
    host = "127.0.0.1:" + std::to_string(port);
  }
  ~ServedPage() { poller->stop(); }

  SteadyClock clock;
  Log log{LogLevel::off};
  CountedSource source;
  std::unique_ptr<PageServer> page;
  std::unique_ptr<StatePoller> poller;
  uint16_t port = 0;
  std::string host;
};

const std::string kGarbage[] = {"\x16\x03\x01\x02", "GET\r\n\r\n", std::string(100'000, 'x')};

/// One connection to a server.
class Browser : private NonCopyable {
 public:
  explicit Browser(uint16_t port, int room = 0) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (room > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    sockaddr_in address = RawSocket::loopback(port);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) closed_ = true;
  }
  ~Browser() { close(fd_); }

  void send(const std::string& text) const { (void)!::send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  /// Reads until `text` arrives, or until the end if `text` is empty; false if this does not happen in time.
  bool read_until(const std::string& text) {
    const SteadyClock clock;
    const double end = clock.now() + kPageWait * patience();
    while (text.empty() || got_.find(text) == std::string::npos) {
      pollfd readable{fd_, POLLIN, 0};
      if (closed_ || clock.now() > end) return text.empty() && closed_;
      if (poll(&readable, 1, 100) <= 0) continue;
      char bytes[1 << 16];
      const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
      if (count > 0) got_.append(bytes, static_cast<size_t>(count));
      closed_ = count <= 0;
    }
    return true;
  }
  const std::string& got() const { return got_; }
  /// Whether the server has closed the connection; discards unread bytes.
  bool is_closed() {
    char bytes[1 << 16];
    ssize_t count = 0;
    while ((count = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) continue;
    return closed_ || count == 0 || (errno != EAGAIN && errno != EINTR);
  }

 private:
  int fd_;
  bool closed_ = false;
  std::string got_;
};

/// The whole response to a request; `headers` are lines with their line ends.
std::string fetched(const ServedPage& served, const std::string& method_and_path, const std::string& headers = "",
                    std::string host = "") {
  Browser browser(served.port);
  if (host.empty()) host = served.host;
  browser.send(method_and_path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n" + headers + "\r\n");
  (void)browser.read_until("");
  return browser.got();
}

int status_of(const std::string& response) { return response.size() > 12 ? std::stoi(response.substr(9, 3)) : 0; }

std::string body_of(const std::string& response) { return response.substr(response.find("\r\n\r\n") + 4); }

std::unique_ptr<Browser> viewer(const ServedPage& served, const std::string& query = "", int room = 0) {
  auto browser = std::make_unique<Browser>(served.port, room);
  browser->send("GET /events" + query + " HTTP/1.1\r\nHost: " + served.host + "\r\n\r\n");
  return browser;
}

void wait_for_page(const std::function<bool()>& reached) {
  const SteadyClock clock;
  const double end = clock.now() + kPageWait * patience();
  while (!reached() && clock.now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  REQUIRE(reached());
}

}  // namespace

TEST_CASE("a page serves its files, the state and metrics, each under its path, and is read-only") {
  const ServedPage served;
  REQUIRE(page_files().size() == 8);
  for (const PageFile& file : page_files()) {
    const std::string response = fetched(served, "GET " + std::string(file.path));
    CHECK(status_of(response) == 200);
    CHECK(body_of(response) == file.bytes);
    CHECK(response.find(std::string("Content-Type: ") + file.type) != std::string::npos);
    CHECK(response.find("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';") !=
          std::string::npos);
    CHECK(response.find("X-Content-Type-Options: nosniff") != std::string::npos);
    CHECK(response.find("unsafe") > response.find("\r\n\r\n"));
  }
  CHECK(json::parse(body_of(fetched(served, "GET /state")))["nodes"].size() == 5);
  CHECK(body_of(fetched(served, "GET /metrics")).starts_with("# HELP actorhost_run_info"));
  CHECK(json::parse(body_of(fetched(served, "GET /about")))["mode"] == "live");
  const std::string head = fetched(served, "HEAD /state");
  CHECK(status_of(head) == 200);
  CHECK(body_of(head).empty());
  CHECK(status_of(fetched(served, "HEAD /events")) == 200);
  for (const char* path : {"/none", "/../page.css", "/frame?n=0", "//", "/events/x"}) {
    CHECK(status_of(fetched(served, std::string("GET ") + path)) == 404);
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"}) {
    const std::string response = fetched(served, std::string(method) + " /", "Content-Length: 0\r\n");
    CHECK(status_of(response) == 405);
    CHECK(response.find("Allow: GET, HEAD") != std::string::npos);
  }
  CHECK(status_of(fetched(served, "POST /", "Content-Length: 1000000\r\n")) == 405);
  for (const std::string& garbage : kGarbage) {
    Browser browser(served.port);
    browser.send(garbage + "\r\n\r\n");
    CHECK(browser.read_until(""));
  }
  CHECK(status_of(fetched(served, "GET /")) == 200);
}

// libmicrohttpd 0.9.75 crashes if it is stopped while it refuses a request.
TEST_CASE("a page ends while it refuses malformed requests") {
  for (int round = 0; round < 100; ++round) {
    const ServedPage served;
    std::vector<std::unique_ptr<Browser>> browsers;
    for (const std::string& garbage : kGarbage) {
      browsers.push_back(std::make_unique<Browser>(served.port));
      browsers.back()->send(garbage + "\r\n\r\n");
    }
  }
}

TEST_CASE("a page answers only requests for its own address") {
  const ServedPage served;
  const std::string port = ":" + std::to_string(served.port);
  for (const std::string& host :
       {"localhost" + port, "LOCALHOST" + port, "127.0.0.1" + port, "[::1]" + port, std::string("localhost:9999")}) {
    CHECK(status_of(fetched(served, "GET /", "", host)) == 200);
  }
  for (const std::string& host : {"evil.example" + port, "localhost.evil.example" + port, "10.0.0.1" + port,
                                  std::string("@localhost"), std::string("127.0.0.1.evil.example")}) {
    const std::string response = fetched(served, "GET /state", "", host);
    CHECK(status_of(response) == 403);
    CHECK(body_of(response) == "This page is not served under that name: use the address in actorhost's log.\n");
  }
  CHECK(status_of(fetched(served, "GET /state", "Origin: http://" + served.host + "\r\n")) == 200);
  for (const std::string& origin :
       {std::string("http://evil.example"), "https://" + served.host, std::string("null")}) {
    const std::string response = fetched(served, "GET /state", "Origin: " + origin + "\r\n");
    CHECK(status_of(response) == 403);
    CHECK(body_of(response) == "Pages of other sites may not read this one.\n");
  }
  CHECK(served.source.requests == 1);  // for the allowed request
}

TEST_CASE("an address beyond loopback requires a token, once") {
  const ServedPage served(4, {.address = "0.0.0.0:0", .past_every = kForever});
  const std::string url = served.page->url();
  const std::string token = url.substr(url.find("?token=") + 7);
  REQUIRE(token.size() == 32);
  CHECK(status_of(fetched(served, "GET /")) == 403);
  CHECK(status_of(fetched(served, "GET /events?token=" + std::string(32, '0'))) == 403);
  const std::string first = fetched(served, "GET /?token=" + token);
  CHECK(status_of(first) == 303);
  const std::string cookie = "actorhost_" + std::to_string(served.port) + "=" + token;
  CHECK(first.find("Set-Cookie: " + cookie + "; HttpOnly; SameSite=Strict; Path=/") != std::string::npos);
  CHECK(status_of(fetched(served, "GET /", "Cookie: a=b; " + cookie + "\r\n")) == 200);
  CHECK(status_of(fetched(served, "GET /metrics?token=" + token)) == 200);
  CHECK(status_of(fetched(served, "GET /metrics", "Authorization: Bearer " + token + "\r\n")) == 200);
  CHECK(status_of(fetched(served, "GET /", "Cookie: " + cookie + "\r\n", "10.0.0.1:80")) == 200);
  CHECK(status_of(fetched(served, "GET /", "Cookie: " + cookie + "\r\n", "evil.example")) == 403);
}

TEST_CASE("the run's reading token opens a page beyond loopback, and an empty reading token opens none") {
  PageOptions options{.address = "0.0.0.0:0", .past_every = kForever, .reading_token = "read-0123"};
  const ServedPage served(4, options);
  CHECK(status_of(fetched(served, "GET /metrics", "Authorization: Bearer read-0123\r\n")) == 200);
  const std::string first = fetched(served, "GET /?token=read-0123");
  CHECK(status_of(first) == 303);
  CHECK(first.find("=read-0123;") == std::string::npos);  // the cookie is the page's own token
  CHECK(status_of(fetched(served, "GET /metrics", "Authorization: Bearer read-0124\r\n")) == 403);
  options.reading_token = "";
  const ServedPage without(4, options);
  CHECK(status_of(fetched(without, "GET /metrics", "Authorization: Bearer \r\n")) == 403);
  CHECK(status_of(fetched(without, "GET /metrics?token=")) == 403);
}

TEST_CASE("an unusable address is named in the error") {
  const ServedPage served;
  SteadyClock clock;
  const auto message = [&](const std::string& address) {
    return PageServer::open({.address = address}, clock).error().message;
  };
  CHECK(message(served.host) ==
        served.host + " is taken by another program: choose another port, or 0 for any that is free");
  CHECK(message("192.0.2.1:0").starts_with("192.0.2.1:0 cannot be listened on: "));
  CHECK(
      message("tls+tcp://127.0.0.1:0").starts_with("a page's address is HOST:PORT or a port, as 127.0.0.1:8787, got"));
  CHECK(message("127.0.0.1:99999").starts_with("a page's address is HOST:PORT"));
}

TEST_CASE("viewers share one state request, and without viewers there is none") {
  ServedPage served(100);
  CHECK(served.source.requests == 0);
  std::vector<std::unique_ptr<Browser>> viewers;
  for (int i = 0; i < 32; ++i) viewers.push_back(viewer(served, i % 2 == 0 ? "" : "?offset=64&sort=id"));
  for (auto& one : viewers) REQUIRE(one->read_until("data: {"));
  REQUIRE(viewers[0]->read_until("\"offset\":0"));
  REQUIRE(viewers[1]->read_until("\"offset\":64"));
  const std::string refused = fetched(served, "GET /events");
  CHECK(status_of(refused) == 503);
  CHECK(body_of(refused) == "There are 32 viewers of this page already.\n");
  const int before = served.source.requests;
  wait_for_page([&] { return served.source.requests >= before + 3; });
  CHECK(served.source.requests < 100);  // fewer than one for each viewer
  viewers.clear();
  // A request may be in progress, but none follows. The server notices a departed viewer at its next write.
  wait_for_page([&] { return served.page->next_poll() == kForever; });
  const int after = served.source.requests;
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  CHECK(served.source.requests <= after + 1);
  CHECK(status_of(fetched(served, "GET /state")) == 200);
}

TEST_CASE("a page that is opened late has the past of the run, which needs no viewer") {
  ServedPage served(4, {.past_every = 0.1});
  wait_for_page([&] { return served.source.requests >= 4; });
  CHECK(!served.source.wants("keys"));
  const json past = json::parse(body_of(fetched(served, "GET /past")));
  REQUIRE(!past["t"].empty());
  CHECK(past["t"][0][0].get<double>() == Approx(10.1));
  const json& steps = past["lines"]["steps"]["3"];
  CHECK(steps.size() == past["t"].size());
  CHECK(past["lines"]["memory"]["0"][0] == 90'000'000);
  const auto late = viewer(served);
  REQUIRE(late->read_until("\"point\":{"));
  CHECK(served.source.wants("keys"));
  CHECK(status_of(fetched(served, "GET /past?n=7")) == 200);  // of a live run the number means nothing
}

TEST_CASE("a page of many nodes requests the states for its past less often") {
  const ServedPage served(1000, {.past_every = 0.01});
  wait_for_page([&] { return served.page->next_poll() > served.clock.now() + 1; });
  CHECK(served.page->next_poll() < served.clock.now() + 6);
  const auto one = viewer(served);  // a viewer receives messages at its own pace
  REQUIRE(one->read_until("data: {"));
  CHECK(served.page->next_poll() < served.clock.now() + 1);
}

TEST_CASE("spans and output are requested only for the nodes of a viewer that shows them") {
  ServedPage served;
  const auto plain = viewer(served);
  REQUIRE(plain->read_until("data: {"));
  CHECK(!served.source.wants("stream:worker 0"));
  const auto chosen = viewer(served, "?stream=1&node=worker+3");
  wait_for_page([&] { return served.source.wants("stream:worker 0"); });
  CHECK(served.source.wants("stream:server 0"));
  CHECK(served.source.wants("output:worker 3"));
  CHECK(!served.source.wants("output:worker 2"));
  REQUIRE(chosen->read_until("\"detail\":{"));
  const auto wrong = viewer(served, "?node=" + std::string(1000, 'x'));
  REQUIRE(wrong->read_until("data: {"));
}

TEST_CASE("a viewer that does not read misses messages, and delays no other viewer") {
  ServedPage served(100);
  const auto slow = viewer(served, "", 4096);
  const auto quick = viewer(served);
  const int before = served.source.requests;
  const SteadyClock clock;
  const double begun = clock.now();
  wait_for_page([&] { return served.source.requests >= before + 12; });
  CHECK(clock.now() - begun < 5 * patience());
  size_t messages = 0;
  REQUIRE(quick->read_until("data: "));
  for (size_t at = 0; (at = quick->got().find("data: ", at)) != std::string::npos; ++at) ++messages;
  CHECK(messages >= 1);
  CHECK(status_of(fetched(served, "GET /state")) == 200);
}

TEST_CASE("viewers receive how the run has ended, also while it does not reply") {
  ServedPage served;
  const auto first = viewer(served);
  REQUIRE(first->read_until("data: {"));
  served.source.silent = true;
  const auto second = viewer(served);
  REQUIRE(second->read_until("200 OK"));
  Browser waits(served.port);
  const int before = served.source.requests;
  waits.send("GET /state HTTP/1.1\r\nHost: " + served.host + "\r\n\r\n");
  wait_for_page([&] { return served.source.requests > before || served.page->next_poll() != kForever; });
  served.page->finish(served.poller->finish(0.3), "done");
  CHECK(first->read_until("event: end\ndata: {\"how\":\"done\"}\n\n"));
  CHECK(second->read_until("event: end\ndata: {\"how\":\"done\"}\n\n"));
  CHECK(waits.read_until(""));
  CHECK(Browser(served.port).read_until(""));  // the server no longer listens
}

TEST_CASE("viewers receive the state after the run's end, and then how it has ended") {
  ServedPage served;
  const auto first = viewer(served);
  REQUIRE(first->read_until("data: {"));
  served.source.ended = true;
  served.page->finish(served.poller->finish(10), "done");
  REQUIRE(first->read_until("event: end\n"));
  const size_t end = first->got().find("event: end\n");
  const std::string last = first->got().substr(first->got().rfind("data: {", end - 2), end);
  CHECK(last.find("\"states\":{\"ended\":5}") != std::string::npos);
}

namespace {

/// Connections with an unfinished request. Each sends one byte at a time, never the end, and reconnects when it is
/// closed. Runs on its own thread.
class Dripping : private NonCopyable {
 public:
  Dripping(uint16_t port, size_t count) {
    for (size_t i = 0; i < count; ++i) connections_.push_back(begun(port));
    thread_ = std::thread([this, port] {
      for (size_t next = 0; !stop_; next = (next + 1) % connections_.size()) {
        auto& one = connections_[next];
        one->send("x");
        if (one->is_closed()) one = begun(port);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  ~Dripping() {
    stop_ = true;
    thread_.join();
  }

 private:
  static std::unique_ptr<Browser> begun(uint16_t port) {
    auto one = std::make_unique<Browser>(port);
    one->send("GET / HTTP/1.1\r\nX-Drip: ");
    return one;
  }

  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Browser>> connections_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("connections that drip a byte at a time exclude no client from a page and its metrics", "[deep]") {
  const size_t drips = GENERATE(64, 130, 400);
  CAPTURE(drips);
  const ServedPage served;
  const auto open_viewer = viewer(served);
  REQUIRE(open_viewer->read_until("data: {"));
  const Dripping dripping(served.port, drips);
  const SteadyClock clock;
  for (const char* path : {"/", "/metrics", "/state", "/page.js", "/metrics"}) {
    CAPTURE(path);
    const double begun = clock.now();
    CHECK(status_of(fetched(served, std::string("GET ") + path)) == 200);
    CHECK(clock.now() - begun < 1 * patience());
  }
  const auto late = viewer(served);
  CHECK(late->read_until("data: {"));
  const int before = served.source.requests;
  wait_for_page([&] { return served.source.requests >= before + 3; });
  CHECK(!open_viewer->is_closed());
}

TEST_CASE("a request without an end before its deadline is closed, a viewer is not") {
  PageOptions options;
  options.limits.request_seconds = 0.3;
  const ServedPage served(4, options);
  const auto open_viewer = viewer(served);
  REQUIRE(open_viewer->read_until("data: {"));
  Browser silent(served.port);
  Browser begun(served.port);
  begun.send("GET / HT");
  Browser again(served.port);  // the second request of a connection has a deadline as well
  again.send("GET /about HTTP/1.1\r\nHost: " + served.host + "\r\n\r\nGET /ab");
  CHECK(silent.read_until(""));
  CHECK(begun.read_until(""));
  CHECK(again.read_until(""));
  CHECK(status_of(again.got()) == 200);
  const int before = served.source.requests;
  wait_for_page([&] { return served.source.requests >= before + 5; });
  CHECK(!open_viewer->is_closed());
}

TEST_CASE("a viewer or a reader that takes no bytes before its deadline is closed") {
  PageOptions options;
  options.limits.response_seconds = 0.3;
  const ServedPage served(1000, options);
  const auto slow = viewer(served, "", 1024);
  const auto quick = viewer(served);
  REQUIRE(quick->read_until("data: {"));
  wait_for_page([&] { return served.page->viewers() == 1; });
  CHECK(!quick->is_closed());
}
