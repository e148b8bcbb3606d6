#include "host/wire/frame.hpp"

#include "host/base/random.hpp"
#include "tests/test.hpp"

namespace {

using Header = std::array<std::byte, kHeaderBytes>;

Frame sample() {
  Frame frame;
  frame.kind = Kind::collective_first;
  frame.flags = 5;
  frame.src = 1;
  frame.dst = server_address(2);
  frame.tag = 0xdeadbeef;
  frame.meta.resize(70);
  frame.body = Blob::allocate(300);
  return frame;
}

Header encoded(const Frame& frame) {
  Header header;
  encode_header(frame, header.data());
  return header;
}

}  // namespace

TEST_CASE("a header is read as it was written") {
  const auto header = required(decode_header(encoded(sample()).data(), {}));
  CHECK(header->kind == Kind::collective_first);
  CHECK(header->flags == 5);
  CHECK(header->src == 1);
  CHECK(header->dst == server_address(2));
  CHECK(header->tag == 0xdeadbeef);
  CHECK(header->meta_bytes == 70);
  CHECK(header->body_bytes == 300);
}

TEST_CASE("an invalid header is bad data with the reason") {
  const auto changed = [](size_t at, int value) {
    Header header = encoded(sample());
    header.at(at) = static_cast<std::byte>(value);
    const auto result = decode_header(header.data(), {});
    CHECK(failure_of(result).code == Code::bad_data);
    return result.error().message;
  };
  CHECK(changed(0, 0).find("magic") != std::string::npos);
  CHECK(changed(2, 9).find("version 9") != std::string::npos);
  CHECK(changed(6, 1).find("reserved") != std::string::npos);
  CHECK(changed(23, 1).find("metadata") != std::string::npos);
  CHECK(changed(30, 1).find("body") != std::string::npos);
}

TEST_CASE("the body starts at a multiple of 64 from the start of the frame") {
  for (size_t meta = 0; meta < 300; ++meta) {
    CHECK(padding_bytes(meta, 0) == 0);
    CHECK((kHeaderBytes + meta + padding_bytes(meta, 1)) % kBodyAlignment == 0);
    CHECK(padding_bytes(meta, 1) < kBodyAlignment);
  }
}

TEST_CASE("random headers are decoded within the limits or refused") {
  const uint64_t seed = 3;
  Rng rng(seed);
  const FrameLimits limits{.meta_bytes = 1000, .body_bytes = 100000};
  size_t taken = 0;
  for (int round = 0; round < 300000; ++round) {
    Header header;
    if (rng.below(3) == 0) {
      for (std::byte& byte : header) byte = static_cast<std::byte>(rng.next());
    } else {
      header = encoded(sample());
      for (uint64_t flips = rng.below(3); flips-- > 0;) {
        header.at(rng.below(kHeaderBytes)) ^= static_cast<std::byte>(1U << rng.below(8));
      }
    }
    const auto result = decode_header(header.data(), limits);
    if (!result.ok()) continue;
    ++taken;
    if (result->meta_bytes > limits.meta_bytes || result->body_bytes > limits.body_bytes) {
      FAIL("seed " << seed << ", round " << round << ": a size over its limit");
    }
  }
  CHECK(taken > 50000);
}

TEST_CASE("the kinds of every layer's range are known, and kinds between the ranges are not") {
  Kind end{0};
  for (const KindRange& range : kKindRanges) {
    CHECK(range.first > end);  // in order, and no two share a kind
    CHECK(range.last >= range.first);
    CHECK(known_kind(range.first));
    CHECK(known_kind(range.last));
    end = range.last;
  }
  CHECK(known_kind(Kind::link_hello));
  for (int kind : {0x0000, 0x0004, 0x00ff, 0x5500, 0x7eff, 0x8000, 0xffff})
    CHECK_FALSE(known_kind(static_cast<Kind>(kind)));
}

TEST_CASE("an address has a name") {
  CHECK(address_name(worker_address(3)) == "worker 3");
  CHECK(address_name(server_address(0)) == "server 0");
  CHECK(address_name(service_address(1)) == "host 1");
  CHECK(address_name(data_address(1)) == "data 1");
  CHECK(address_name(courier_address(1)) == "courier 1");
  CHECK(address_name(kNoAddress) == "no node");
  CHECK(address_name(kExtensionBit) == "no node");
  CHECK(address_index(service_address(77)) == 77);
  CHECK(address_index(data_address(77)) == 77);
  CHECK(address_index(courier_address(77)) == 77);
}

TEST_CASE("an address has one kind, and kNoAddress has none") {
  const auto kinds = [](Address a) {
    return std::array{is_worker(a), is_server(a), is_service(a), is_data(a), is_courier(a), is_of_process(a)};
  };
  for (const uint32_t index : {0U, 1U, 77U, kAddressMask - 1}) {
    CHECK(kinds(worker_address(index)) == std::array{true, false, false, false, false, false});
    CHECK(kinds(server_address(index)) == std::array{false, true, false, false, false, false});
    CHECK(kinds(service_address(index)) == std::array{false, false, true, false, false, true});
    CHECK(kinds(data_address(index)) == std::array{false, false, false, true, false, true});
    CHECK(kinds(courier_address(index)) == std::array{false, false, false, false, true, true});
  }
  for (const Address address : {kNoAddress, kExtensionBit, kExtensionBit | kServerBit, kExtensionBit | kDataBits}) {
    CHECK(kinds(address) == std::array{false, false, false, false, false, false});
  }
}
