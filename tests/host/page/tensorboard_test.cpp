#include "host/page/tensorboard.hpp"

#include <regex>

#include "tests/host/page/sample_state.hpp"
#include "tests/integration/process.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

/// A decoder apart from the recorder: bit by bit, and only with the fields that a reader of TensorBoard uses.
uint32_t crc_bit_by_bit(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t low = (crc ^ (static_cast<unsigned char>(byte) >> bit)) & 1;
      crc = (crc >> 1) ^ (low * 0x82f63b78U);
    }
  }
  return crc ^ 0xffffffff;
}

uint32_t unmasked(uint32_t stored) {
  const uint32_t rotated = stored - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

template <typename T>
T fixed_at(std::string_view bytes, size_t at) {
  REQUIRE(at + sizeof(T) <= bytes.size());
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

uint64_t varint_at(std::string_view bytes, size_t& at) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = fixed_at<unsigned char>(bytes, at++);
    value |= static_cast<uint64_t>(byte & 127U) << shift;
    if (byte < 128) return value;
  }
}

struct DecodedEvent {
  double wall_time = 0;
  uint64_t step = 0;
  std::string version, tag;
  float value = 0;
};

void decode_fields(std::string_view bytes, int level, DecodedEvent& out) {
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t key = varint_at(bytes, at);
    const uint64_t number = key >> 3;
    if ((key & 7) == 0) {
      CHECK(number == 2);
      out.step = varint_at(bytes, at);
    } else if ((key & 7) == 1) {
      CHECK(number == 1);
      out.wall_time = fixed_at<double>(bytes, at);
      at += 8;
    } else if ((key & 7) == 5) {
      CHECK((level == 2 && number == 2));
      out.value = fixed_at<float>(bytes, at);
      at += 4;
    } else {
      REQUIRE((key & 7) == 2);
      const uint64_t size = varint_at(bytes, at);
      REQUIRE(size <= bytes.size() - at);
      const std::string_view inner = bytes.substr(at, size);
      at += size;
      if (level == 0 && number == 3) {
        out.version = inner;
      } else if (level == 2 && number == 1) {
        out.tag = inner;
      } else {
        REQUIRE(((level == 0 && number == 5) || (level == 1 && number == 1)));
        decode_fields(inner, level + 1, out);
      }
    }
  }
}

std::vector<DecodedEvent> decode_events(std::string_view bytes) {
  std::vector<DecodedEvent> events;
  for (size_t at = 0; at < bytes.size();) {
    const auto size = fixed_at<uint64_t>(bytes, at);
    CHECK(unmasked(fixed_at<uint32_t>(bytes, at + 8)) == crc_bit_by_bit(bytes.substr(at, 8)));
    REQUIRE(size <= bytes.size() - at - 16);
    const std::string_view event = bytes.substr(at + 12, size);
    CHECK(unmasked(fixed_at<uint32_t>(bytes, at + 12 + size)) == crc_bit_by_bit(event));
    decode_fields(event, 0, events.emplace_back());
    at += size + 16;
  }
  return events;
}

/// "tag step value" of each scalar in a node's file.
std::vector<std::string> scalars_of(const std::filesystem::path& folder, const std::string& tag_start = "") {
  std::vector<std::string> out;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    CHECK(std::regex_match(entry.path().filename().string(), std::regex(R"(events\.out\.tfevents\.\d+\..+\.\d+)")));
    const auto events = decode_events(read_text(entry.path()));
    REQUIRE(!events.empty());
    CHECK(events[0].version == "brain.Event:2");
    for (size_t i = 1; i < events.size(); ++i) {
      CHECK(events[i].wall_time > 1e9);
      std::ostringstream line;
      line << events[i].tag << " " << events[i].step << " " << events[i].value;
      if (events[i].tag.starts_with(tag_start)) out.push_back(line.str());
    }
  }
  CHECK(files == 1);
  return out;
}

json point_of(double t, double step, json value, int id, const char* role = nullptr) {
  json point = {{"t", t}, {"step", step}, {"value", std::move(value)}, {"id", id}};
  if (role != nullptr) point["role"] = role;
  return point;
}

StatePtr state_with(double t, json points) {
  json state = {{"run", {{"t", t}}}, {"nodes", json::array()}};
  state["series"]["loss"] = std::move(points);
  return std::make_shared<const json>(std::move(state));
}

