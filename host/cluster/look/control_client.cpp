#include "host/cluster/look/control_client.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

namespace {

constexpr size_t kMostNews = 10'000;  // most unread events; older events are dropped
constexpr double kCheck = 0.05;       // seconds between two calls of the check
constexpr int kMostHops = 4;          // redirects from one host to the next

}  // namespace

ControlClient::ControlClient(StreamOptions options, const Clock& clock, Log& log, std::function<Status()> check)
    : clock_(clock), check_(std::move(check)), transport_(std::move(options), log, static_cast<LinkEvents&>(*this)) {}

ControlClient::~ControlClient() { transport_.close(); }

Status ControlClient::attach(const std::string& url, double seconds) {
  url_ = url;
  auto link = transport_.dial(url, seconds);
  return link ? Status() : Status(link.error());
}

void ControlClient::on_link_up(LinkId link, std::optional<ProcessId> /*dialled*/, const std::string& /*peer*/) {
  std::lock_guard lock(mutex_);
  link_ = link;
  down_.reset();
}

void ControlClient::on_link_down(LinkId link, ProcessId, const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (link != link_) return;
  down_ = reason;
  came_.notify_all();
}

void ControlClient::on_service_frame(LinkId, Frame&& frame) {
  std::lock_guard lock(mutex_);
  if (frame.kind == cluster_kind::pushed) {
    if (news_.size() >= kMostNews) news_.pop_front();
    news_.emplace_back(frame.body.view());
  } else if (frame.kind == cluster_kind::observed || frame.kind == cluster_kind::control_reply) {
    replies_.push_back(std::move(frame));
  } else if (frame.kind == cluster_kind::redirect) {
    const auto place = read_message<RedirectMessage>(frame);
    redirect_ = place ? place->url : "";
  } else {
    return;  // heartbeats, and messages of later versions
  }
  came_.notify_all();
}

/// Waits until `take`, called with the lock, returns true.
template <typename Take>
Status ControlClient::wait(double seconds, const Take& take) {
  const double deadline = clock_.now() + seconds;
  for (;;) {
    if (check_) AH_TRY(check_());
    std::unique_lock lock(mutex_);
    if (take()) return {};
    if (down_) return Error{Code::peer_lost, "the connection to the run has ended: " + *down_};
    const double left = deadline - clock_.now();
    if (left <= 0) return Error{Code::timeout, "the run's coordinator has not answered in time"};
    came_.wait_for(lock, std::min(left, kCheck));
  }
}

Result<std::string> ControlClient::request(Kind kind, Kind reply_kind, std::string_view meta, const Blob& body,
                                           double seconds) {
  for (int hops = 0;; ++hops) {
    auto got = send_request(kind, reply_kind, meta, body, seconds);
    std::optional<std::string> place;
    {
      std::lock_guard lock(mutex_);
      place.swap(redirect_);
    }
    if (!place) return got;
    if (place->empty() || hops == kMostHops) {
      return Error{Code::peer_lost, "the run has lost its coordinator and has no other yet"};
    }
    AH_TRY(attach(with_scope_of(*place, url_), seconds));
  }
}

/// Sends a request over the newest link. If the host redirects, `redirect_` is set and the text is empty.
Result<std::string> ControlClient::send_request(Kind kind, Kind reply_kind, std::string_view meta, const Blob& body,
                                                double seconds) {
  const uint32_t number = ++number_;
  LinkId link = 0;
  {
    std::lock_guard lock(mutex_);
    link = link_;
  }
  AH_TRY(transport_.send_on(link, make_frame(kind, kNoAddress, kNoAddress, number, meta, body)));
  std::string text;
  AH_TRY(wait(seconds, [&] {
    if (redirect_) return true;
    while (!replies_.empty()) {
      const Frame frame = std::move(replies_.front());
      replies_.pop_front();
      if (frame.kind != reply_kind || frame.tag != number) continue;  // to a request that timed out
      text = frame.body.view();
      return true;
    }
    return false;
  }));
  return text;
}

Result<std::string> ControlClient::state(const std::vector<std::string>& sections, double seconds) {
  return request(cluster_kind::observe, cluster_kind::observed, pack(ObserveMessage{sections}), {}, seconds);
}

Result<std::string> ControlClient::control(const std::string& command, double seconds) {
  return request(cluster_kind::control, cluster_kind::control_reply, {}, Blob::copy_of(command), seconds);
}

Result<std::optional<std::string>> ControlClient::next(double seconds) {
  std::optional<std::string> first;
  const Status came = wait(seconds, [&] {
    if (news_.empty()) return false;
    first = std::move(news_.front());
    news_.pop_front();
    return true;
  });
  if (!came && came.error().code != Code::timeout) return came.error();
  return first;
}

}  // namespace actorhost
