#include "host/page/recording.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/page/page_view.hpp"
#include "host/page/series_view.hpp"
#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

constexpr double kBytesPerSecond = 64 << 10;

std::string line_name(const std::string& path, size_t line) { return path + ":" + std::to_string(line); }

/// The page's stream and output of the first nodes.
std::vector<std::string> recorded_sections(const nlohmann::json& state) {
  std::vector<std::string> out;
  for (const nlohmann::json& node : list(state, "nodes")) {
    if (out.size() == 2 * kStreamNodes) break;
    for (const char* section : {"stream:", "output:"}) out.push_back(section + node_key(node));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<StateRecorder>> StateRecorder::open(const std::string& path, Log& log) {
  AH_LET(auto file, RecordFile::open(path, log));
  return std::unique_ptr<StateRecorder>(new StateRecorder(std::move(file)));
}

double StateRecorder::next_poll() {
  std::lock_guard lock(mutex_);
  return next_;
}

std::vector<std::string> StateRecorder::sections() {
  std::vector<std::string> wanted = watched_sections();
  std::lock_guard lock(mutex_);
  wanted.insert(wanted.end(), sections_.begin(), sections_.end());
  return wanted;
}

void StateRecorder::last(const StatePtr& state) {
  std::lock_guard lock(mutex_);
  if (state && state != written_ && next_ != kForever) write(state);
}

void StateRecorder::seen(const StatePtr& state, double now) {
  std::lock_guard lock(mutex_);
  if (now < next_) return;  // requested by another watcher
  const size_t size = write(state);
  next_ = file_.open() ? now + std::max(1.0, static_cast<double>(size) / kBytesPerSecond) : kForever;
}

/// Returns the size of the line in bytes.
size_t StateRecorder::write(const StatePtr& state) {
  nlohmann::json recorded = *state;
  recorded["thin_series"] = thin_series(field(recorded, "series"));
  recorded.erase("series");
  sections_ = recorded_sections(recorded);
  const std::string line = json_text(recorded) + "\n";
  file_.write(line);
  written_ = state;
  return line.size();
}

Result<Recording> Recording::open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{Code::io, path + ": " + std::strerror(errno)};
  Recording out;
  out.path_ = path;
  size_t at = 0;
  size_t number_of_line = 0;
  for (std::string line; std::getline(file, line); at += line.size() + 1) {
    ++number_of_line;
    const bool whole = !file.eof();
    const nlohmann::json state = parse_outside_json(line);
    if (state.is_discarded() && !whole) break;
    if (!state.is_object() || !field(state, "nodes").is_array()) {
      return Error{Code::bad_data, line_name(path, number_of_line) +
                                       ": this line is not the state of a run, as --record FILE.jsonl writes it"};
    }
    out.begins_.push_back(at);
    out.times_.push_back(number(field(state, "run"), "t"));
    out.points_.push_back(out.reader_.read(state));
  }
  if (out.times_.empty()) return Error{Code::bad_data, path + ": there is no state of a run in it"};
  out.begins_.push_back(at);
  return out;
}

Result<nlohmann::json> Recording::state(size_t number) const {
  const Error lost{Code::io, line_name(path_, number + 1) + ": the file has changed since it was opened"};
  std::ifstream file(path_, std::ios::binary);
  std::string line(begins_.at(number + 1) - begins_.at(number), '\0');
  file.seekg(static_cast<std::streamoff>(begins_.at(number)));
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  nlohmann::json state = parse_outside_json(std::string_view(line).substr(0, static_cast<size_t>(file.gcount())));
  if (!state.is_object()) return lost;
  return state;
}

}  // namespace actorhost
