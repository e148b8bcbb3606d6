#include "host/engine/param/trace.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace actorhost {

namespace {

constexpr const char* kFirstLine = "# actorhost trace 1\n";
constexpr const char* kColumns = "event,id,step,time,released,compute\n";

/// Makes a key or value fit its line.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<ParamTrace>> ParamTrace::open(const std::string& path, Keys keys, Log& log) {
  std::unique_ptr<ParamTrace> trace(new ParamTrace(path, std::move(keys)));
  if (!path.empty()) {
    AH_LET(auto file, RecordFile::open(path, log));
    trace->file_.emplace(std::move(file));
  }
  return trace;
}

ParamTrace::~ParamTrace() { flush(); }

void ParamTrace::put_keys(const Keys& keys, double now) {
  for (const auto& [key, value] : keys) {
    put("# ", now);
    buffer_ += one_line(key) + "=" + one_line(value) + "\n";
  }
}

// Writes the keys of a run: for the first run into the header, for later runs after the row that begins the run.
void ParamTrace::begin_run(const Keys& keys, double now) {
  if (file_ && !file_->open()) return;
  const bool first = runs_++ == 0;
  if (first) {
    origin_ = now;
    put(kFirstLine, now);
    put_keys(keys_, now);
    put_keys(keys, now);
    put(kColumns, now);
  }
  put("run,", now);
  put_number(runs_);
  buffer_ += ",,";
  put_point(now);
  buffer_ += ",,";
  end_row(now);
  if (!first) put_keys(keys, now);
}

void ParamTrace::put_number(uint64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  buffer_.append(digits, end);
}

// Writes seconds with nanoseconds. The library's fixed notation takes several times as long.
void ParamTrace::put_seconds(double seconds) {
  const auto whole = static_cast<uint64_t>(std::llround(std::max(seconds, 0.0) * 1e9));
  put_number(whole / 1000000000);
  char digits[10] = {'.'};
  uint64_t rest = whole % 1000000000;
  for (int i = 9; i > 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  buffer_.append(digits, sizeof digits);
}

void ParamTrace::put(const char* event, double now) {
  if (buffer_.empty()) oldest_ = now;
  buffer_ += event;
}

void ParamTrace::put(const char* event, NodeId id, uint64_t step, double now) {
  put(event, now);
  put_number(id);
  buffer_ += ',';
  put_number(step);
  buffer_ += ',';
  put_point(now);
}

void ParamTrace::end_row(double now) {
  buffer_ += '\n';
  if (buffer_.size() >= kFlushBytes) flush();
  poll(now);
}

void ParamTrace::member(const char* event, NodeId id, uint64_t step, double now) {
  if (file_ && !file_->open()) return;
  put(event, id, step, now);
  buffer_ += ",,";
  end_row(now);
}

bool ParamTrace::step(NodeId id, uint64_t step, double released, double compute, double now) {
  if (file_ && !file_->open()) return true;
  const double whole = std::max(now - released, 0.0);
  // The clocks of two machines may run at slightly different rates.
  const bool possible = compute >= 0 && compute <= whole * 1.001 + 1e-3;
  put("step,", id, step, now);
  buffer_ += ',';
  put_point(released);
  buffer_ += ',';
  put_seconds(compute > 0 ? std::min(compute, whole) : 0);  // not a number: 0
  end_row(now);
  return possible;
}

void ParamTrace::open_step(NodeId id, uint64_t step, double released, double now) {
  if (file_ && !file_->open()) return;
  put("open,", id, step, now);
  buffer_ += ',';
  put_point(released);
  buffer_ += ',';
  end_row(now);
}

void ParamTrace::stop(double now) {
  if (file_ && !file_->open()) return;
  put("stop,,,", now);
  put_point(now);
  buffer_ += ",,";
  end_row(now);
  flush();
}

void ParamTrace::poll(double now) {
  if (now >= next_time()) flush();
}

void ParamTrace::flush() {
  if (file_) {
    file_->write(buffer_);
  } else {
    std::lock_guard lock(mutex_);
    newest_ += buffer_;
    if (newest_.size() > kReportedBytes) {
      const size_t end = newest_.find('\n', newest_.size() - kReportedBytes) + 1;  // of the last row to leave out
      newest_.erase(0, end);
      before_ += end;
    }
  }
  buffer_.clear();
}

void ParamTrace::restart() {
  runs_ = 0;
  buffer_.clear();
  std::lock_guard lock(mutex_);
  newest_.clear();
  before_ = 0;
}

void ParamTrace::report(nlohmann::json& out, double now) {
  if (file_) {
    out["recording"] = {{"file", path_}};
    return;
  }
  asked_ = now;
  std::lock_guard lock(mutex_);
  out["recording"] = {{"from", before_}, {"text", newest_}};
}

}  // namespace actorhost
