#include "host/page/tensorboard.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>

#include <unistd.h>

#include "host/base/clock.hpp"
#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82f63b78U : 0);
    table[byte] = rest;
  }
  return table;
}

/// CRC-32C, rotated and offset, as records need it.
uint32_t masked_crc(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = ~0U;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

template <typename T>
void append_fixed(std::string& out, T value) {
  std::array<char, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

/// The kinds of fields in Protocol Buffers.
enum class FieldKind : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void append_key(std::string& out, unsigned number, FieldKind kind) {
  append_varint(out, number << 3 | static_cast<unsigned>(kind));
}

void append_bytes(std::string& out, unsigned number, std::string_view bytes) {
  append_key(out, number, FieldKind::bytes);
  append_varint(out, bytes.size());
  out.append(bytes);
}

std::string timed_event(double wall_time) {
  std::string out;
  append_key(out, 1, FieldKind::fixed64);
  append_fixed(out, wall_time);
  return out;
}

std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value) {
  std::string scalar;
  append_bytes(scalar, 1, tag);
  append_key(scalar, 2, FieldKind::fixed32);
  append_fixed(scalar, value);
  std::string summary;
  append_bytes(summary, 1, scalar);
  std::string out = timed_event(wall_time);
  append_key(out, 2, FieldKind::varint);
  append_varint(out, static_cast<uint64_t>(step));
  append_bytes(out, 5, summary);
  return out;
}

std::string version_event(double wall_time) {
  std::string out = timed_event(wall_time);
  append_bytes(out, 3, "brain.Event:2");
  return out;
}

Error cannot_make(const std::string& folder, const std::string& reason) {
  return {Code::bad_argument, "--record: cannot make the folder '" + folder + "': " + reason};
}

std::string local_time_text() {
  const auto now = static_cast<time_t>(wall_seconds());
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &parts)};
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

/// "worker 0": the name of a node's folder.
std::string node_name(const json& object) {
  const std::string role = text(object, "role");
  return (role.empty() ? "worker" : role) + " " + std::to_string(std::llround(number(object, "id")));
}

/// Whether a point was written with or before the newest written point (time, step). The time of one point differs by
/// microseconds between states, so the step decides between points of about the same time.
bool was_written(const std::pair<double, double>& newest, double t, double step) {
  constexpr double kSameTime = 1e-3;
  if (std::abs(t - newest.first) < kSameTime) return step <= newest.second;
  return t < newest.first;
}

bool is_live_worker(const json& node) { return text(node, "role") == "worker" && text(node, "state") != "lost"; }

}  // namespace

std::string event_record(std::string_view fields) {
  std::string out;
  append_fixed(out, uint64_t{fields.size()});
  append_fixed(out, masked_crc(out));
  out.append(fields);
  append_fixed(out, masked_crc(fields));
  return out;
}

Result<std::unique_ptr<EventRecorder>> EventRecorder::open(const std::string& folder, const std::string& job,
                                                           Log& log) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot_make(folder, error.message());
  const std::string name = (fs::path(folder) / fs::path(job).stem()).string() + "-" + local_time_text();
  for (int number = 1;; ++number) {  // two runs that start in the same second have two folders
    const std::string own = number == 1 ? name : name + "-" + std::to_string(number);
    if (fs::create_directory(own, error)) return std::unique_ptr<EventRecorder>(new EventRecorder(own, log));
    if (error) return cannot_make(own, error.message());
  }
}

double EventRecorder::next_poll() {
  std::lock_guard lock(mutex_);
  return next_;
}

void EventRecorder::last(const StatePtr& state) {
  std::lock_guard lock(mutex_);
  if (state) write(*state);
}

void EventRecorder::seen(const StatePtr& state, double now) {
  std::lock_guard lock(mutex_);
  if (now < next_) return;  // requested by another watcher
  write(*state);
  next_ = now + 1;
}

void EventRecorder::write(const json& state) {
  if (begun_ == 0) begun_ = wall_seconds() - number(field(state, "run"), "t");
  write_series(state);
  write_steps(state);
}

void EventRecorder::write_series(const json& state) {
  const json& series = field(state, "series");
  for (auto at = series.begin(); series.is_object() && at != series.end(); ++at) {
    for (const json& point : *at) {
      const json& value = field(point, "value");
      if (!value.is_number()) continue;
      write_scalar(node_name(point), at.key(), number(point, "t"), number(point, "step"), value.get<double>());
    }
  }
}

void EventRecorder::write_steps(const json& state) {
  double foremost = 0;
  for (const json& node : list(state, "nodes")) {
    if (is_live_worker(node)) foremost = std::max(foremost, number(node, "step"));
  }
  if (foremost == 0) return;  // the run has no steps
  const double t = number(field(state, "run"), "t");
  for (const json& node : list(state, "nodes")) {
    if (!is_live_worker(node)) continue;
    const double step = number(node, "step");
    write_scalar(node_name(node), "actorhost/step", t, std::floor(t), step);
    write_scalar(node_name(node), "actorhost/steps behind", t, std::floor(t), foremost - step);
  }
}

void EventRecorder::write_scalar(const std::string& node, const std::string& tag, double t, double step, double value) {
  NodeFile* const to = file_of(node);
  if (to == nullptr) return;
  const auto [newest, first] = to->newest.try_emplace(tag, t, step);
  if (!first && was_written(newest->second, t, step)) return;
  newest->second = {t, step};
  constexpr double kMostStep = 9e18;
  const auto whole = static_cast<int64_t>(std::clamp(std::round(step), 0.0, kMostStep));
  to->file.write(event_record(scalar_event(begun_ + t, whole, tag, static_cast<float>(value))));
}

/// The file of a node, which its first scalar opens; null without one.
EventRecorder::NodeFile* EventRecorder::file_of(const std::string& node) {
  if (const auto at = files_.find(node); at != files_.end()) return &at->second;
  if (left_out_.contains(node)) return nullptr;
  left_out_.insert(node);
  if (files_.size() >= kMostNodes) {
    if (left_out_.size() == 1) {
      log_.warn("record", "the files for TensorBoard have the first " + std::to_string(kMostNodes) +
                              " nodes; further nodes are left out");
    }
    return nullptr;
  }
  const std::string folder = folder_ + "/" + node;
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  auto file = RecordFile::open(folder + "/events.out.tfevents." + std::to_string(static_cast<int64_t>(wall_seconds())) +
                                   "." + host_name() + "." + std::to_string(::getpid()),
                               log_);
  if (!file) {
    log_.error("record", file.error().message);
    return nullptr;
  }
  left_out_.erase(node);
  file->write(event_record(version_event(wall_seconds())));
  return &files_.emplace(node, NodeFile{*std::move(file), {}}).first->second;
}

}  // namespace actorhost
