// The parameter server from C++, each figure beside its yardstick, in turns: push (the server adds) and pull of a 26 MB
// model, between processes over loopback TCP, through shared memory, and between threads; a model of 100 floats; two
// workers at once;
// operations on small keys. Usage: param_bench [rounds]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/engine/param/param_node.hpp"
#include "host/net/local_transport.hpp"
#include "host/net/stream_transport.hpp"
#include "tests/bench/in_turns.hpp"
#include "tests/host/barrier/progress_rules.hpp"

using namespace actorhost;
using namespace actorhost::test;

namespace {

constexpr size_t kModelFloats = 6500000;
constexpr size_t kModelBytes = kModelFloats * 4;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "param_bench: %s\n", what.c_str());
  std::fflush(nullptr);
  ::kill(0, SIGTERM);  // ends the servers too; runs no destructors, since threads may be at any point
  std::_Exit(1);
}
void must(const Status& status) {
  if (!status.ok()) die(status.error().message);
}
template <typename T>
T must(Result<T> result) {
  if (!result) die(result.error().message);
  return *std::move(result);
}

ParamKey key_of(double number) { return must(ParamKey::of(number)); }

ParamTensor floats(size_t n, float value) {
  Blob data = Blob::allocate(n * 4);
  std::fill_n(reinterpret_cast<float*>(data.data()), n, value);
  return ParamTensor::whole({Dtype::f32, {static_cast<int64_t>(n)}}, std::move(data));
}

// --- raw sockets

void write_all(int fd, const char* data, size_t n) {
  while (n != 0) {
    const ssize_t wrote = ::write(fd, data, n);
    if (wrote <= 0) _exit(0);
    data += wrote;
    n -= static_cast<size_t>(wrote);
  }
}
void read_all(int fd, char* data, size_t n) {
  while (n != 0) {
    const ssize_t got = ::read(fd, data, n);
    if (got <= 0) _exit(0);
    data += got;
    n -= static_cast<size_t>(got);
  }
}

/// A process at the other end of a TCP connection. Reads `in` bytes and replies with `out` bytes, repeatedly.
class RawPeer {
 public:
  RawPeer(size_t in, size_t out) : in_(out), out_(in) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 1) != 0 ||
        ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      die("cannot listen");
    }
    child_ = ::fork();
    fd_ = child_ == 0 ? ::socket(AF_INET, SOCK_STREAM, 0) : ::accept(listener, nullptr, nullptr);
    if (child_ == 0 && ::connect(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0) _exit(1);
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (child_ != 0) return;
    std::vector<char> a(in);
    std::vector<char> b(out, 1);
    for (;;) {
      read_all(fd_, a.data(), in);
      write_all(fd_, b.data(), out);
    }
  }
  ~RawPeer() {
    ::close(fd_);
    ::waitpid(child_, nullptr, 0);
  }
  double trip(int times) {
    const double start = seconds();
    for (int i = 0; i < times; ++i) {
      write_all(fd_, out_.data(), out_.size());
      read_all(fd_, in_.data(), in_.size());
    }
    return (seconds() - start) / times;
  }

 private:
  std::vector<char> in_;
  std::vector<char> out_;
  pid_t child_ = 0;
  int fd_ = -1;
};

// --- the server's side

/// Serves runs one after the other until a message ends it: native add, asp, each worker gets the model.
void serve(Port& port, const Clock& clock, Log& log, uint32_t workers, const std::atomic<bool>& end) {
  PortChannel channel(port);
  ParamStore store;
  ParamNode node(channel, 1);
  const std::unique_ptr<BarrierRule> rule = native_asp();
  for (RunId run = 1; !end; ++run) {
    ParamServer::Config config{UpdateRule::native({kernel::OptimiserKind::add}), {}};
    config.run.run = run;
    for (NodeId id = 0; id < workers; ++id) config.run.members.push_back(id);
    ParamServer server(config, store, rule.get(), log);
    node.serve(&server);
    while (!end && !node.run_is_over()) {
      auto request = must(node.wait(clock.now() + 0.05));
      if (!request) continue;
      if (std::holds_alternative<StopRequest>(*request)) server.answer_stop(false);
      if (const auto* schedule = std::get_if<ScheduleRequest>(&*request)) {
        std::map<NodeId, std::vector<ParamEntry>> tasks;
        for (const NodeId id : schedule->workers) tasks[id].push_back({key_of(0), ParamFetch{}, 0});
        must(server.answer_schedule(std::move(tasks), clock.now()));
      }
    }
    node.serve(nullptr);
  }
}

class Events final : public LinkEvents {
 public:
  StreamTransport* transport = nullptr;
  ProcessId peer = 1;
  void on_link_up(LinkId link, std::optional<ProcessId>, const std::string&) override { transport->assign(link, peer); }
  void on_link_down(LinkId, ProcessId, const std::string&) override {}
  void on_service_frame(LinkId, Frame&&) override {}
  void on_link_wanted(ProcessId) override {}
};

