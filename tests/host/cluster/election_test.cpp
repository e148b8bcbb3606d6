// A member that has lost its coordinator, without sockets: it follows a candidate, takes over, or returns.

#include "host/cluster/election.hpp"

#include "tests/test.hpp"

namespace {

/// Process `self` of three, with a worker each; process 0 is the coordinator, over link 10. Link 10 + n leads to n.
struct Voter final : ElectionOutput, MemberLinks, PeerLinkOutput {
  explicit Voter(ProcessId self_id) : self(self_id) {
    peers.adopt(self, table);
    (void)view.set_process(self);
    election.adopt(table, now);
    for (ProcessId p = 1; p < 3; ++p) {
      if (p != self) peers.accepted(p, 10 + p);
    }
    lease.begin(now);
  }
  static MembershipPtr three() {
    std::vector<Member> workers;
    std::vector<ProcessInfo> infos;
    for (ProcessId p = 0; p < 3; ++p) {
      workers.push_back({p, p});
      infos.push_back({p, "h" + std::to_string(p), "tcp://h:" + std::to_string(p)});
    }
    return std::make_shared<const Membership>(7, workers, infos);
  }
  AttachMessage attach_of(ProcessId process, ProcessId lost) const {
    AttachMessage attach;
    attach.process = process;
    attach.lost = lost;
    attach.tables = {*table};
    return attach;
  }
  void lose(bool link_closed) {
    view.set_coordinator(kNoProcess);
    election.begin(0, 10, "no heartbeat", link_closed, now);
  }
  void tick(double seconds) { election.tick(now += seconds, 0); }

  void send_on(LinkId link, Frame&& frame) override { sent.emplace_back(link, std::move(frame)); }
  void close_link(LinkId link, const std::string& /*reason*/) override { closed.insert(link); }
  void redirect(LinkId link) override { redirected.insert(link); }
  double last_received(ProcessId process) const override { return silent.contains(process) ? 0 : now; }
  void cut_off(ProcessId process) override { ended.insert(process); }
  void prove_dead(ProcessId process, const std::string& /*url*/) override { proofs.push_back(process); }
  AttachMessage own_state() const override { return {}; }
  void heartbeat(LinkId /*link*/) override {}
  std::string peer_of(LinkId /*link*/) const override { return ""; }
  void follow(ProcessId process, LinkId /*link*/, const std::vector<LinkId>& waiting) override {
    followed.push_back(process);
    redirected.insert(waiting.begin(), waiting.end());
  }
  void recover(ProcessId process, LinkId link, const std::vector<LinkId>& /*waiting*/,
               std::deque<Frame>&& late) override {
    CHECK(process == 0);
    CHECK(link == 10);
    recovered_frames = late.size();
  }
  void take_over(Takeover&& with) override { takeover = std::move(with); }
  void finish_as_lost(const std::string& reason) override { finish({Code::peer_lost, false, reason, kNoAddress}); }
  void finish(const EndMessage& message) override { (void)view.set_end(message); }
  void dial(ProcessId /*process*/, const std::string& /*url*/) override {}
  void request_dial(ProcessId /*process*/) override {}
  void report_broken(ProcessId process, const std::string& /*reason*/) override { election.skip(process, now); }

  const ProcessId self;
  const MembershipPtr table = three();
  const DetectorTimes times;
  double now = 10;
  std::vector<std::string> lines;
  Log log{LogLevel::debug, [this](const LogLine& line) { lines.push_back(line.words()); }};
  ProcessLease lease;
  PeerLinks peers{*this};
  RunView view{"tcp://h:0"};
  Election election{*this, *this, peers, view, lease, times, log};
  std::set<ProcessId> silent, ended;
  std::vector<std::pair<LinkId, Frame>> sent;
  std::set<LinkId> closed, redirected;
  std::vector<ProcessId> proofs, followed;
  std::optional<size_t> recovered_frames;
  std::optional<Takeover> takeover;
};

}  // namespace

TEST_CASE("a process attaches to the lowest candidate and follows it") {
  Voter voter(2);
  voter.lose(false);
  REQUIRE(voter.sent.size() == 1);
  CHECK(voter.sent[0].first == 11);
  const auto attach = required(read_message<AttachMessage>(voter.sent[0].second));
  CHECK((attach->process == 2 && attach->lost == 0 && attach->loss == 1));
  SECTION("whose reply names this loss") {
    voter.election.on_attached(11, 1);
    CHECK(voter.followed == std::vector<ProcessId>{1});
    CHECK(voter.ended == std::set<ProcessId>{0});
    CHECK(voter.election.lost_link() == 0);
  }
  SECTION("but not after a reply that names another loss") {
    voter.election.on_attached(11, 0);
    CHECK(voter.followed.empty());
    CHECK(voter.closed == std::set<LinkId>{11});
  }
  SECTION("or becomes a candidate when that one is silent") {
    voter.silent = {1};
    for (int i = 0; i < 17; ++i) voter.tick(0.25);
    voter.election.on_attach(11, voter.attach_of(1, 0), voter.now);
    CHECK(voter.takeover.has_value());
  }
}

