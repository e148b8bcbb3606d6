// Frames of the parameter server with filtered values.

#include "host/engine/param/client.hpp"
#include "host/engine/param/worker.hpp"
#include "tests/host/engine/engine_values.hpp"
#include "tests/test.hpp"

namespace {

using Values = FilterSpec::Values;

size_t body_bytes(const std::vector<Frame>& frames) {
  size_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.body.size();
  return bytes;
}

Frame task_frame(bool filtered) {
  TaskHead head{.run = 4, .filtered = filtered};
  EntryPacker packer(param_kind::task, worker_address(2), 0, pack(head), true);
  std::vector<Frame> frames;
  packer.finish(frames);
  frames.at(0).src = server_address(0);
  return frames.at(0);
}

}  // namespace

TEST_CASE("a push is filtered if the task requests it, and reports its bytes") {
  Rng rng(1);
  const std::vector<ParamEntry> entries = {{key_of("big"), tensor_of(random_floats(rng, 700000)), 0},
                                           {key_of("bias"), tensor_of(random_floats(rng, 100)), 0},
                                           {key_of("table"), lua_of("a table"), 0},
                                           {key_of("gone"), std::monostate{}, 0}};
  const size_t before = 700000 * 4 + 400 + 7;
  for (const bool requested : {false, true}) {
    ParamClient client(3);
    ParamWorker worker({4, 2, 3, false, false, {.values = Values::levels}}, client);
    std::vector<Frame> frames;
    worker.handle(task_frame(requested), frames);
    REQUIRE(worker.next());
    REQUIRE(worker.push(entries, frames).ok());
    const size_t sent = body_bytes(frames);
    CHECK((requested ? sent * 39 < before * 10 : sent >= before));
    std::vector<ParamEntry> got;
    FilterBytes bytes;
    for (const Frame& frame : frames) {
      Unpacker in(frame.meta.view());
      const PushHead head = unpack_head<PushHead>(in).value();
      CHECK(head.filtered == requested);
      REQUIRE(read_entries(in, frame.body, false, got, &bytes).ok());
      if (!requested) continue;
      CHECK(head.traffic.pushed.before == before);
      CHECK(head.traffic.pushed.after <= sent);  // the body also has padding
      CHECK(head.traffic.pushed.after + 200 >= sent);
    }
    CHECK(bytes.before == before);
    CHECK((requested ? bytes.after <= sent : bytes.after == before));
    const auto& big = std::get<ParamTensor>(entries[0].value);
    size_t elements = 0;
    for (const ParamEntry& entry : got) {
      const auto* piece = std::get_if<ParamTensor>(&entry.value);
      if (piece == nullptr || entry.key != entries[0].key) continue;
      const auto found = values_of<float>(*piece);
      const float* expected = reinterpret_cast<const float*>(big.data.data()) + piece->first;
      elements += found.size();
      for (size_t i = 0; i < found.size(); ++i) {
        if (std::abs(found[i] - expected[i]) > (requested ? 0.03F : 0)) FAIL("element " << piece->first + i);
      }
    }
    CHECK(elements == 700000);
  }
}

