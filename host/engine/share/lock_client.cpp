#include "host/engine/share/lock_client.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "host/base/printable.hpp"

namespace actorhost {

namespace {

std::string blockers_text(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

}  // namespace

Result<LockService::Values> LockClient::lock(Wanted wanted) {
  AH_TRY(node_.check());
  static constexpr EngineCall kCall{Cause::lock, "lock"};
  const Activity activity(node_.stats(), kCall);
  if (holds()) {
    return Error{Code::bad_argument, "lock: " + node_.name() + " holds a lock already, taken at " + held_where_ +
                                         "; ask for all keys in one call"};
  }
  name_ = wanted.name;
  timeout_ = wanted.timeout;
  const double deadline = timeout_ ? node_.clock().now() + *timeout_ : kForever;
  parts_ = wanted.parts.size();
  held_where_ = wanted.where;
  AH_LET(auto shares, shares_of(wanted));
  LockService::Values values(parts_);
  for (Share& share : shares) {
    auto got = take(share, deadline);
    if (!got) {
      (void)release({});
      return got.error();
    }
    for (size_t i = 0; i < share.places.size(); ++i) values[share.places[i]] = std::move((*got)[i]);
    held_.push_back(std::move(share));
  }
  return values;
}

/// The requested parts by process, in the order of the processes' numbers.
Result<std::vector<LockClient::Share>> LockClient::shares_of(Wanted& wanted) const {
  const MembershipPtr membership = node_.newest_membership();
  std::map<ProcessId, Share> by_process;
  if (!wanted.keys.empty() || wanted.parts.empty()) by_process[0].request.keys = std::move(wanted.keys);
  for (uint32_t place = 0; place < wanted.parts.size(); ++place) {
    const LockRequest::Part& part = wanted.parts[place];
    const ProcessId home = membership->home_of(worker_address(part.owner));
    if (home == kNoProcess) return Error{Code::peer_lost, "lock: " + rank_name(part.owner) + " lost"};
    Share& share = by_process[home];
    share.request.parts.push_back(part);
    share.places.push_back(place);
  }
  std::vector<Share> shares;
  for (auto& [process, share] : by_process) {
    share.process = process;
    share.request.epoch = membership->epoch();
    share.request.where = wanted.where;
    share.request.access = wanted.access;
    shares.push_back(std::move(share));
  }
  return shares;
}

Result<LockService::Values> LockClient::take(Share& share, double deadline) {
  share.id = ++last_id_;
  if (here(share)) {
    auto granted = here_.acquire(request_id_of(share), share.request);
    if (!granted) return describe(share, granted.error());
    if (*granted) return std::move(**granted);
  } else {
    auto frame = share.request.frame(share.id, share.process);
    if (!frame) return describe(share, frame.error());
    send(std::move(*frame));
  }
  auto values = wait_for(share, deadline);
  if (!values && values.error().code != Code::timeout) release_share(share);
  return values;
}

Result<LockService::Values> LockClient::wait_for(const Share& share, double deadline) {
  const std::array<Address, 1> from = {courier_address(share.process)};
  const auto is_reply = [&](const Frame& frame) {
    return within(frame.kind, kinds_of(Kind::lock_first)) && frame.src == from[0] && frame.tag == share.id;
  };
  const std::string awaited = "lock of " + name_;
  auto frame = node_.receive(is_reply, from, awaited, deadline);
  if (!frame && frame.error().code == Code::timeout) {
    // The lock may be granted at this moment. The reply decides, and a grant is accepted.
    if (here(share)) {
      if (const auto blockers = here_.withdraw(request_id_of(share))) {
        return read_reply(share, LockWithdrawn{*blockers}.frame(request_id_of(share)));
      }
    } else {
      Frame cancellation;
      cancellation.kind = lock_kind::withdraw;
      cancellation.dst = from[0];
      cancellation.tag = share.id;
      send(std::move(cancellation));
    }
    frame = node_.receive(is_reply, from, awaited);
  }
  if (!frame) return describe(share, frame.error());
  return read_reply(share, *frame);
}

Result<LockService::Values> LockClient::read_reply(const Share& share, const Frame& frame) const {
  if (frame.kind == lock_kind::granted) {
    auto values = here(share) ? here_.collect(request_id_of(share)) : read_granted(frame);
    if (values && values->size() != share.places.size()) {
      values = Error{Code::bad_data, "a grant of other values than the requested ones"};
    }
    if (values) return values;
    return describe(share, distrust(frame, values.error()));
  }
  if (frame.kind == lock_kind::refused) return describe(share, error_of(frame));
  const auto withdrawn = read_message<LockWithdrawn>(frame);
  if (!withdrawn) return describe(share, distrust(frame, withdrawn.error()));
  std::vector<std::string> ahead;
  for (const LockTable::Blocker& blocker : withdrawn->blockers) {
    ahead.push_back((blocker.holds ? "held by " : "wanted before by ") + rank_name(blocker.node) + " at " +
                    blocker.where);
  }
  const std::string by = ahead.empty() ? "" : " (" + blockers_text(ahead) + ")";
  return Error{Code::timeout, "lock: " + name_ + " not granted within " + seconds_text(timeout_.value_or(0)) + by};
}

/// The owner's process has sent a malformed frame: this node treats it as failed.
Error LockClient::distrust(const Frame& frame, const Error& why) const {
  const bool closed = node_.cluster().distrust(frame.src, frame.kind, why.message);
  return closed ? Error{Code::peer_lost, why.message} : why;
}

Error LockClient::describe(const Share& share, const Error& error) const {
  if (error.code == Code::peer_lost) return {Code::peer_lost, "lock: " + owner_names(share) + " lost"};
  if (error.code == Code::interrupted || error.code == Code::aborted) return error;
  return {error.code, "lock: " + error.message};
}

std::string LockClient::owner_names(const Share& share) const {
  std::vector<NodeId> owners;
  for (const LockRequest::Part& part : share.request.parts) owners.push_back(part.owner);
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  std::vector<std::string> names;
  for (const NodeId owner : owners) names.push_back(rank_name(worker_address(owner)));
  return names.empty() ? "the coordinator" : blockers_text(names);
}

/// The node's name as the script knows it, by rank.
std::string LockClient::rank_name(Address node) const {
  const auto rank = node_.membership().rank_of(node);
  return rank ? "rank " + std::to_string(*rank) : address_name(node);
}

/// Releases a share's lock without new values.
void LockClient::release_share(const Share& share) {
  if (here(share)) return here_.release(request_id_of(share), {});
  if (auto frame = release_frame(share.id, share.process, {})) send(std::move(*frame));
}

/// Sends a frame through the courier, which keeps frames in order without blocking this thread.
void LockClient::send(Frame&& frame) {
  frame.src = node_.address();
  courier_.forward(std::move(frame));
}

Status LockClient::release(SharedWrites writes) {
  std::vector<Share> held = std::exchange(held_, {});
  std::vector<SharedWrites> by_share = sorted(held, std::move(writes));
  Status fits;
  std::vector<Frame> frames;
  for (size_t i = 0; i < held.size(); ++i) {
    if (here(held[i])) continue;
    auto frame = release_frame(held[i].id, held[i].process, by_share[i]);
    if (!frame) {
      fits = frame.error();
      frame = release_frame(held[i].id, held[i].process, {});
    }
    frames.push_back(std::move(*frame));
  }
  if (!fits) {  // writes all values or none
    for (const Share& share : held) release_share(share);
    return fits;
  }
  for (size_t i = 0; i < held.size(); ++i) {
    if (here(held[i])) here_.release(request_id_of(held[i]), std::move(by_share[i]));
  }
  for (Frame& frame : frames) send(std::move(frame));
  return {};
}

/// The writes of each share, with the indices of the parts in the share.
std::vector<SharedWrites> LockClient::sorted(const std::vector<Share>& held, SharedWrites&& writes) {
  std::map<uint32_t, std::pair<size_t, uint32_t>> at;  // the share, and the index in it
  for (size_t i = 0; i < held.size(); ++i) {
    for (uint32_t k = 0; k < held[i].places.size(); ++k) at[held[i].places[k]] = {i, k};
  }
  std::vector<SharedWrites> out(held.size());
  for (auto& [place, value] : writes) {
    const auto found = at.find(place);
    if (found != at.end()) out[found->second.first].emplace_back(found->second.second, std::move(value));
  }
  return out;
}

}  // namespace actorhost
