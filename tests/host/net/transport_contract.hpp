#pragma once
// The contract of all transports (transport.hpp), as checks over a `Net` of some nodes. transport_contract_test.cpp
// runs the checks over LocalTransport, SimTransport and StreamTransport (tcp, shared memory, ipc, tls+tcp) at 1, 2, 3,
// 5 and 8 nodes. One thread drives all nodes: `progress` lets the transport continue, by a simulated event or by a
// short wait for a frame.

#include "host/net/transport.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

/// Nodes 0 .. size-1, node i in process i / per_process, each with a mailbox.
class Net : public Interface {
 public:
  Net(size_t nodes, size_t per_process, size_t mailbox_frames = size_t{1} << 16);

  /// The transport of the node's process.
  virtual Transport& of(Address node) = 0;
  virtual void progress() = 0;
  /// Lets frames travel without reading any mailbox; false when no frame moves any more.
  virtual bool travel() = 0;
  virtual void close() = 0;

  /// Reads all mailboxes into `received` until `done` holds; false after the time limit of a test.
  template <typename Done>
  bool collect(Done done) {
    const SteadyClock clock;
    const double deadline = clock.now() + 30;
    for (;;) {
      read_all();
      if (done()) return true;
      if (clock.now() > deadline) return false;
      progress();
    }
  }
  size_t total_received() const;
  void read_all();

  const size_t nodes;
  const size_t per_process;
  std::vector<std::unique_ptr<Mailbox>> boxes;
  std::vector<std::vector<Frame>> received;
};

Frame test_frame(Address src, Address dst, uint32_t tag, size_t meta_bytes = 0, size_t body_bytes = 0);
/// Whether meta and body equal those of test_frame for this tag and these sizes.
bool is_intact(const Frame& frame, size_t meta_bytes, size_t body_bytes);

/// Every node sends to every node, itself included: all arrives once, in order per pair.
void check_order_per_pair(Net& net, uint32_t frames);
/// `net` has 2 processes with one mailbox each, which shows the order across addresses.
void check_order_per_process(Net& net, uint32_t frames);
/// A receiver that does not read: try_send eventually returns full and keeps the frame, and no frame is lost later.
void check_full(Net& net, size_t body_bytes);
/// Bodies and metadata of many sizes arrive unchanged, bodies aligned.
void check_sizes(Net& net);
/// A send to a full receiver ends at its deadline and keeps the frame.
void check_deadline(Net& net, size_t body_bytes);
void check_unknown_address(Net& net);
void check_detach(Net& net);
/// Control frames reach a receiver without room for data.
void check_control_past_bounds(Net& net, size_t body_bytes);
/// Closes after `steps` of traffic; afterwards sending is Code::interrupted and no mailbox changes.
void check_close(Net& net, uint32_t steps);

}  // namespace actorhost::test