TEST_CASE("filtered chunks with too large claims are refused before memory is allocated") {
  const std::vector<float> zeros(chunk_elements(Dtype::f32), 0.0F);
  const Blob few = Filter({.count = 1}).encode(Dtype::f32, zeros.size(), zeros.data());
  CHECK(few.size() < 20);
  const ParamTensor chunk = ParamTensor::whole({Dtype::f32, shape_of({static_cast<int64_t>(zeros.size())})}, {});
  const auto read = [&](const auto& pack) {
    EntryPacker packer(param_kind::push, server_address(0), 0, "");
    pack(packer);
    std::vector<Frame> frames;
    packer.finish(frames);
    std::vector<ParamEntry> out;
    Status status;
    for (const Frame& frame : frames) {
      Unpacker in(frame.meta.view());
      if (status.ok()) status = read_entries(in, frame.body, false, out);
    }
    return std::pair(status.ok(), frames.size());
  };
  // The packer closes frames in time.
  const auto many = read([&](EntryPacker& packer) {
    for (int i = 0; i < 30; ++i) packer.add_filtered(key_of(i), chunk, few);
  });
  CHECK(many == std::pair(true, size_t{4}));
  ParamTensor large = ParamTensor::whole({Dtype::f32, shape_of({static_cast<int64_t>(zeros.size()) + 1})}, {});
  CHECK_FALSE(read([&](EntryPacker& packer) { packer.add_filtered(key_of(1), large, few); }).first);
  // More in one frame than a packer adds: entries written by hand.
  Packer meta;
  meta.put(uint32_t{9});
  for (int i = 0; i < 9; ++i) {
    meta.put(key_of(i).canonical()).put(uint8_t{5}).put(uint8_t{0}).put(uint8_t{1}).put(uint64_t{zeros.size()});
    meta.put(uint64_t{0}).put(uint64_t{zeros.size()}).put(uint64_t{few.size()});
  }
  Blob body = Blob::allocate(9 * 64);
  for (size_t i = 0; i < 9; ++i) std::memcpy(body.data() + i * 64, few.data(), few.size());
  Unpacker in(meta.bytes());
  std::vector<ParamEntry> out;
  CHECK(failure_of(read_entries(in, body, false, out)).message == "more filtered parts than a frame may have");
}

TEST_CASE("mutated frames with filtered entries give bad data or harmless values") {
  Rng rng(2);
  const auto values = random_floats(rng, 500);
  EntryPacker packer(param_kind::push, server_address(0), 0, "");
  for (const FilterSpec& spec :
       {FilterSpec{.values = Values::half}, FilterSpec{.count = 40, .values = Values::levels}}) {
    packer.add_filtered(key_of("w"), ParamTensor::whole({Dtype::f32, shape_of({500})}, {}),
                        Filter(spec).encode(Dtype::f32, 500, values.data()));
  }
  std::vector<Frame> frames;
  packer.finish(frames);
  REQUIRE(frames.size() == 1);
  for (int i = 0; i < 20000; ++i) {
    Frame bad = frames[0];
    std::string meta(bad.meta.view());
    if (rng.below(2) == 0) meta[rng.below(meta.size())] = static_cast<char>(rng.below(256));
    bad.meta.assign(meta.data(), meta.size());
    bad.body = Blob::copy_of(frames[0].body.view());
    for (uint64_t n = rng.below(3); n > 0; --n) bad.body.data()[rng.below(bad.body.size())] = std::byte(rng.below(256));
    std::vector<ParamEntry> out;
    Unpacker in(bad.meta.view());
    const Status read = read_entries(in, bad.body, false, out);
    if (!read.ok()) {
      REQUIRE(read.error().code == Code::bad_data);
      continue;
    }
    for (const ParamEntry& entry : out) {
      if (const auto* t = std::get_if<ParamTensor>(&entry.value)) REQUIRE(t->data.size() == t->bytes());
    }
  }
}

TEST_CASE("stops and pushes carry traffic counts, and no bytes in a run without filters") {
  ParamSummary summary{7, 42, 1.5, "stop", 1, 2, 3, {}};
  const size_t plain = message_frame(param_kind::stop, 3, 0, Stop{9, summary}).meta.size();
  summary.traffic = ParamTraffic{{100, 25}, {200, 50}};
  const Frame stop = message_frame(param_kind::stop, 3, 0, Stop{9, summary});
  CHECK(stop.meta.size() == plain + 32);
  CHECK(read_message<Stop>(stop).value().summary == summary);
  PushHead head{.filtered = true, .traffic = {{1, 2}, {3, 4}}};
  const std::string bytes = pack(head);
  Unpacker in(bytes);
  CHECK(unpack_head<PushHead>(in).value().traffic == head.traffic);
  Unpacker cut(std::string_view(bytes).substr(0, bytes.size() - 1));
  CHECK_FALSE(unpack_head<PushHead>(cut).ok());
  TaskHead task{.filtered = true};
  const std::string task_bytes = pack(task);
  Unpacker task_in(task_bytes);
  CHECK(unpack_head<TaskHead>(task_in).value().filtered);
}