/// A server in a separate process, reached over loopback TCP or through shared memory.
class RemoteServer {
 public:
  RemoteServer(uint32_t workers, bool share_memory) {
    int pipe[2];
    if (::pipe(pipe) != 0) die("no pipe");
    child_ = ::fork();
    if (child_ == 0) {
      ::close(pipe[0]);
      run(pipe[1], workers, share_memory);
    }
    ::close(pipe[1]);
    char url[128] = {};
    read_all(pipe[0], url, sizeof url);
    url_ = url;
    ::close(pipe[0]);
  }
  ~RemoteServer() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  const std::string& url() const { return url_; }

 private:
  [[noreturn]] static void run(int fd, uint32_t workers, bool share_memory) {
    Log log(LogLevel::warn);
    SteadyClock clock;
    Events events;
    StreamTransport transport({.share_memory = share_memory}, log, events);
    events.transport = &transport;
    for (NodeId id = 0; id < workers; ++id) transport.set_route(worker_address(id), 1);
    Port port(transport, server_address(0), clock);  // before a process can connect
    char url[128] = {};
    const std::string bound = must(transport.listen("tcp://127.0.0.1:0"));
    bound.copy(url, sizeof url - 1);
    write_all(fd, url, sizeof url);
    const std::atomic<bool> end{false};
    serve(port, clock, log, workers, end);
    _exit(0);
  }
  pid_t child_ = 0;
  std::string url_;
};

/// This process's end of a connection to a RemoteServer.
struct RemoteClient {
  Log log{LogLevel::warn};
  SteadyClock clock;
  Events events;
  StreamTransport transport{{}, log, events};

  explicit RemoteClient(const RemoteServer& server) {
    events.transport = &transport;
    events.peer = 0;
    transport.set_route(server_address(0), 0);
    must(transport.dial(server.url(), 5));
  }
};

struct LocalServer {
  Log log{LogLevel::warn};
  SteadyClock clock;
  LocalTransport transport;
  Port port{transport, server_address(0), clock};
  std::atomic<bool> end{false};
  std::thread thread;

  explicit LocalServer(uint32_t workers) : thread([this, workers] { serve(port, clock, log, workers, end); }) {}
  ~LocalServer() {
    end = true;
    thread.join();
  }
};

/// One worker's end.
class Client {
 public:
  Client(Transport& transport, const Clock& clock, NodeId id)
      : id_(id), port_(transport, worker_address(id), clock), channel_(port_), node_(channel_, 1) {}

  ParamNode& node() { return node_; }
  void start(RunId run) {
    must(node_.begin({run, id_, 1, false, false}));
    must(node_.next_event());
  }
  /// Seconds of a step: push the model, then fetch the next task with the model.
  double step(const std::vector<ParamEntry>& update) {
    const double start = seconds();
    must(node_.push(update));
    must(node_.next_event());
    return seconds() - start;
  }

 private:
  NodeId id_;
  Port port_;
  PortChannel channel_;
  ParamNode node_;
};

void line(const char* what, double ours, double yard, const char* unit, const char* goal) {
  std::printf("%-56s %10.4g %10.4g %-8s %6.2fx  (goal %s)\n", what, ours, yard, unit, ours / yard, goal);
  std::fflush(stdout);
}

double memcpy_and_add(std::vector<float>& a, std::vector<float>& b) {
  const double start = seconds();
  std::memcpy(a.data(), b.data(), kModelBytes);
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  asm volatile("" : : "r"(a.data()) : "memory");
  return seconds() - start;
}

struct Place {
  const char* name;
  Client& client;
};

void big_model(int rounds, RawPeer& raw, const std::vector<Place>& remote, Client& local) {
  const std::vector<ParamEntry> update = {{key_of(0), floats(kModelFloats, 0.5F), 0}};
  const auto start = [&](Client& client) {
    must(client.node().set(update));
    client.start(1);
    for (int i = 0; i < 3; ++i) client.step(update);
  };
  for (const Place& place : remote) start(place.client);
  start(local);
  std::vector<float> a(kModelFloats, 1);
  std::vector<float> b(kModelFloats, 2);
  raw.trip(2);
  std::vector<std::vector<double>> ours(remote.size());
  std::vector<double> yard, local_yard, local_ours;
  for (int i = 0; i < rounds; ++i) {
    yard.push_back(raw.trip(1));
    for (size_t k = 0; k < remote.size(); ++k) ours[k].push_back(remote[k].client.step(update));
    local_yard.push_back(memcpy_and_add(a, b));
    local_ours.push_back(local.step(update));
  }
  for (size_t k = 0; k < remote.size(); ++k) {
    line(("26 MB push + pull, " + std::string(remote[k].name) + " / raw TCP").c_str(), median(ours[k]) * 1e3,
         median(yard) * 1e3, "ms", "<= 1.2x");
  }
  line("26 MB push + pull, threads / memcpy + add", median(local_ours) * 1e3, median(local_yard) * 1e3, "ms", "<= 3x");
}

