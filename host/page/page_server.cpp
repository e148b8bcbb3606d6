#include "host/page/page_server.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include <nlohmann/json.hpp>
#include <sodium.h>
#include <unistd.h>

#include "host/base/outside_json.hpp"
#include "host/page/page_files.hpp"
#include "host/page/page_metrics.hpp"
#include "host/page/state_fields.hpp"

namespace actorhost {

namespace {

constexpr size_t kViewers = 32;
constexpr size_t kWaitingRequests = 24;
constexpr double kFresh = 0.2;  // seconds; a state so young also serves other requests
constexpr double kFarewellSeconds = 0.3;
constexpr size_t kTokenBytes = 16;
constexpr size_t kNodeBytes = 24;      // of "worker 12345678"
constexpr double kNodesASecond = 200;  // nodes in the states that the past requests without viewers
constexpr const char* kJson = "application/json";

std::shared_ptr<const std::string> shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

WebResponse json_response(const nlohmann::json& value) {
  WebResponse response;
  response.type = kJson;
  response.body = shared(json_text(value));
  return response;
}

size_t size_in(const WebRequest& request, const char* name) {
  const auto at = request.query.find(name);
  size_t value = 0;
  if (at != request.query.end()) {
    (void)std::from_chars(at->second.data(), at->second.data() + at->second.size(), value);
  }
  return value;
}

PageView view_of(const WebRequest& request) {
  PageView view;
  view.offset = size_in(request, "offset");
  static constexpr const char* kOrders[] = {"state", "step", "ahead", "wait", "updates", "sent", "host"};
  const auto sort = request.query.find("sort");
  for (const char* order : kOrders) {
    if (sort != request.query.end() && sort->second == order) view.sort = order;
  }
  if (const auto node = request.query.find("node"); node != request.query.end() && node->second.size() <= kNodeBytes) {
    view.node = node->second;
  }
  view.stream = size_in(request, "stream") != 0;
  return view;
}

nlohmann::json message_of(const nlohmann::json& state, const PageView& view, const nlohmann::json& point) {
  nlohmann::json message = page_message(state, view);
  message["point"] = point;
  return message;
}

std::shared_ptr<const std::string> event_of(const nlohmann::json& message) {
  return shared("data: " + json_text(message) + "\n\n");
}

std::string random_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::string text(2 * kTokenBytes + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

}  // namespace

Result<std::unique_ptr<PageServer>> PageServer::open(PageOptions options, const Clock& clock) {
  AH_LET(auto at, parse_page_address(options.address));
  AH_LET(auto loopback, is_loopback(at));
  std::unique_ptr<PageServer> page(new PageServer(std::move(options), clock));
  page->access_ = {at, loopback, loopback ? "" : random_token(), page->options_.reading_token};
  AH_LET(auto server, WebServer::open(at, *page, page->options_.limits));
  // Requests need the port that the system chose, and may have arrived already.
  std::lock_guard lock(page->mutex_);
  page->server_ = std::move(server);
  page->access_.bound = page->server_->bound();
  return page;
}

PageServer::~PageServer() {
  if (server_) server_->stop();
}

std::string PageServer::url() const {
  Endpoint shown = access_.bound;
  if (shown.host == "0.0.0.0" || shown.host == "::") {  // a name that other machines may know
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) shown.host = name.data();
  }
  if (const size_t percent = shown.host.find('%'); percent != std::string::npos) shown.host.insert(percent + 1, "25");
  const std::string path = options_.page ? "/" : "/metrics";
  return "http://" + endpoint_text(shown) + path + (access_.token.empty() ? "" : "?token=" + access_.token);
}

void PageServer::on_wanted(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void PageServer::finish(const StatePtr& last, const std::string& how) {
  std::unique_lock lock(mutex_);
  // One message: of two consecutive messages a viewer may receive only the second.
  const std::string end = "event: end\ndata: " + json_text(nlohmann::json{{"how", how}}) + "\n\n";
  const auto viewers = viewers_;
  const bool shown = last && last == latest_;
  const nlohmann::json point = shown ? reader_.values(point_) : nlohmann::json::object();
  lock.unlock();
  for (const auto& [id, view] : viewers) {
    server_->push(id, shared((last ? *event_of(message_of(*last, view, point)) : "") + end), true);
  }
  lock.lock();
  changed_.wait_for(lock, std::chrono::duration<double>(kFarewellSeconds), [&] { return viewers_.empty(); });
  lock.unlock();
  server_->stop();
}

size_t PageServer::viewers() {
  std::lock_guard lock(mutex_);
  return viewers_.size();
}

double PageServer::next_poll() {
  std::lock_guard lock(mutex_);
  if (!waiting_.empty()) return latest_at_ + kFresh;
  if (!viewers_.empty()) return latest_at_ + options_.every;
  if (!options_.page || options_.recording != nullptr || options_.past_every == kForever) return kForever;
  return seen_at_ + std::max(options_.past_every, least_every_);
}

std::vector<std::string> PageServer::sections() {
  std::lock_guard lock(mutex_);
  asked_whole_ = !viewers_.empty() || !waiting_.empty();
  if (!asked_whole_) return {};
  std::vector<std::string> wanted = watched_sections();
  wanted.insert(wanted.end(), sections_.begin(), sections_.end());
  return wanted;
}

void PageServer::seen(const StatePtr& state, double now) {
  std::map<uint64_t, PageView> viewers;
  std::map<uint64_t, bool> waiting;
  nlohmann::json point;
  {
    std::lock_guard lock(mutex_);
    seen_at_ = now;
    least_every_ = static_cast<double>(list(*state, "nodes").size()) / kNodesASecond;
    const PastPoint read = reader_.read(*state);
    past_.add(read);
    if (!asked_whole_) return;  // newer viewers and requests wait for the next state
    latest_ = state;
    latest_at_ = now;
    point_ = read;
    point = reader_.values(read);
    viewers = viewers_;
    waiting.swap(waiting_);
  }
  std::map<PageView, Message> messages;
  std::set<std::string> wanted;
  for (const auto& [id, view] : viewers) {
    Message& text = messages[view];
    if (!text) {
      const nlohmann::json message = message_of(*state, view, point);
      for (std::string& name : sections_for(message, view)) wanted.insert(std::move(name));
      text = event_of(message);
    }
    server_->push(id, text);
  }
  {
    std::lock_guard lock(mutex_);
    sections_ = std::move(wanted);
  }
  WebResponse text[2];  // [0]: as JSON; [1]: as metrics
  for (const auto& [id, metrics] : waiting) {
    WebResponse& response = text[metrics ? 1 : 0];
    if (!response.body) {
      if (!metrics) {
        response = json_response(*state);
      } else {
        response.type = "text/plain; version=0.0.4; charset=utf-8";
        response.body = shared(metrics_text(*state));
      }
    }
    server_->reply(id, response);
  }
}

WebResponse PageServer::respond(const WebRequest& request) {
  {
    std::lock_guard lock(mutex_);  // waits for `open`
  }
  if (const auto why = access_.refusal(request)) return web_sentence(403, *why);
  if (request.method != "GET" && request.method != "HEAD") {
    WebResponse response = web_sentence(405, "This page can only be read: GET and HEAD.");
    response.headers["Allow"] = "GET, HEAD";
    return response;
  }
  if (request.path == "/" && !access_.token.empty() && request.query.contains("token")) {
    WebResponse response = web_sentence(303, "The page is at /.");
    response.headers["Location"] = "/";
    response.headers["Set-Cookie"] =
        access_.cookie_name() + "=" + access_.token + "; HttpOnly; SameSite=Strict; Path=/";
    return response;
  }
  return respond_to_path(request);
}

WebResponse PageServer::respond_to_path(const WebRequest& request) {
  if (request.path == "/metrics" && options_.metrics) return wait_for_state(request.id, true);
  if (request.path == "/metrics") return web_sentence(404, "There are no metrics here: start the run with --metrics.");
  if (!options_.page) return web_sentence(404, "Only /metrics is served here: start the run with --dashboard too.");
  for (const PageFile& file : page_files()) {
    if (request.path != file.path) continue;
    WebResponse response;
    response.type = file.type;
    response.lasting = file.bytes;
    return response;
  }
  if (request.path == "/about") return about();
  if (request.path == "/past") return past(request);
  if (options_.recording != nullptr && request.path == "/frame") return frame(request);
  if (options_.recording == nullptr && request.path == "/events") return events(request);
  if (options_.recording == nullptr && request.path == "/state") return wait_for_state(request.id, false);
  return web_sentence(404, "There is nothing under this path: the page is at /.");
}

/// The settings that the page reads first; for a recorded run, the time of each state.
WebResponse PageServer::about() const {
  if (options_.recording == nullptr) return json_response({{"mode", "live"}, {"every", options_.every}});
  return json_response(
      {{"mode", "replay"}, {"file", options_.recording->path()}, {"times", options_.recording->times()}});
}

WebResponse PageServer::frame(const WebRequest& request) const {
  const size_t number = size_in(request, "n");
  if (number >= options_.recording->size()) return web_sentence(404, "The recording has no state with that number.");
  const auto state = options_.recording->state(number);
  if (!state) return web_sentence(500, state.error().message);
  const PastPoint& point = options_.recording->points()[number];
  return json_response(message_of(*state, view_of(request), options_.recording->reader().values(point)));
}

/// The curves of the last hour; for a recorded run, of the hour before a state.
WebResponse PageServer::past(const WebRequest& request) {
  if (options_.recording == nullptr) {
    std::lock_guard lock(mutex_);
    return json_response(past_.message(reader_));
  }
  const auto& points = options_.recording->points();
  const size_t number = size_in(request, "n");
  if (number >= points.size()) return web_sentence(404, "The recording has no state with that number.");
  RunPast past;
  for (size_t i = 0; i <= number; ++i) {
    if (points[i].t >= points[number].t - RunPast::kSeconds) past.add(points[i]);
  }
  return json_response(past.message(options_.recording->reader()));
}

WebResponse PageServer::events(const WebRequest& request) {
  WebResponse response;
  response.type = "text/event-stream";
  response.when = WebResponse::When::stream;
  if (request.method == "HEAD") return response;
  StatePtr latest;
  nlohmann::json point;
  const PageView view = view_of(request);
  {
    std::lock_guard lock(mutex_);
    if (viewers_.size() >= kViewers) {
      return web_sentence(503, "There are " + std::to_string(kViewers) + " viewers of this page already.");
    }
    viewers_[request.id] = view;
    if (clock_.now() < latest_at_ + options_.every) latest = latest_;
    if (latest) point = reader_.values(point_);
  }
  if (latest) server_->push(request.id, event_of(message_of(*latest, view, point)));
  want();
  return response;
}

WebResponse PageServer::wait_for_state(uint64_t request, bool metrics) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= kWaitingRequests) return web_sentence(503, "Too many requests at once.");
    waiting_[request] = metrics;
  }
  want();
  WebResponse response;
  response.when = WebResponse::When::later;
  return response;
}

void PageServer::want() {
  std::function<void()> wake;
  {
    std::lock_guard lock(mutex_);
    wake = wake_;
  }
  if (wake) wake();
}

void PageServer::on_request_ended(uint64_t request) {
  std::lock_guard lock(mutex_);
  viewers_.erase(request);
  waiting_.erase(request);
  changed_.notify_all();
}

}  // namespace actorhost
