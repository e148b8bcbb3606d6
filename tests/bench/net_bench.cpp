// Frames in one process and over loopback TCP beside the usual alternatives. Usage: net_bench [rounds] [figure...],
// where a figure is one of: local-rate local-trip tcp-rate tcp-trip tcp-body shared-rate shared-trip shared-body.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "host/net/local_transport.hpp"
#include "host/net/port.hpp"
#include "host/net/stream_transport.hpp"
#include "tests/bench/net_figures.hpp"
#include "tests/bench/net_yardsticks.hpp"

using namespace actorhost;
using namespace actorhost::bench;

namespace {

constexpr Address kMeasurer = 0;
constexpr Address kPartner = 1;

template <typename T>
T must(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "net_bench: %s\n", result.error().message.c_str());
  std::_Exit(1);
}

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "net_bench: %s\n", status.error().message.c_str());
  std::_Exit(1);
}

bool any(const Frame&) { return true; }

Frame small_frame(Address to) {
  Frame frame;
  frame.dst = to;
  frame.meta.resize(64);
  return frame;
}

/// Receives `frames` frames, then replies with one frame.
void drain(Port& port, size_t frames, Address answer_to) {
  std::vector<Frame> got;
  for (size_t count = 0; count < frames; count += got.size()) {
    got.clear();
    must(port.receive_all(any, kForever, got));
  }
  must(port.send(small_frame(answer_to)));
}

void echo(Port& port, size_t rounds) {
  for (size_t i = 0; i < rounds; ++i) {
    Frame frame = must(port.receive(any));
    frame.dst = kMeasurer;
    must(port.send(std::move(frame)));
  }
}

/// Sends `frames` frames made by `make` and waits for the reply; returns seconds.
template <typename Make>
double send_all(Port& port, size_t frames, Make make) {
  const double start = seconds();
  for (size_t i = 0; i < frames; ++i) must(port.send(make()));
  must(port.receive(any));
  return seconds() - start;
}

double round_trips(Port& port, size_t rounds) {
  const double start = seconds();
  for (size_t i = 0; i < rounds; ++i) {
    must(port.send(small_frame(kPartner)));
    must(port.receive(any));
  }
  return (seconds() - start) / static_cast<double>(rounds) * 1e6;
}

double local_rate(size_t frames) {
  const SteadyClock clock;
  LocalTransport transport;
  Port sender(transport, kMeasurer, clock);
  Port receiver(transport, kPartner, clock);
  std::thread reader([&] { drain(receiver, frames, kMeasurer); });
  const double took = send_all(sender, frames, [] { return small_frame(kPartner); });
  reader.join();
  return static_cast<double>(frames) / took / 1e6;
}

double local_round_trip(size_t rounds) {
  const SteadyClock clock;
  LocalTransport transport;
  Port sender(transport, kMeasurer, clock);
  Port receiver(transport, kPartner, clock);
  std::thread partner([&] { echo(receiver, rounds); });
  const double took = round_trips(sender, rounds);
  partner.join();
  return took;
}

/// Assigns the first established link to the other process, at both ends.
class Assign final : public LinkEvents {
 public:
  explicit Assign(ProcessId other) : other_(other) {}
  void on_link_up(LinkId link, std::optional<ProcessId>, const std::string&) override {
    transport->assign(link, other_);
  }
  void on_link_down(LinkId, ProcessId, const std::string&) override { over.release(); }
  void on_service_frame(LinkId, Frame&&) override {}
  void on_link_wanted(ProcessId) override {}

  StreamTransport* transport = nullptr;
  std::binary_semaphore over{0};

 private:
  const ProcessId other_;
};

struct Host {
  Host(ProcessId process, bool share_memory)
      : events(1 - process), transport({.share_memory = share_memory}, log, events) {
    events.transport = &transport;
    transport.set_route(process == 0 ? kPartner : kMeasurer, 1 - process);
  }

  const SteadyClock clock;
  Log log{LogLevel::warn};
  Assign events;
  StreamTransport transport;
};