TEST_CASE("a silent coordinator that sends again continues, unless this process is bound to a candidate") {
  const ProcessId self = GENERATE(1, 2);
  Voter voter(self);
  voter.lose(false);
  voter.election.on_lost_frame(make_frame(Kind::test, 0, 0, 0), voter.now);
  CHECK(voter.recovered_frames.has_value() == (self == 1));
  if (self == 2) voter.election.skip(1, voter.now);
  REQUIRE(voter.recovered_frames.has_value());
  CHECK(*voter.recovered_frames == 1);
  CHECK(voter.ended.empty());
}

TEST_CASE("a candidate takes over once a majority has attached") {
  Voter voter(1);
  voter.lose(false);
  CHECK_FALSE(voter.takeover.has_value());
  voter.election.on_attach(12, voter.attach_of(2, 0), voter.now);
  REQUIRE(voter.takeover.has_value());
  CHECK(voter.takeover->lost == std::set<ProcessId>{0});
  CHECK(voter.takeover->attached.contains(12));
  CHECK(voter.takeover->self.process == 1);
  CHECK(voter.ended == std::set<ProcessId>{0});
}

TEST_CASE("after a closed link a process waits for the proof, or for the end of the coordinator's lease") {
  Voter voter(2);
  (void)voter.lease.receive({1, 0, 0, 0}, voter.now);
  voter.lose(true);
  CHECK(voter.proofs == std::vector<ProcessId>{0});
  CHECK(voter.sent.empty());
  SECTION("proved dead") {
    voter.election.on_proof(0, PortState::closed, voter.now);
    CHECK(voter.sent.size() == 1);
  }
  SECTION("alive") {
    voter.election.on_proof(0, PortState::open, voter.now);
    voter.tick(kCoordinatorLease - 0.01);
    CHECK(voter.sent.empty());
    voter.tick(0.02);
    CHECK(voter.sent.size() == 1);
  }
}

TEST_CASE("a process that attaches early is held, and redirected when there is still a coordinator") {
  Voter voter(1);
  voter.election.on_attach(12, voter.attach_of(2, 5), voter.now);
  CHECK(voter.redirected == std::set<LinkId>{12});
  voter.redirected.clear();
  voter.election.on_attach(12, voter.attach_of(2, 0), voter.now);
  voter.tick(voter.times.suspect + voter.times.heartbeat);
  CHECK(voter.redirected.empty());
  SECTION("it is counted once the coordinator is lost here too") {
    voter.lose(false);
    CHECK(voter.takeover.has_value());
  }
  SECTION("redirected") {
    voter.tick(0.01);
    CHECK(voter.redirected == std::set<LinkId>{12});
  }
}

TEST_CASE("a candidate without a majority logs the missing workers, and ends after a while") {
  Voter voter(1);
  voter.silent = {2};
  voter.lose(false);
  voter.tick(kMajorityLogDelay + 0.1);
  REQUIRE_FALSE(voter.lines.empty());
  CHECK_THAT(voter.lines.back(), Contains("missing: rank 0") && Contains("rank 2") && Contains("waiting for them"));
  voter.election.tick(voter.now += 25, 3);  // three seconds of it this process did not run
  CHECK_FALSE(voter.view.ended());
  voter.tick(1);
  REQUIRE(voter.view.ended());
  CHECK(voter.view.end()->code == Code::peer_lost);
}

// Found with `actorhost rehearse --hosts 5 --order 264 --faults kill=2,break=1,partition=1:700ms,within=900ms`.
TEST_CASE("a candidate does not take over a table that has dropped it") {
  Voter voter(1);
  voter.lose(false);
  AttachMessage attach = voter.attach_of(2, 0);
  std::vector<Member> workers = {{0, 0}, {2, 2}};
  std::vector<ProcessInfo> infos = {{0, "h0", "tcp://h:0"}, {2, "h2", "tcp://h:2"}};
  attach.tables.push_back(Membership(8, workers, infos));  // proposed by the lost coordinator
  voter.election.on_attach(12, std::move(attach), voter.now);
  CHECK_FALSE(voter.takeover.has_value());
  REQUIRE(voter.view.ended());
  CHECK_THAT(voter.view.end()->message, Contains("the other hosts have dropped this one"));
}

TEST_CASE("a candidate ends at once when the others have closed their links and are alive") {
  Voter voter(1);
  voter.peers.down(12, "closed by the peer");
  voter.lose(true);
  voter.election.on_proof(0, PortState::open, voter.now);
  voter.tick(0);
  CHECK(voter.proofs == std::vector<ProcessId>{0, 2});
  CHECK_FALSE(voter.view.ended());
  voter.election.on_proof(2, PortState::open, voter.now);
  REQUIRE(voter.view.ended());
  CHECK_THAT(voter.view.end()->message, Contains("have closed their links"));
}
