#include "tests/host/net/transport_contract.hpp"

#include <utility>

#include "host/base/random.hpp"

namespace actorhost::test {

namespace {

void fill(std::byte* bytes, size_t size, uint32_t tag) {
  // An odd multiplier that is not close to a small power of two, so that shifted or swapped blocks show.
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 167 + (i >> 8) * 31 + tag) & 0xff);
}

bool is_filled(const std::byte* bytes, size_t size, uint32_t tag) {
  std::vector<std::byte> expected(size);
  fill(expected.data(), size, tag);
  return size == 0 || std::memcmp(bytes, expected.data(), size) == 0;
}

/// Sends; reads all mailboxes whenever there is no room.
void send_reading(Net& net, Frame&& frame) {
  Status status;
  const bool sent = net.collect([&] {
    status = net.of(frame.src).try_send(std::move(frame));
    return status.ok() || status.error().code != Code::full;
  });
  INFO((status.ok() ? std::string("no room") : status.error().message));
  REQUIRE((sent && status.ok()));
}

/// Sends to a receiver that does not read, until a frame is refused; returns the number of sent frames.
uint32_t send_until_full(Net& net, Address src, Address dst, size_t body_bytes) {
  for (uint32_t tag = 0; tag < 100000; ++tag) {
    Frame frame = test_frame(src, dst, tag, 0, body_bytes);
    for (;;) {
      const Status status = net.of(src).try_send(std::move(frame));
      if (status.ok()) break;
      REQUIRE(status.error().code == Code::full);
      REQUIRE(is_intact(frame, 0, body_bytes));
      // Lets frames in flight arrive: the receiver must remain full.
      if (!net.travel()) return tag;
    }
  }
  FAIL("a receiver that does not read never gets full");
  return 0;
}

}  // namespace

Net::Net(size_t node_count, size_t nodes_per_process, size_t mailbox_frames)
    : nodes(node_count), per_process(nodes_per_process), received(node_count) {
  for (size_t i = 0; i < nodes; ++i) boxes.push_back(std::make_unique<Mailbox>(mailbox_frames));
}

void Net::read_all() {
  for (size_t i = 0; i < nodes; ++i) boxes[i]->pop_all(received[i], 0);
}

size_t Net::total_received() const {
  size_t total = 0;
  for (const auto& frames : received) total += frames.size();
  return total;
}

Frame test_frame(Address src, Address dst, uint32_t tag, size_t meta_bytes, size_t body_bytes) {
  Frame frame;
  frame.src = src;
  frame.dst = dst;
  frame.tag = tag;
  fill(frame.meta.resize(meta_bytes), meta_bytes, tag);
  frame.body = Blob::allocate(body_bytes);
  fill(frame.body.data(), body_bytes, tag + 1);
  return frame;
}

bool is_intact(const Frame& frame, size_t meta_bytes, size_t body_bytes) {
  return frame.meta.size() == meta_bytes && is_filled(frame.meta.data(), meta_bytes, frame.tag) &&
         frame.body.size() == body_bytes && is_filled(frame.body.data(), body_bytes, frame.tag + 1);
}

void check_order_per_pair(Net& net, uint32_t frames) {
  for (uint32_t tag = 0; tag < frames; ++tag) {
    for (Address src = 0; src < net.nodes; ++src) {
      for (Address dst = 0; dst < net.nodes; ++dst) {
        send_reading(net, test_frame(src, dst, tag, tag % 7, tag % 50 == 0 ? tag : 0));
      }
    }
  }
  const size_t all = frames * net.nodes * net.nodes;
  REQUIRE(net.collect([&] { return net.total_received() >= all; }));
  CHECK(net.total_received() == all);
  for (Address dst = 0; dst < net.nodes; ++dst) {
    std::map<Address, uint32_t> next;
    bool right = true;
    for (const Frame& frame : net.received[dst]) {
      right = right && frame.dst == dst && frame.tag == next[frame.src]++ &&
              is_intact(frame, frame.tag % 7, frame.tag % 50 == 0 ? frame.tag : 0);
    }
    CHECK(right);
  }
}

void check_order_per_process(Net& net, uint32_t frames) {
  const auto first = static_cast<Address>(net.per_process);
  const auto last = static_cast<Address>(net.nodes);
  Mailbox shared;
  for (Address dst = first; dst < last; ++dst) {
    net.of(dst).detach(dst);
    REQUIRE(net.of(dst).attach(dst, shared).ok());
  }
  Rng rng(1);
  for (uint32_t tag = 0; tag < frames; ++tag) {
    const auto src = static_cast<Address>(rng.below(first));
    const auto dst = static_cast<Address>(first + rng.below(last - first));
    send_reading(net, test_frame(src, dst, tag, rng.below(100), rng.below(20) == 0 ? 30000 : 0));
  }
  std::vector<Frame> all;
  REQUIRE(net.collect([&] {
    shared.pop_all(all, 0);
    return all.size() >= frames;
  }));
  uint32_t in_order = 0;
  while (in_order < all.size() && all[in_order].tag == in_order) ++in_order;
  CHECK(in_order == frames);
  for (Address dst = first; dst < last; ++dst) net.of(dst).detach(dst);
}

