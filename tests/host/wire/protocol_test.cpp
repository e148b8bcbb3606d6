// Compares the examples of PROTOCOL.md with the code, byte for byte.

#include <cstdio>

#include "host/engine/param/param_messages.hpp"
#include "host/engine/share/lock_messages.hpp"
#include "host/mapreduce/tasks/mapreduce_messages.hpp"
#include "host/net/frame_reader.hpp"
#include "host/net/handshake.hpp"
#include "host/net/send_batch.hpp"
#include "host/wire/packer.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

bool is_hex_pair(const std::string& word) {
  return word.size() == 2 && word.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The bytes of the block "```hex NAME". A line ends at the first word other than a pair of digits, or after 16 bytes.
std::string example(const std::string& name) {
  std::ifstream file(source_dir() / "host/wire/PROTOCOL.md");
  REQUIRE(file.is_open());
  std::string line;
  while (std::getline(file, line) && line != "```hex " + name) {
  }
  std::string bytes;
  while (std::getline(file, line) && line != "```") {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 16 && words >> word && is_hex_pair(word); ++i) {
      bytes.push_back(static_cast<char>(std::stoi(word, nullptr, 16)));
    }
  }
  REQUIRE_FALSE(bytes.empty());
  return bytes;
}

std::string bytes_of(const Frame& frame) {
  SendBatch batch;
  batch.add(frame);
  std::array<Piece, kMaxPieces> pieces;
  std::string bytes;
  const size_t count = batch.pieces(pieces);
  for (size_t i = 0; i < count; ++i) bytes.append(reinterpret_cast<const char*>(pieces[i].data), pieces[i].size);
  return bytes;
}

Frame read_one(const std::string& bytes) {
  FrameReader reader({});
  std::array<Piece, 2> pieces;
  REQUIRE(reader.room(pieces) == 1);
  std::memcpy(pieces[0].data, bytes.data(), bytes.size());
  std::vector<Frame> frames;
  REQUIRE(reader.received(bytes.size(), frames).ok());
  REQUIRE(frames.size() == 1);
  return std::move(frames[0]);
}

Frame frame_with_meta() {
  Frame frame;
  frame.kind = Kind::param_first;
  frame.src = worker_address(3);
  frame.dst = server_address(0);
  frame.tag = 17;
  frame.meta.assign("\x2a\0\0\0w1", 6);
  return frame;
}

Handshake::Nonce counting_from(unsigned char first) {
  Handshake::Nonce nonce;
  for (unsigned char& byte : nonce) byte = first++;
  return nonce;
}

