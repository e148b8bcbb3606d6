#include "host/overlay/tree_role.hpp"

#include <algorithm>

namespace actorhost {

namespace {

constexpr double kRootWait = 2;  // longer than a lease

}  // namespace

void TreeRole::take(const TreeReport& report, double now) {
  term_ = std::max({term_, report.term, report.resigned});
  // Ignores a token that this node itself or a later root has had.
  if (report.resigned <= own_term_ || report.resigned != term_ || is_root()) return;
  if (report.resigned != token_.term) token_to_.reset();  // the previous token was passed on
  token_ = {now + kTreeLease, report.known, report.envelope.from.node, report.resigned};
}

void TreeRole::take(const TreeResult& result, double now) {
  term_ = std::max(term_, result.term);
  if (result.lease > 0) root_seen_ = std::max(root_seen_, now);
}

void TreeRole::set_owns_root_key(bool owns, double now) {
  if (token_.until <= now && resigned_until() <= now) token_to_.reset();
  if (role_ == Role::resigned && resigned_until_ <= now) role_ = Role::member;
  if (owns != owns_root_key_) owns_root_key_since_ = now;
  owns_root_key_ = owns;
  if (is_root()) root_seen_ = now;
}

bool TreeRole::must_resign(const TreeParents::Parent& parent) const noexcept {
  return is_root() && !owns_root_key_ && parent.replied;
}

void TreeRole::resign(std::optional<NodeId> to, double until) {
  token_to_ = to;
  role_ = until > 0 ? Role::resigned : Role::member;
  resigned_until_ = until;
}

std::optional<uint64_t> TreeRole::succession(const TreeChildren& children, bool inside, double now) const {
  if (is_root() || !owns_root_key_) return std::nullopt;
  if (token_.until > now && token_.term == term_ && !token_to_) return token_.known;
  if (founder_ && !has_seen_root()) return 0;
  if (inside) return std::nullopt;
  // Waits from the last message of the old root, or, if that root failed before this node owned key 0, from then on.
  const bool had_root = root_seen_ > owns_root_key_since_ - kTreeRetention;
  const double from = had_root ? root_seen_ + kTreeRetention : owns_root_key_since_ + kRootWait;
  if (now < from || children.leased_until() > now) return std::nullopt;
  return children.known();
}

void TreeRole::become_root(NodeId self) {
  role_ = Role::root;
  own_term_ = term_ = ((term_ >> 32U) + 1) << 32U | self;
  token_.until = 0;
  token_to_.reset();
}

bool TreeRole::resume(double now) {
  owns_root_key_ = false;
  root_seen_ = std::min(root_seen_, now - kTreeRetention);
  return is_root();
}

void TreeRole::restart() noexcept {
  role_ = Role::member;
  token_.until = 0;
}

double TreeRole::next_time(double now) const noexcept {
  if (is_root() || !owns_root_key_) return kForever;
  return std::max(now + kTreeRetry, owns_root_key_since_ + kRootWait);
}

uint64_t TreeRole::hand_over(NodeId parent, std::optional<NodeId> target, double now) {
  const bool token = token_.until > now && token_.term == term_ && token_.from != parent;
  if (is_root() || (!token && resigned_until() <= now)) return 0;
  if (!token_to_ && target == parent) token_to_ = parent;
  return token_to_ != parent ? 0 : token ? token_.term : own_term_;
}

uint64_t TreeRole::hand_over_all(double now) const noexcept {
  return is_root() ? own_term_ : token_.until > now ? token_.term : 0;
}

uint64_t TreeRole::known(uint64_t least, double now) const noexcept {
  return token_.until > now ? std::max(least, token_.known) : least;
}

}  // namespace actorhost
