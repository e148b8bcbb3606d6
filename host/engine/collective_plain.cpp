#include "host/engine/collective_plain.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

constexpr auto kPart = Kind{0x0200};    // worker -> root: actions:u32 signature:text where:text; body: its input
constexpr auto kResult = Kind{0x0201};  // root -> worker: body: the result
constexpr auto kFailed = Kind{0x0202};  // root -> worker: code:u32 message:text

constexpr double kAskAfter = 1;     // seconds of waiting before the rendezvous host is asked where the others are
constexpr double kAskAtMost = 16;   // it is asked again, at intervals that double up to this
constexpr double kForRoot = 0.25;   // seconds past the deadline in which the root may say who is missing
constexpr double kForAnswer = 1.0;  // seconds that the root tries to tell a failure to a rank without room

bool is_collective(Kind kind) { return within(kind, kinds_of(Kind::collective_first)); }

constexpr std::array<const char*, 5> kOpNames = {"sum", "mean", "min", "max", "prod"};

kernel::Binary binary_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::min: return kernel::Binary::min;
    case CollectiveOp::max: return kernel::Binary::max;
    case CollectiveOp::prod: return kernel::Binary::mul;
    case CollectiveOp::sum:
    case CollectiveOp::mean: break;
  }
  return kernel::Binary::add;
}

std::string layout_of(const FlatTensor& tensor) {
  std::string text = tensor.dtype == kernel::Dtype::f32 ? "float32[" : "float64[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

}  // namespace

bool parse_collective_op(std::string_view name, CollectiveOp& op) noexcept {
  const auto at = std::find(kOpNames.begin(), kOpNames.end(), name);
  if (at == kOpNames.end()) return false;
  op = static_cast<CollectiveOp>(at - kOpNames.begin());
  return true;
}

int64_t FlatTensor::count() const noexcept {
  int64_t n = 1;
  for (const int64_t dim : shape) n *= dim;
  return n;
}

Status PlainCollective::begin(Call& call, std::string name, std::string signature, const std::string& where,
                              double timeout) {
  call.number = ++calls_;
  call.name = std::move(name);
  call.signature = std::move(signature);
  call.where = where;
  call.deadline = node_.clock().now() + timeout;
  node_.refresh();
  for (const Member& member : node_.membership().workers()) call.workers.push_back(worker_address(member.id));
  AH_TRY(node_.check());
  if (rank_in(call, node_.address()) == call.workers.size()) {
    return Error{Code::unsupported, call.name + ": " + node_.name() + " is no live worker (guard with actor.role)"};
  }
  call.root = node_.address() == call.workers.front();
  return drop_leftovers();
}

/// Frames of calls that are over here: contributions to a call that had failed already, results that came too late.
Status PlainCollective::drop_leftovers() {
  std::vector<Frame> dropped;
  const auto old = [this](const Frame& frame) {
    return is_collective(frame.kind) && static_cast<int32_t>(frame.tag - calls_) < 0;
  };
  return node_.port().receive_all(old, node_.clock().now(), dropped);
}

size_t PlainCollective::rank_in(const Call& call, Address address) const {
  return static_cast<size_t>(std::find(call.workers.begin(), call.workers.end(), address) - call.workers.begin());
}

std::string PlainCollective::rank_name(const Call& call, Address address) const {
  return "rank " + std::to_string(rank_in(call, address));
}

Status PlainCollective::barrier(const std::string& where, double timeout) {
  Call call;
  AH_TRY(begin(call, "barrier", "barrier", where, timeout));
  if (!call.root) {
    auto done = exchange(call, Blob());
    return done ? Status() : Status(done.error());
  }
  if (auto gathered = gather(call); !gathered) return gathered.error();
  answer_all(call, kResult, {}, Blob());
  return {};
}