Status give(Handshake& to, const std::string& bytes) {
  return to.input({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

}  // namespace

TEST_CASE("the table of kinds in PROTOCOL.md has exactly the ranges of the code") {
  std::ifstream file(source_dir() / "host/wire/PROTOCOL.md");
  std::vector<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| 0x", 0) == 0 && line.find(" - 0x") != std::string::npos) documented.push_back(line);
  }
  std::vector<std::string> ranges;
  for (const KindRange& range : kKindRanges) {
    if (std::string(range.layer) == "transport") continue;  // listed one by one
    char text[80];
    std::snprintf(text, sizeof text, "| 0x%04x - 0x%04x | %s |", static_cast<unsigned>(range.first),
                  static_cast<unsigned>(range.last), range.layer);
    ranges.emplace_back(text);
  }
  REQUIRE(documented.size() == ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) CHECK(documented[i].rfind(ranges[i], 0) == 0);
}

TEST_CASE("the frames in PROTOCOL.md equal the encoded frames, and decode to the described fields") {
  Frame heartbeat;
  heartbeat.kind = Kind::heartbeat;
  CHECK(bytes_of(heartbeat) == example("heartbeat"));
  CHECK(bytes_of(frame_with_meta()) == example("frame-with-meta"));

  Frame with_body = frame_with_meta();
  with_body.flags = 1;
  with_body.kind = static_cast<Kind>(0x0301);
  const std::array<float, 3> values = {1, -2, 0.5F};
  with_body.body = Blob::copy_of(values.data(), sizeof values);
  CHECK(bytes_of(with_body) == example("frame-with-body"));

  const Frame read = read_one(example("frame-with-body"));
  CHECK(read.kind == static_cast<Kind>(0x0301));
  CHECK(read.flags == 1);
  CHECK(read.src == 3);
  CHECK(read.dst == server_address(0));
  CHECK(read.tag == 17);
  CHECK(read.meta.view() == with_body.meta.view());
  CHECK(read.body.view() == with_body.body.view());
}

TEST_CASE("the timed push in PROTOCOL.md equals a worker's push, and decodes to the described fields") {
  const PushHead head{1, 6, false, false, true, 0.25};
  EntryPacker packer(param_kind::push, server_address(0), 0, pack(head));
  std::vector<Frame> frames;
  packer.finish(frames);
  REQUIRE(frames.size() == 1);
  frames[0].src = worker_address(3);
  CHECK(bytes_of(frames[0]) == example("timed-push"));

  const Frame read = read_one(example("timed-push"));
  Unpacker in(read.meta.view());
  const PushHead got = unpack_head<PushHead>(in).value();
  CHECK((got.run == 1 && got.step == 6 && got.timed && got.seconds == 0.25));
  std::vector<ParamEntry> entries;
  CHECK(read_entries(in, read.body, false, entries).ok());
  CHECK(entries.empty());
}

TEST_CASE("the filtered push in PROTOCOL.md equals a worker's push, and decodes to the described fields") {
  PushHead head{1, 6, false, false};
  head.filtered = true;
  head.traffic = {{16, 20}, {800, 216}};
  const std::array<float, 4> values = {0.5F, -3, 1, 2};
  const ParamKey key = ParamKey::of("w").value();
  const ParamTensor layout = ParamTensor::whole({Dtype::f32, {4}}, {});
  Filter filter({.count = 2, .values = FilterSpec::Values::half});
  EntryPacker packer(param_kind::push, server_address(0), 0, pack(head));
  packer.add_filtered(key, layout, filter.encode(Dtype::f32, 4, values.data()));
  std::vector<Frame> frames;
  packer.finish(frames);
  REQUIRE(frames.size() == 1);
  frames[0].src = worker_address(3);
  CHECK(bytes_of(frames[0]) == example("filtered-push"));

  const Frame read = read_one(example("filtered-push"));
  Unpacker in(read.meta.view());
  CHECK(unpack_head<PushHead>(in).value().traffic == head.traffic);
  std::vector<ParamEntry> entries;
  FilterBytes bytes;
  REQUIRE(read_entries(in, read.body, false, entries, &bytes).ok());
  CHECK(bytes == FilterBytes{16, 20});
  std::array<float, 4> found = {};
  std::memcpy(found.data(), std::get<ParamTensor>(entries.at(0).value).data.data(), sizeof found);
  CHECK(found == std::array<float, 4>{0, -3, 0, 2});
}

TEST_CASE("the map-reduce frames in PROTOCOL.md equal the sent frames, and decode to the described fields") {
  const TaskOrder order{{2, 1, 1}, {{1, TaskInput::Form::wide, {0, 1}}}};
  Frame task = order.frame(worker_address(3), 5);
  task.src = data_address(0);
  CHECK(bytes_of(task) == example("mapreduce-task"));
  const TaskOrder read = read_message<TaskOrder>(read_one(example("mapreduce-task"))).value();
  CHECK(read.task == order.task);
  CHECK(read.inputs == order.inputs);

  Frame fetch = FetchBlocks{{1, 1, 1}, 0, 8}.frame(1, 77);
  fetch.src = worker_address(3);
  CHECK(bytes_of(fetch) == example("mapreduce-fetch"));
  const Frame fetched = read_one(example("mapreduce-fetch"));
  CHECK(is_data(fetched.dst));
  CHECK(read_message<FetchBlocks>(fetched).value().output == OutputId{1, 1, 1});
}

TEST_CASE("the lock frame in PROTOCOL.md equals the sent frame, and decodes to the described fields") {
  LockRequest request{1, "job.lua:2", {ParamKey::of("w")->canonical()}, {}};
  Frame frame = request.frame(1, 0).value();
  frame.src = worker_address(3);
  CHECK(bytes_of(frame) == example("lock-request"));
  const Frame read = read_one(example("lock-request"));
  CHECK(is_courier(read.dst));
  CHECK(read_message<LockRequest>(read).value().keys == request.keys);
}

TEST_CASE("the handshake in PROTOCOL.md equals the handshake of two ends") {
  Handshake dialler(Handshake::Side::dialler, "swordfish", counting_from(0), "listener");
  Handshake listener(Handshake::Side::listener, "swordfish", counting_from(0x80), "dialler");
  CHECK(dialler.output() == example("dialler-hello"));
  REQUIRE(give(listener, example("dialler-hello")).ok());
  CHECK(listener.output() == example("listener-hello"));
  REQUIRE(give(dialler, example("listener-hello")).ok());
  CHECK(dialler.output() == example("dialler-proof"));
  REQUIRE(give(listener, example("dialler-proof")).ok());
  CHECK(listener.output() == example("listener-proof"));
  REQUIRE(give(dialler, example("listener-proof")).ok());
  CHECK(dialler.proved());
  CHECK(listener.proved());
}

TEST_CASE("the refusal in PROTOCOL.md equals the reply of a listener with another token") {
  Handshake listener(Handshake::Side::listener, "mackerel", counting_from(0x80), "dialler");
  REQUIRE(give(listener, example("dialler-hello")).ok());
  CHECK(listener.output() == example("listener-hello"));
  CHECK_FALSE(give(listener, example("dialler-proof")).ok());
  CHECK(listener.output() == example("refusal"));
}

TEST_CASE("the packed fields in PROTOCOL.md equal the output of Packer, and Unpacker reads them") {
  const std::string bytes = example("packed");
  CHECK(Packer().put(uint16_t{7}).put("hi").put(0.5).bytes() == bytes);
  Unpacker unpacker(bytes);
  CHECK(unpacker.get<uint16_t>() == 7);
  CHECK(unpacker.text() == "hi");
  CHECK(unpacker.get<double>() == 0.5);
  CHECK(unpacker.done());
}