std::filesystem::path only_folder(const std::filesystem::path& in) {
  std::vector<std::filesystem::path> found(std::filesystem::directory_iterator(in), {});
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("a record is framed as TensorFlow frames it") {
  CHECK(crc_bit_by_bit("123456789") == 0xe3069283);  // the check value of CRC-32C
  // The start of every file that TensorFlow writes: a version event has 24 bytes.
  const std::string record = event_record(std::string(24, 'x'));
  CHECK(record.substr(0, 12) == std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12));
  CHECK(record.size() == 24 + 16);
  CHECK(unmasked(fixed_at<uint32_t>(record, 36)) == crc_bit_by_bit(record.substr(12, 24)));
}

TEST_CASE("each point of a series is written once, to the file of its node") {
  const TempDir folder;
  Log log(LogLevel::off);
  auto recorder = required(EventRecorder::open(folder / "runs/", "jobs/train.lua", log));
  const json first = json::array({point_of(0.5, 1, 2.5, 0), point_of(0.6, 2, 1.5, 0), point_of(0.6, 1, 9, 1)});
  (*recorder)->seen(state_with(1, first), 1);
  CHECK((*recorder)->next_poll() == 2);
  (*recorder)->seen(state_with(1.5, json::array({point_of(1.2, 3, 7, 0)})), 1.5);  // requested by another watcher
  json second =
      json::array({point_of(0.500002, 1, 2.5, 0), point_of(0.600001, 2, 1.5, 0), point_of(0.599999, 1, 9, 1)});
  second.erase(1);  // a longer series has lost points
  second.push_back(point_of(1.2, 3, 0.5, 0));
  second.push_back(point_of(1.3, 4, nullptr, 0));
  second.push_back(point_of(1.4, 9e30, 8, 0, "server"));
  (*recorder)->seen(state_with(2, second), 2);
  (*recorder)->last(state_with(2.1, json::array({point_of(1.2, 3, 0.5, 0), point_of(2.05, 3, 0.25, 0)})));

  const auto run = only_folder(folder / "runs");
  CHECK(std::regex_match(run.filename().string(), std::regex(R"(train-\d{8}-\d{6})")));
  CHECK(scalars_of(run / "worker 0") ==
        std::vector<std::string>{"loss 1 2.5", "loss 2 1.5", "loss 3 0.5", "loss 3 0.25"});
  CHECK(scalars_of(run / "worker 1") == std::vector<std::string>{"loss 1 9"});
  CHECK(scalars_of(run / "server 0") == std::vector<std::string>{"loss 9000000000000000000 8"});
}

TEST_CASE("workers with steps have their steps and their distance from the foremost live worker") {
  const TempDir folder;
  Log log(LogLevel::off);
  auto recorder = required(EventRecorder::open(folder.path(), "a.lua", log));
  (*recorder)->seen(std::make_shared<const json>(test::sample_state(4, 10)), 1);
  const auto run = only_folder(folder.path());
  const std::string steps = "actorhost/";
  CHECK(scalars_of(run / "worker 0", steps) ==
        std::vector<std::string>{"actorhost/step 10 100", "actorhost/steps behind 10 0"});
  CHECK(scalars_of(run / "worker 2", steps) ==
        std::vector<std::string>{"actorhost/step 10 80", "actorhost/steps behind 10 20"});
}

TEST_CASE("two runs in one second have two folders, and a folder that cannot be made is an error") {
  const TempDir folder;
  Log log(LogLevel::off);
  for (int run = 0; run < 3; ++run) CHECK(EventRecorder::open(folder / "runs", "a.lua", log).ok());
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "runs"), {}) == 3);
  const auto file = folder.write("file", "");
  const Error error = failure_of(EventRecorder::open(file / "runs/", "a.lua", log));
  CHECK(error.code == Code::bad_argument);
  CHECK(error.message == "--record: cannot make the folder '" + (file / "runs/").string() + "': Not a directory");
}

TEST_CASE("nodes beyond the limit are left out, with one warning") {
  const TempDir folder;
  std::vector<std::string> lines;
  Log log(LogLevel::warn, [&](const LogLine& line) { lines.push_back(line.text); });
  auto recorder = required(EventRecorder::open(folder.path(), "a.lua", log));
  json points = json::array();
  for (int id = 0; id < 140; ++id) points.push_back(point_of(0.5, 1, 1, id));
  for (int second = 1; second < 3; ++second) (*recorder)->seen(state_with(second, points), second);
  CHECK(std::distance(std::filesystem::directory_iterator(only_folder(folder.path())), {}) == 128);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "the files for TensorBoard have the first 128 nodes; further nodes are left out");
}