Result<FlatTensor> PlainCollective::allreduce(const FlatTensor& input, CollectiveOp op, const std::string& where,
                                              double timeout) {
  Call call;
  call.bytes = input.data.size();
  const std::string op_name = kOpNames[static_cast<size_t>(op)];
  AH_TRY(begin(call, "allreduce", "allreduce " + op_name + " " + layout_of(input), where, timeout));
  if (!call.root) {
    auto result = exchange(call, input.data);
    if (!result) return result.error();
    // In one process the root's result is shared by all ranks; each gets its own.
    return FlatTensor{input.dtype, input.shape, Blob::copy_of(result->data(), result->size())};
  }
  auto parts = gather(call);
  if (!parts) return parts.error();
  FlatTensor total{input.dtype, input.shape, Blob::copy_of(input.data.data(), input.data.size())};
  const kernel::Kernels& kernels = kernel::kernels();
  for (size_t rank = 1; rank < parts->size(); ++rank) {
    kernels.binary(binary_of(op), total.dtype, total.count(), total.data.data(), 1, total.data.data(), 1,
                   parts->at(rank).data(), 1);
  }
  if (op == CollectiveOp::mean) {
    const double n = static_cast<double>(parts->size());
    const float n32 = static_cast<float>(n);
    const void* divisor = total.dtype == kernel::Dtype::f32 ? static_cast<const void*>(&n32) : &n;
    kernels.binary(kernel::Binary::div, total.dtype, total.count(), total.data.data(), 1, total.data.data(), 1, divisor,
                   0);
  }
  answer_all(call, kResult, {}, Blob::copy_of(total.data.data(), total.data.size()));
  return total;
}

Result<std::vector<Blob>> PlainCollective::gather(const Call& call) {
  std::vector<Blob> parts(call.workers.size());
  const Status gathered = gather_into(call, parts);
  if (gathered) return parts;
  Packer meta;
  meta.put(gathered.error().code).put(gathered.error().message);
  answer_all(call, kFailed, meta.bytes(), {});
  return gathered.error();
}

/// In the order in which they come, so that one that is lost or elsewhere is noticed while another is slow.
Status PlainCollective::gather_into(const Call& call, std::vector<Blob>& parts) {
  std::vector<Address> missing(call.workers.begin() + 1, call.workers.end());
  while (!missing.empty()) {
    const auto wanted = [&](const Frame& frame) {
      return frame.kind == kPart && frame.tag == call.number &&
             std::find(missing.begin(), missing.end(), frame.src) != missing.end();
    };
    auto frame = wait_for(call, wanted, missing, call.deadline);
    if (!frame) return frame.error();
    const size_t rank = rank_in(call, frame->src);
    AH_TRY(check_part(call, *frame, rank));
    parts[rank] = std::move(frame->body);
    std::erase(missing, frame->src);
  }
  return {};
}

Result<Blob> PlainCollective::exchange(const Call& call, const Blob& input) {
  AH_TRY(send_part(call, input));
  const Address root = call.workers.front();
  const auto wanted = [&](const Frame& frame) {
    return (frame.kind == kResult || frame.kind == kFailed) && frame.src == root && frame.tag == call.number;
  };
  auto frame = wait_for(call, wanted, {root}, call.deadline + kForRoot);
  if (!frame) return frame.error();
  if (frame->kind == kResult) {
    if (frame->body.size() == call.bytes) return std::move(frame->body);
    return Error{Code::bad_data, call.name + ": a result of " + std::to_string(frame->body.size()) + " bytes where " +
                                     std::to_string(call.bytes) + " were due"};
  }
  Unpacker in(frame->meta.view());
  const auto code = in.get<Code>();
  std::string message(in.text());
  if (!in.done()) return Error{Code::bad_data, call.name + ": malformed answer"};
  return Error{code, std::move(message)};
}

Status PlainCollective::send_part(const Call& call, const Blob& input) {
  Packer meta;
  meta.put(node_.actions()).put(call.signature).put(call.where);
  // A copy: the caller goes on with its tensor while frames to another process may still be queued.
  Blob body = Blob::copy_of(input.data(), input.size());
  const Status sent = node_.port().send(
      make_frame(kPart, node_.address(), call.workers.front(), call.number, meta.bytes(), std::move(body)),
      call.deadline);
  return sent ? sent : Status(describe(call, sent.error(), {call.workers.front()}));
}