void small_model(int rounds, RawPeer& raw, const std::vector<Place>& places) {
  const std::vector<ParamEntry> update = {{key_of(0), floats(100, 0.5F), 0}};
  for (const Place& place : places) {
    must(place.client.node().set(update));
    place.client.step(update);  // the current task still has the big model
  }
  constexpr int kSteps = 500;
  std::vector<double> yard;
  std::vector<std::vector<double>> ours(places.size());
  for (int i = 0; i < rounds; ++i) {
    yard.push_back(raw.trip(kSteps));
    for (size_t k = 0; k < places.size(); ++k) {
      double took = 0;
      for (int step = 0; step < kSteps; ++step) took += places[k].client.step(update);
      ours[k].push_back(took / kSteps);
    }
  }
  for (size_t k = 0; k < places.size(); ++k) {
    const bool tcp = k == 0;
    line(("100-float push + pull, " + std::string(places[k].name) + " / raw TCP ping-pong").c_str(),
         median(ours[k]) * 1e6, median(yard) * 1e6, "us",
         tcp      ? "<= 1.3x"
         : k == 1 ? "6 us"
                  : "3 us");
  }
}

void small_keys(int rounds, Client& tcp, Client& local) {
  std::vector<ParamKey> keys;
  std::vector<ParamEntry> entries;
  for (int i = 0; i < 1000; ++i) {
    keys.push_back(key_of(100 + i));
    entries.push_back({keys.back(), floats(4, 1), 0});
  }
  std::vector<double> figures[4];
  for (int i = 0; i < rounds; ++i) {
    int f = 0;
    for (Client* client : {&tcp, &local}) {
      must(client->node().set(entries));
      double start = seconds();
      for (int k = 0; k < 300; ++k) must(client->node().get({keys[static_cast<size_t>(k)]}));
      figures[f++].push_back(300 / (seconds() - start));
      start = seconds();
      for (int k = 0; k < 20; ++k) must(client->node().get(keys));
      figures[f++].push_back(20 * 1000 / (seconds() - start));
    }
  }
  std::printf("small keys read a second: one by one %.3g TCP, %.3g threads; 1,000 a call %.3g TCP, %.3g threads\n",
              median(figures[0]), median(figures[2]), median(figures[1]), median(figures[3]));
}

double two_workers(Transport& transport, const Clock& clock, int rounds) {
  std::vector<std::thread> threads;
  std::vector<double> took(2);
  for (NodeId id = 0; id < 2; ++id) {
    threads.emplace_back([&, id] {
      Client client(transport, clock, id);
      const std::vector<ParamEntry> update = {{key_of(0), floats(kModelFloats, 0.5F), 0}};
      if (id == 0) must(client.node().set(update));
      client.start(1);
      for (int i = 0; i < 3; ++i) client.step(update);
      const double start = seconds();
      for (int i = 0; i < rounds; ++i) client.step(update);
      took[id] = seconds() - start;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 2.0 * 2 * rounds * double(kModelBytes) / std::max(took[0], took[1]) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  ::signal(SIGPIPE, SIG_IGN);
  ::setpgid(0, 0);
  // Processes first: fork only while there is a single thread.
  RawPeer raw_big(kModelBytes, kModelBytes);
  RawPeer raw_small(400, 400);
  RemoteServer server(1, false);
  RemoteServer sharing_server(1, true);
  RemoteServer server_for_two(2, false);
  std::printf("%-56s %10s %10s\n", "", "ours", "yardstick");
  {
    RemoteClient tcp(server);
    RemoteClient shared(sharing_server);
    LocalServer local(1);
    Client over_tcp(tcp.transport, tcp.clock, 0);
    Client over_memory(shared.transport, shared.clock, 0);
    Client in_process(local.transport, local.clock, 0);
    big_model(rounds, raw_big, {{"TCP", over_tcp}, {"shared memory", over_memory}}, in_process);
    small_model(rounds, raw_small, {{"TCP", over_tcp}, {"shared memory", over_memory}, {"threads", in_process}});
    small_keys(rounds, over_tcp, in_process);
  }
  RemoteClient tcp(server_for_two);
  const double over_tcp = two_workers(tcp.transport, tcp.clock, rounds);
  LocalServer local(2);
  const double threads = two_workers(local.transport, local.clock, rounds);
  std::printf("26 MB model, 1 server, 2 workers, both ways: %.2f GB/s TCP, %.2f GB/s threads\n", over_tcp, threads);
  return 0;
}