/// `partner` runs in a listening process, `measure` in a process that dials it. Over TCP, or with `share_memory`
/// through shared memory.
double in_processes(bool share_memory, const std::function<void(Port&)>& partner,
                    const std::function<double(Port&)>& measure) {
  return in_two_processes(
      [&](const auto& announce) {
        Host host(1, share_memory);
        Port port(host.transport, kPartner, host.clock);
        announce(must(host.transport.listen("tcp://127.0.0.1:0")));
        partner(port);
        host.events.over.acquire();  // the other process has ended
      },
      [&](const std::string& url) {
        Host host(0, share_memory);
        Port port(host.transport, kMeasurer, host.clock);
        must(host.transport.dial(url, 10));
        return measure(port);
      });
}

double rate(bool share_memory, size_t frames) {
  return in_processes(
      share_memory, [frames](Port& port) { drain(port, frames, kMeasurer); },
      [frames](Port& port) {
        const double took = send_all(port, frames, [] { return small_frame(kPartner); });
        return static_cast<double>(frames) / took / 1e6;
      });
}

double round_trip(bool share_memory, size_t rounds) {
  return in_processes(
      share_memory, [rounds](Port& port) { echo(port, rounds); },
      [rounds](Port& port) { return round_trips(port, rounds); });
}

double body_bandwidth(bool share_memory, size_t bytes, size_t count) {
  return in_processes(
      share_memory, [count](Port& port) { drain(port, count, kMeasurer); },
      [=](Port& port) {
        const Blob body = Blob::copy_of(std::string(bytes, 'b'));
        const double took = send_all(port, count, [&body] {
          Frame frame = small_frame(kPartner);
          frame.body = body;
          return frame;
        });
        return static_cast<double>(bytes * count) / took / 1e9;
      });
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  const auto wanted = [&](const char* figure) {
    return argc <= 2 ||
           std::any_of(argv + 2, argv + argc, [&](const char* name) { return std::string(name) == figure; });
  };
  constexpr size_t kItems = 1000000;
  constexpr size_t kTrips = 20000;
  constexpr size_t kMessages = 1000000;
  constexpr size_t kBody = 26000000;
  constexpr size_t kBodies = 40;
  std::printf("%-44s %10s %10s\n", "figure", "ours", "yardstick");
  const auto row = [&](const char* name, const Row& figures) {
    if (wanted(name)) print_row(figures, rounds);
  };
  row("local-rate",
      {"64-byte frames in process / mutex queue", "M/s", [] { return in_a_process([] { return local_rate(kItems); }); },
       [] { return in_a_process([] { return queue_rate(kItems, 1 << 16); }); }, ">= 0.5"});
  row("local-trip", {"round trip in process / mutex queue", "us",
                     [] { return in_a_process([] { return local_round_trip(kTrips); }); },
                     [] { return in_a_process([] { return queue_round_trip(kTrips); }); }, "<= 1.5"});
  row("tcp-rate", {"64-byte frames over TCP / ZeroMQ push-pull", "M/s", [] { return rate(false, kMessages); },
                   [] { return zmq_rate(kMessages); }, ">= 2"});
  row("tcp-trip", {"round trip over TCP / bare nng_stream", "us", [] { return round_trip(false, kTrips); },
                   [] { return nng_round_trip(kTrips); }, "<= 1.2"});
  row("tcp-body",
      {"26 MB one way over TCP / raw 256 KiB writes", "GB/s", [] { return body_bandwidth(false, kBody, kBodies); },
       [] { return tcp_bandwidth(kBody, kBodies); }, ">= 0.85"});
  row("shared-rate", {"64-byte frames, shared memory / ZeroMQ over TCP", "M/s", [] { return rate(true, kMessages); },
                      [] { return zmq_rate(kMessages); }, "none"});
  row("shared-trip", {"round trip, shared memory / bare nng_stream over TCP", "us",
                      [] { return round_trip(true, kTrips); }, [] { return nng_round_trip(kTrips); }, "none"});
  row("shared-body",
      {"26 MB one way, shared memory / raw writes over TCP", "GB/s",
       [] { return body_bandwidth(true, kBody, kBodies); }, [] { return tcp_bandwidth(kBody, kBodies); }, "none"});
  return 0;
}
