#include "host/cluster/join_request.hpp"

#include <algorithm>
#include <utility>

namespace actorhost {

namespace {

constexpr int kMaxRedirects = 4;        // redirects from one host to the next
constexpr double kRedirectSeconds = 5;  // seconds to reach the coordinator at the address from a member
constexpr double kLeastDial = 1;        // least seconds for a dial, however late the coordinator's name was known

std::string whole_seconds(double value) { return std::to_string(static_cast<long>(value)) + " s"; }

std::string tried(const std::vector<std::string>& urls) {
  std::string list;
  for (const std::string& url : urls) list += (list.empty() ? "" : ", ") + url;
  return list;
}

}  // namespace

Status JoinRequest::run(const JoinPlace& place, const JoinMessage& self, StreamTransport& stream) {
  stream_ = &stream;
  const double deadline = clock_.now() + std::max(kLeastDial, place.start_timeout - place.waited);
  const std::vector<std::string>& urls = place.urls;
  for (size_t at = 0;; ++at) {
    const auto joined = join(place, self, at, deadline);
    if (joined && *joined) return {};
    const bool last = place.once && at + 1 >= urls.size();
    if (joined && (last || clock_.now() >= deadline)) {
      return Error{Code::unreachable, "other hosts, but no coordinator, at " + tried(urls)};
    }
    if (joined) {
      (void)view_.pause(kRedial);
      continue;
    }
    const Code code = joined.error().code;
    if (code != Code::mismatch && code != Code::peer_lost) return joined.error();
    if (last || urls.size() == 1) {
      return Error{code == Code::mismatch ? Code::refused : code, joined.error().message};
    }
    log_.debug("cluster", "trying the run's next address: " + joined.error().message);
  }
}

/// Joins at one of the urls, from index `at` on, or at the address of a redirect from there. False: there are members
/// but no coordinator; there may be one soon.
Result<bool> JoinRequest::join(const JoinPlace& place, const JoinMessage& self, size_t& at, double deadline) {
  AH_TRY(dial(place, place.urls, self, at, deadline));
  for (int hops = 0;; ++hops) {
    const Status admitted = await_reply(place, deadline);
    if (admitted) return true;
    stream_->close_link(dialled_, "it has not admitted this host");
    std::optional<std::string> url;
    {
      std::lock_guard lock(mutex_);
      url.swap(redirect_);
    }
    if (!url) return admitted.error();
    size_t first = 0;
    if (url->empty() || hops == kMaxRedirects) return false;
    if (!dial(place, {*url}, self, first, std::min(deadline, clock_.now() + kRedirectSeconds))) return false;
  }
}

/// Dials `urls`, from index `at` on, until a host with the token answers; sets `at` to its index.
Status JoinRequest::dial(const JoinPlace& place, const std::vector<std::string>& urls, const JoinMessage& self,
                         size_t& at, double deadline) {
  const auto link = dialler_.dial(kNoProcess, urls, at, deadline, place.once);
  if (!link) {
    const Code code = link.error().code;
    if (code != Code::unreachable && code != Code::timeout) return link.error();
    return Error{Code::unreachable, "no coordinator at " + tried(urls) + " within " +
                                        whole_seconds(place.start_timeout) +
                                        " (--start-timeout): " + link.error().message};
  }
  dialled_ = *link;
  view_.set_url(urls[at % urls.size()]);
  // If sending fails the link is down, and `await_reply` returns that error.
  (void)stream_->send_on(*link, make_frame(cluster_kind::join, kNoAddress, kNoAddress, 0, pack(self)));
  return {};
}

/// Waits for the coordinator's reply. Code::mismatch: another run replied; Code::peer_lost: the link ended first.
Status JoinRequest::await_reply(const JoinPlace& place, double deadline) {
  const auto replied = [&] {
    std::lock_guard lock(mutex_);
    return admitted_ || rejection_.has_value();
  };
  if (!view_.wait(deadline - clock_.now(), replied)) {
    return Error{Code::timeout, "the coordinator at " + view_.url() + " has not answered within " +
                                    whole_seconds(place.start_timeout) + " (--start-timeout)"};
  }
  if (view_.ended()) return *view_.interruption();
  std::optional<Error> rejection;
  {
    std::lock_guard lock(mutex_);
    if (admitted_) return {};
    rejection.swap(rejection_);
  }
  if (!rejection) return *view_.interruption();
  const Error& error = *rejection;
  const char* what = error.code == Code::peer_lost  ? "lost"
                     : error.code == Code::bad_data ? "cannot understand"
                                                    : "refused by";
  return Error{error.code, std::string(what) + " the coordinator at " + view_.url() + ": " + error.message};
}

void JoinRequest::on_redirect(const Frame& frame) {
  auto place = unpack<RedirectMessage>(frame.meta.view());
  if (!place) return reject(place.error());
  {
    std::lock_guard lock(mutex_);
    redirect_ = std::move(place->url);
  }
  reject({Code::peer_lost, "the coordinator is not there"});
}

void JoinRequest::on_refusal(const Frame& frame) {
  auto end = unpack<EndMessage>(frame.meta.view());
  if (!end) return reject(end.error());
  reject({end->code, end->message});
}

/// The link is no longer the coordinator's.
void JoinRequest::reject(const Error& error) {
  {
    std::lock_guard lock(mutex_);
    if (admitted_) return;
    link_ = 0;
    rejection_ = error;
  }
  view_.notify();
}

void JoinRequest::admit() {
  {
    std::lock_guard lock(mutex_);
    link_ = 0;
    admitted_ = true;
  }
  view_.notify();
}

}  // namespace actorhost
