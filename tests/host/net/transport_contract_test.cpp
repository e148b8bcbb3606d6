#include "tests/host/net/transport_contract.hpp"

#include "host/net/local_transport.hpp"
#include "tests/host/net/sim_transport.hpp"
#include "tests/host/net/stream_cluster.hpp"
#include "tests/test.hpp"

namespace {

void attach_all(Net& net) {
  for (Address node = 0; node < net.nodes; ++node) REQUIRE(net.of(node).attach(node, *net.boxes[node]).ok());
}

struct LocalNet final : Net {
  LocalNet(size_t node_count, size_t nodes_per_process, size_t frames = 1 << 16)
      : Net(node_count, nodes_per_process, frames) {
    attach_all(*this);
  }
  Transport& of(Address) override { return transport; }
  void progress() override { std::this_thread::yield(); }
  bool travel() override { return false; }
  void close() override { transport.close(); }

  LocalTransport transport;
};

struct SimNet final : Net {
  SimNet(size_t node_count, size_t nodes_per_process, size_t frames = 1 << 16)
      : Net(node_count, nodes_per_process, frames), transport(clock, 5) {
    transport.set_links({.latency = exponential_latency(0.001), .max_queued_bytes = 4 << 20});
    transport.set_link(0, 0, {.latency = constant_latency(0), .max_queued_bytes = 4 << 20});
    for (Address node = 0; node < nodes; ++node) {
      transport.place(node, static_cast<ProcessId>(node / nodes_per_process));
    }
    attach_all(*this);
  }
  Transport& of(Address) override { return transport; }
  void progress() override { transport.step(); }
  bool travel() override { return transport.step(); }
  void close() override { transport.close(); }

  ManualClock clock;
  SimTransport transport;
};

struct StreamNet : Net {
  StreamNet(const char* scheme, bool share_memory, size_t node_count, size_t nodes_per_process, size_t frames)
      : Net(node_count, nodes_per_process, frames),
        cluster(
            (node_count + nodes_per_process - 1) / nodes_per_process, scheme,
            {.token = "token", .tls = test_tls_files(), .share_memory = share_memory, .max_queued_bytes = 1 << 20}) {
    attach_all(*this);
    for (size_t process = 0; process < cluster.hosts.size(); ++process) {
      for (Address node = 0; node < nodes; ++node) {
        const auto home = static_cast<ProcessId>(node / nodes_per_process);
        if (home != process) cluster.at(process).set_route(node, home);
      }
    }
  }
  Transport& of(Address node) override { return cluster.at(node / per_process); }
  void progress() override {
    // Waits a moment on each mailbox in turn, as its node would; a frame ends the wait.
    const size_t box = turn++ % nodes;
    of(static_cast<Address>(box)).pop_all(*boxes[box], spins[box], received[box], 0.0005);
  }
  bool travel() override {
    const SteadyClock clock;
    const double deadline = clock.now() + 0.2;
    const uint64_t before = bytes_received();
    while (clock.now() < deadline) {
      if (bytes_received() != before) return true;
      std::this_thread::yield();
    }
    return false;
  }
  uint64_t bytes_received() const {
    uint64_t bytes = 0;
    for (const auto& host : cluster.hosts) bytes += host->transport.counters().bytes_received;
    return bytes;
  }
  void close() override {
    for (const auto& host : cluster.hosts) host->transport.close();
  }

  size_t turn = 0;
  std::vector<SpinWait> spins = std::vector<SpinWait>(nodes);
  StreamCluster cluster;
};

struct TcpNet final : StreamNet {
  TcpNet(size_t n, size_t per, size_t frames = 1 << 16) : StreamNet("tcp", false, n, per, frames) {}
};
struct SharedNet final : StreamNet {
  SharedNet(size_t n, size_t per, size_t frames = 1 << 16) : StreamNet("tcp", true, n, per, frames) {}
};
struct IpcNet final : StreamNet {
  IpcNet(size_t n, size_t per, size_t frames = 1 << 16) : StreamNet("ipc", false, n, per, frames) {}
};
struct TlsNet final : StreamNet {
  TlsNet(size_t n, size_t per, size_t frames = 1 << 16) : StreamNet("tls+tcp", false, n, per, frames) {}
};

constexpr size_t kSizes[] = {1, 2, 3, 5, 8};
// Between processes a receiver is full once all buffers on the way are full: large bodies fill them soon.
template <typename N>
constexpr size_t kFullBody = std::is_same_v<N, LocalNet> ? 0 : 200000;

}  // namespace

