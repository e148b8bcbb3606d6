#include "host/overlay/requests.hpp"

namespace actorhost {

void Requests::find(const Peer& to, RingId key, int tries, OnFound done) {
  send_request({to, Find{{}, key}, tries, now_, 0, std::move(done), nullptr});
}

void Requests::probe(const Peer& to, PeerProbe probe, int tries, OnProbed done) {
  send_request({to, std::move(probe), tries, now_, 0, nullptr, std::move(done)});
}

bool Requests::is_probing(NodeId node) const noexcept {
  const auto at = peers_.find(node);
  return at != peers_.end() && at->second.probes > 0;
}

void Requests::mark_live(NodeId node) {
  const auto at = peers_.find(node);
  if (at != peers_.end()) at->second.received_at = now_;
}

void Requests::send_request(Request&& request) {
  request.due = now_ + patience_;
  --request.tries;
  const uint32_t tag = ++last_tag_;
  if (const auto* find = std::get_if<Find>(&request.message)) {
    send(overlay_kind::find, request.to, tag, *find);
  } else {
    send(overlay_kind::probe, request.to, tag, std::get<PeerProbe>(request.message));
  }
  PeerRequests& peer = peers_[request.to.node];
  ++peer.requests;
  peer.probes += request.found ? 0 : 1;
  pending_.emplace(tag, std::move(request));
}

Requests::Request Requests::take(Pending::iterator at) {
  Request request = std::move(at->second);
  pending_.erase(at);
  const auto peer = peers_.find(request.to.node);
  peer->second.probes -= request.found ? 0 : 1;
  if (--peer->second.requests == 0) peers_.erase(peer);
  return request;
}

bool Requests::take_reply(uint32_t tag, const Found& found) {
  const auto at = pending_.find(tag);
  if (at == pending_.end() || at->second.to.node != found.envelope.from.node || !at->second.found) return false;
  take(at).found(&found);
  return true;
}

bool Requests::take_reply(uint32_t tag, const PeerProbe& probe) {
  const auto at = pending_.find(tag);
  if (at == pending_.end() || at->second.to.node != probe.envelope.from.node || !at->second.probed) return false;
  take(at).probed(&probe);
  return true;
}

double Requests::tick() {
  while (!pending_.empty() && pending_.begin()->second.due <= now_) {
    const double received_at = peers_.at(pending_.begin()->second.to.node).received_at;
    Request request = take(pending_.begin());
    if (request.tries > 0) {
      send_request(std::move(request));
      peers_.at(request.to.node).received_at = received_at;
    } else {
      const bool silent = received_at < request.begun;
      if (silent && silent_) silent_(request.to, request.found ? overlay_kind::find : overlay_kind::probe);
      give_up(std::move(request));
    }
  }
  return pending_.empty() ? kForever : pending_.begin()->second.due;
}

void Requests::postpone(double seconds) {
  for (auto& [tag, request] : pending_) request.due += seconds;
}

void Requests::give_up(Request&& request) {
  if (request.found) return request.found(nullptr);
  request.probed(nullptr);
}

void Requests::fail(NodeId node) {
  std::vector<Request> failed;
  for (auto at = pending_.begin(); at != pending_.end();) {
    const auto here = at++;
    if (here->second.to.node == node) failed.push_back(take(here));
  }
  for (Request& request : failed) give_up(std::move(request));
}

void Requests::fail_all() {
  peers_.clear();
  for (auto& [tag, request] : std::exchange(pending_, {})) give_up(std::move(request));
}

}  // namespace actorhost