void check_full(Net& net, size_t body_bytes) {
  const Address dst = 0;
  const auto src = static_cast<Address>(net.nodes - 1);
  uint32_t sent = send_until_full(net, src, dst, body_bytes);
  std::atomic<bool> notified{false};
  net.of(src).when_room(dst, [&notified] { notified = true; });
  send_reading(net, test_frame(src, dst, sent++, 0, body_bytes));
  REQUIRE(net.collect([&] { return net.total_received() >= sent && notified; }));
  uint32_t right = 0;
  for (const Frame& frame : net.received[dst]) right += frame.tag == right && is_intact(frame, 0, body_bytes) ? 1 : 0;
  CHECK(right == sent);
}

void check_sizes(Net& net) {
  const Address dst = 0;
  const auto src = static_cast<Address>(net.nodes - 1);
  const std::vector<size_t> metas = {0, 1, 31, 32, 64, 65, 5000, 300000};
  const std::vector<size_t> bodies = {0, 1, 63, 64, 65, 16383, 16384, 16385, 262144, 1 << 20, 26000000};
  std::vector<std::pair<size_t, size_t>> sizes;
  for (size_t body : bodies) {
    for (size_t meta : metas) {
      if (body > 1 << 20 && meta > 32) continue;  // one combination of the large body is enough
      send_reading(net, test_frame(src, dst, static_cast<uint32_t>(sizes.size()), meta, body));
      sizes.emplace_back(meta, body);
    }
  }
  REQUIRE(net.collect([&] { return net.total_received() >= sizes.size(); }));
  const auto& frames = net.received[dst];
  REQUIRE(frames.size() == sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    INFO("metadata of " << sizes[i].first << " and body of " << sizes[i].second << " bytes");
    CHECK(frames[i].tag == i);
    CHECK(is_intact(frames[i], sizes[i].first, sizes[i].second));
    CHECK(reinterpret_cast<uintptr_t>(frames[i].body.data()) % kBodyAlignment == 0);
  }
}

void check_deadline(Net& net, size_t body_bytes) {
  const Address dst = 0;
  const auto src = static_cast<Address>(net.nodes - 1);
  uint32_t sent = send_until_full(net, src, dst, body_bytes);
  // TCP enlarges its buffers for a while.
  Status status;
  Frame frame;
  for (; status.ok() && sent < 100000; ++sent) {
    frame = test_frame(src, dst, sent, 0, body_bytes);
    status = net.of(src).send(std::move(frame), 0.01);
  }
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == Code::timeout);
  CHECK(is_intact(frame, 0, body_bytes));
}

void check_unknown_address(Net& net) {
  const Status status = net.of(0).try_send(test_frame(0, static_cast<Address>(net.nodes), 0));
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == Code::peer_lost);
  CHECK(status.error().message.find(address_name(static_cast<Address>(net.nodes))) != std::string::npos);
}

void check_detach(Net& net) {
  net.of(0).detach(0);
  CHECK(net.of(0).try_send(test_frame(0, 0, 0)).error().code == Code::peer_lost);
  Mailbox another;
  REQUIRE(net.of(0).attach(0, another).ok());
  CHECK(net.of(0).attach(0, another).error().code == Code::bad_argument);
  REQUIRE(net.of(0).try_send(test_frame(0, 0, 1)).ok());
  std::vector<Frame> out;
  CHECK(net.collect([&] { return another.pop_all(out, 0); }));
  CHECK(net.total_received() == 0);
  net.of(0).detach(0);
}

void check_control_past_bounds(Net& net, size_t body_bytes) {
  const Address dst = 0;
  const uint32_t sent = send_until_full(net, dst, dst, body_bytes);
  Frame control = test_frame(dst, dst, sent);
  control.kind = Kind::cluster_first;
  REQUIRE(net.of(dst).try_send(std::move(control)).ok());
  REQUIRE(net.collect([&] { return net.total_received() > sent; }));
  CHECK(net.received[dst].back().kind == Kind::cluster_first);
}

void check_close(Net& net, uint32_t steps) {
  uint32_t tag = 0;
  for (uint32_t step = 0; step < steps; ++step) {
    for (Address src = 0; src < net.nodes; ++src) {
      const auto dst = static_cast<Address>((src + step) % net.nodes);
      const Status status = net.of(src).try_send(test_frame(src, dst, tag++, 40, step % 5 == 0 ? 100000 : 0));
      REQUIRE((status.ok() || status.error().code == Code::full));
    }
    if (step % 3 == 0) net.progress();
  }
  net.close();
  for (Address node = 0; node < net.nodes; ++node) {
    CHECK(net.of(node).try_send(test_frame(node, node, 0)).error().code == Code::interrupted);
    CHECK(net.boxes[node]->closed());
  }
  net.read_all();
  const size_t after = net.total_received();
  net.read_all();
  CHECK(net.total_received() == after);
  net.close();
}

}  // namespace actorhost::test