#define ALL_NETS LocalNet, SimNet, TcpNet, SharedNet, IpcNet, TlsNet

TEMPLATE_TEST_CASE("frames between each pair arrive once and in order", "", ALL_NETS) {
  for (size_t nodes : kSizes) {
    TestType net(nodes, 1);
    check_order_per_pair(net, 100);
  }
}

TEMPLATE_TEST_CASE("several nodes in a process keep this order", "", ALL_NETS) {
  for (size_t nodes : kSizes) {
    TestType net(nodes, 3);
    check_order_per_pair(net, 60);
  }
}

TEMPLATE_TEST_CASE("frames between two processes keep their order across addresses", "", ALL_NETS) {
  for (size_t nodes : {2, 4, 8}) {
    TestType net(nodes, nodes / 2);
    check_order_per_process(net, 2000);
  }
}

TEMPLATE_TEST_CASE("a full receiver refuses frames, leaves them with the sender and loses none", "", ALL_NETS) {
  for (size_t nodes : {1, 2, 3}) {
    TestType net(nodes, 1, 8);
    check_full(net, kFullBody<TestType>);
  }
}

TEMPLATE_TEST_CASE("a small mailbox slows its senders without loss", "", ALL_NETS) {
  for (size_t nodes : kSizes) {
    TestType net(nodes, 1, 4);
    check_order_per_pair(net, 60);
  }
}

TEMPLATE_TEST_CASE("bodies and metadata of all sizes arrive whole and aligned", "[deep]", ALL_NETS) {
  for (size_t nodes : {1, 2}) {
    TestType net(nodes, 1);
    check_sizes(net);
  }
}

TEMPLATE_TEST_CASE("many small frames arrive", "", ALL_NETS) {
  TestType net(2, 1);
  check_order_per_pair(net, 20000);
}

TEMPLATE_TEST_CASE("a send that waits for room ends at its deadline", "", ALL_NETS) {
  for (size_t nodes : {1, 2}) {
    TestType net(nodes, 1, 8);
    check_deadline(net, kFullBody<TestType>);
  }
}

TEMPLATE_TEST_CASE("sending to an unknown address returns peer_lost", "", ALL_NETS) {
  TestType net(2, 1);
  check_unknown_address(net);
}

TEMPLATE_TEST_CASE("a detached mailbox is not touched any more", "", ALL_NETS) {
  TestType net(2, 1);
  check_detach(net);
}

TEMPLATE_TEST_CASE("control frames enter a full mailbox", "", ALL_NETS) {
  TestType net(1, 1, 8);
  check_control_past_bounds(net, kFullBody<TestType>);
}

TEMPLATE_TEST_CASE("closing is safe after any number of frames", "", ALL_NETS) {
  for (uint32_t steps : {0, 1, 2, 3, 5, 8, 50, 300}) {
    for (size_t nodes : {1, 3}) {
      TestType net(nodes, 1);
      check_close(net, steps);
    }
  }
}

TEMPLATE_TEST_CASE("closing is safe while other threads send and read", "", LocalNet, TcpNet, SharedNet, IpcNet,
                   TlsNet) {
  for (uint32_t round = 0; round < 20; ++round) {
    TestType net(3, 1, 64);
    std::atomic<uint32_t> sent{0};
    std::vector<std::thread> nodes;
    for (Address node = 0; node < 3; ++node) {
      nodes.emplace_back([&, node] {
        for (uint32_t tag = 0;; ++tag) {
          Frame frame = test_frame(node, (node + tag) % 3, tag, 40, tag % 50 == 0 ? 100000 : 0);
          const Status status = net.of(node).send(std::move(frame), 0.001);
          if (!status.ok() && status.error().code != Code::timeout) break;
          ++sent;
          std::vector<Frame> out;
          net.boxes[node]->pop_all(out, 0);
        }
      });
    }
    while (sent < 30 + round * 40) std::this_thread::yield();
    net.close();
    for (std::thread& node : nodes) node.join();
    for (Address node = 0; node < 3; ++node) {
      CHECK(net.of(node).try_send(test_frame(node, node, 0)).error().code == Code::interrupted);
    }
  }
}
