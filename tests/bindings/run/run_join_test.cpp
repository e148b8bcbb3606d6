// How a host decides to listen, to join or to start children. A scripted opener replies instead of a run.
#include "bindings/run/run_join.hpp"

#include <deque>

#include "tests/test.hpp"

namespace {

using Attempts = std::vector<std::string>;

class ScriptedOpener final : public RunJoin::Opener {
 public:
  struct Reply {
    Status status;
    bool connected = false;  // of a failure: this process had joined
  };

  Status open_cluster(ClusterConfig config) override {
    attempts.push_back((config.place == ClusterConfig::Place::member ? "join " : "listen ") + config.url);
    const Reply reply = replies.empty() ? Reply() : replies.front();
    if (!replies.empty()) replies.pop_front();
    connected_ = reply.status.ok() || reply.connected;
    return reply.status;
  }
  bool has_cluster() const override { return connected_; }
  Status spawn_children(const std::string& url, uint64_t /*group*/, uint32_t first, uint32_t size) override {
    attempts.push_back("spawn " + std::to_string(first) + " to " + std::to_string(size) + " " + url);
    return {};
  }
  bool interrupted_within(double /*seconds*/) override { return on_wait(); }

  std::deque<Reply> replies;  // success once they are used up
  std::function<bool()> on_wait = [] { return false; };
  Attempts attempts;

 private:
  bool connected_ = false;
};

struct JoiningHost {
  JoiningHost() { place.endpoint = Endpoint{Endpoint::Scheme::tcp, "127.0.0.1", 5, ""}; }
  void add_further_address() { place.other_endpoints.push_back({Endpoint::Scheme::tcp, "127.0.0.1", 9, ""}); }
  void fail(Code code, const std::string& message, bool connected = false) {
    opener.replies.push_back({Error{code, message}, connected});
  }
  Status join() {
    Log log(LogLevel::off);
    const ManualClock clock;
    return RunJoin(options, place, clock, log, opener).join({});
  }

  RunOptions options;
  HostPlace place;
  ScriptedOpener opener;
};

const std::string kListen = "listen tcp://127.0.0.1:5";
const std::string kJoin = "join tcp://127.0.0.1:5";
const std::string kJoinFurther = "join tcp://127.0.0.1:9";

}  // namespace

TEST_CASE("host 0 listens, also if there are further addresses") {
  JoiningHost host;
  host.place.placement.node_rank = 0;
  host.add_further_address();
  CHECK(host.join().ok());
  CHECK(host.opener.attempts == Attempts{kListen});
}

TEST_CASE("host 0 listens at the first free port of its run, and joins no other run") {
  JoiningHost host;
  host.place.placement.node_rank = 0;
  host.place.placement.other_ports = {7, 8};
  host.fail(Code::io, "taken");
  host.fail(Code::io, "taken");
  CHECK(host.join().ok());
  CHECK(host.opener.attempts == Attempts{kListen, "listen tcp://127.0.0.1:7", "listen tcp://127.0.0.1:8"});
  CHECK(host.place.endpoint->port == 8);
  for (int port = 0; port < 3; ++port) host.fail(Code::io, "taken");
  host.place.endpoint->port = 5;
  CHECK_FALSE(host.join().ok());
  CHECK(host.opener.attempts.size() == 6);
}

TEST_CASE("a failure of a host that listens is no reason to try further ports") {
  JoiningHost host;
  host.place.placement.node_rank = 0;
  host.place.placement.other_ports = {7};
  host.fail(Code::io, "the trace cannot be written", true);
  CHECK_FALSE(host.join().ok());
  CHECK(host.opener.attempts == Attempts{kListen});
}

TEST_CASE("a host without a number joins where another host listens, and its error tells why") {
  JoiningHost host;
  host.fail(Code::io, "taken");
  host.fail(Code::io, "taken");
  host.fail(Code::unreachable, "it does not answer");
  CHECK_THAT(failure_of(host.join()).message,
             Contains("it does not answer (this host tried to join because it cannot listen "
                      "there: taken)"));
  CHECK(host.opener.attempts == Attempts{kListen, kListen, kJoin});
}

TEST_CASE("an agent and a host with a number above 0 join without listening") {
  JoiningHost host;
  const bool agent = GENERATE(false, true);
  host.options.agent = agent;
  if (!agent) host.place.placement.node_rank = 1;
  CHECK(host.join().ok());
  CHECK(host.opener.attempts == Attempts{kJoin});
}

TEST_CASE("a host without a number listens only if there is no run at the further addresses") {
  JoiningHost host;
  host.add_further_address();
  SECTION("a run") {
    CHECK(host.join().ok());
    CHECK(host.opener.attempts == Attempts{kJoinFurther});
  }
  SECTION("no run") {
    host.fail(Code::unreachable, "no connection");
    CHECK(host.join().ok());
    CHECK(host.opener.attempts == Attempts{kJoinFurther, kListen});
  }
  SECTION("a run that refuses this host") {
    host.fail(Code::refused, "another token");
    CHECK(host.join().error().code == Code::refused);
    CHECK(host.opener.attempts == Attempts{kJoinFurther});
  }
}

TEST_CASE("an --isolate host that joins starts children for all its nodes, and does not join itself") {
  JoiningHost host;
  host.options.isolate = true;
  host.place.placement.node_rank = 1;
  host.place.local_nodes = 3;
  host.add_further_address();
  CHECK(host.join().ok());
  CHECK(host.opener.attempts == Attempts{"spawn 0 to 3 tcp://127.0.0.1:5,tcp://127.0.0.1:9"});
}

TEST_CASE("a host waits for the coordinator's name until it is interrupted") {
  JoiningHost host;
  host.place.endpoint->host = "nobody.invalid";  // never resolves (RFC 6761)
  host.opener.on_wait = [waits = 0]() mutable { return ++waits == 2; };
  CHECK(host.join().error().code == Code::interrupted);
  CHECK(host.opener.attempts.empty());
}

TEST_CASE("a run that ends while a host joins it is no run that the host has joined") {
  JoiningHost host;
  host.place.endpoint->host = "nobody.invalid";
  host.add_further_address();
  host.opener.on_wait = [&host] {
    host.place.endpoint->host = "127.0.0.1";  // the name is known now
    return false;
  };
  host.fail(Code::peer_lost, "host 0 lost", true);
  host.fail(Code::unreachable, "no connection");
  CHECK(host.join().ok());
  CHECK(host.opener.attempts == Attempts{kJoinFurther, kJoinFurther, kListen});
}