void PlainCollective::answer_all(const Call& call, Kind kind, std::string_view meta, const Blob& body) {
  const double deadline = kind == kFailed ? node_.clock().now() + kForAnswer : kForever;
  for (size_t rank = 1; rank < call.workers.size(); ++rank) {
    // Who is lost needs none, and who waits for it in vain hears of the run's end.
    (void)node_.port().send(make_frame(kind, node_.address(), call.workers[rank], call.number, meta, body), deadline);
  }
}

/// The next frame that matches, while all of `from` are alive and none of them is where it will not come from.
Result<Frame> PlainCollective::wait_for(const Call& call, const Port::Match& match, const std::vector<Address>& from,
                                        double deadline) {
  double interval = kAskAfter;
  bool astray = false;
  for (;;) {
    const double until = std::min(deadline, node_.clock().now() + interval);
    auto frame = node_.receive(match, from, call.name, until);
    if (frame) return frame;
    if (frame.error().code != Code::timeout || node_.clock().now() >= deadline) {
      return describe(call, frame.error(), from);
    }
    // Twice in a row, since what was sent before somebody went on may be slower than the news that it did.
    const Status whereabouts = check_whereabouts(call, from);
    if (!whereabouts && (astray || whereabouts.error().code != Code::mismatch)) return whereabouts.error();
    astray = !whereabouts;
    interval = astray ? kAskAfter : std::min(2 * interval, kAskAtMost);
  }
}

/// A failure of waiting for `from`, in the words of the ranks of this call.
Error PlainCollective::describe(const Call& call, const Error& error, const std::vector<Address>& from) {
  if (error.code == Code::peer_lost) {
    const MembershipPtr newest = node_.newest_membership();
    for (const Address address : from) {
      if (!newest->alive(address)) return {Code::peer_lost, call.name + ": " + rank_name(call, address) + " lost"};
    }
  }
  if (error.code != Code::timeout) return error;
  std::string who;
  for (const Address address : from) who += (who.empty() ? "" : ", ") + rank_name(call, address);
  return {Code::timeout, call.name + ": " + who + " has not answered in time"};
}

Status PlainCollective::check_part(const Call& call, const Frame& frame, size_t rank) const {
  Unpacker in(frame.meta.view());
  const auto actions = in.get<uint32_t>();
  const std::string signature(in.text());
  const std::string where(in.text());
  if (!in.done()) return Error{Code::bad_data, call.name + ": malformed contribution of rank " + std::to_string(rank)};
  if (signature != call.signature || actions != node_.actions()) {
    return Error{Code::mismatch, "ranks disagree on a collective: rank 0 is in " + call.signature + " at " +
                                     call.where + ", rank " + std::to_string(rank) + " is in " + signature + " at " +
                                     where +
                                     (actions == node_.actions() ? "" : " (with another number of actions before it)") +
                                     "; every rank must make the same calls in the same order"};
  }
  if (frame.body.size() == call.bytes) return {};
  return Error{Code::bad_data, call.name + ": rank " + std::to_string(rank) + " sent " +
                                   std::to_string(frame.body.size()) + " bytes where " + std::to_string(call.bytes) +
                                   " were due"};
}

/// A wait has become long: is one that is waited for somewhere it will not come from?
Status PlainCollective::check_whereabouts(const Call& call, const std::vector<Address>& from) {
  auto list = node_.whereabouts();
  if (!list) return list.error();
  const std::string here = node_.name() + " is in " + call.signature + " at " + call.where + ", but ";
  for (const Whereabouts& w : *list) {
    if (std::find(from.begin(), from.end(), worker_address(w.id)) == from.end()) continue;
    const std::string there = here + rank_name(call, worker_address(w.id));
    if (w.ended) return Error{Code::mismatch, there + " has come to the end of its script"};
    if (w.in_action && w.actions > node_.actions()) {
      return Error{Code::mismatch, there + " is in " + w.kind + " at " + w.where};
    }
  }
  return {};
}

}  // namespace actorhost
