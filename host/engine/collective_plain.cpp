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

constexpr double kAskAfter = 1;  // seconds of waiting before the rendezvous host is asked where the others are

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
  call = {++calls_, std::move(name), std::move(signature), where, node_.clock().now() + timeout, {}};
  node_.refresh();
  for (const Member& member : node_.membership().workers()) call.workers.push_back(worker_address(member.id));
  return node_.check();
}

std::string PlainCollective::rank_name(const Call& call, Address address) const {
  const auto at = std::find(call.workers.begin(), call.workers.end(), address);
  return "rank " + std::to_string(at - call.workers.begin());
}

Status PlainCollective::barrier(const std::string& where, double timeout) {
  Call call;
  AH_TRY(begin(call, "barrier", "barrier", where, timeout));
  if (node_.address() != call.workers.front()) {
    auto done = exchange(call, Blob());
    return done ? Status() : Status(done.error());
  }
  std::vector<Blob> parts(call.workers.size());
  if (auto gathered = gather(call, parts); !gathered) {
    fail_all(call, gathered.error());
    return gathered;
  }
  answer_all(call, Blob());
  return {};
}

Result<FlatTensor> PlainCollective::allreduce(const FlatTensor& input, CollectiveOp op, const std::string& where,
                                              double timeout) {
  Call call;
  const std::string op_name = kOpNames[static_cast<size_t>(op)];
  AH_TRY(begin(call, "allreduce", "allreduce " + op_name + " " + layout_of(input), where, timeout));
  if (node_.address() != call.workers.front()) {
    auto result = exchange(call, input.data);
    if (!result) return result.error();
    if (result->size() != input.data.size()) return Error{Code::bad_data, "allreduce: result of the wrong size"};
    // In one process the root's result is shared by all ranks; each gets its own.
    return FlatTensor{input.dtype, input.shape, Blob::copy_of(result->data(), result->size())};
  }
  std::vector<Blob> parts(call.workers.size());
  if (auto gathered = gather(call, parts); !gathered) {
    fail_all(call, gathered.error());
    return gathered.error();
  }
  FlatTensor total{input.dtype, input.shape, Blob::copy_of(input.data.data(), input.data.size())};
  const kernel::Kernels& kernels = kernel::kernels();
  for (size_t rank = 1; rank < parts.size(); ++rank) {
    kernels.binary(binary_of(op), total.dtype, total.count(), total.data.data(), 1, total.data.data(), 1,
                   parts[rank].data(), 1);
  }
  if (op == CollectiveOp::mean) {
    const double n = static_cast<double>(parts.size());
    const float n32 = static_cast<float>(n);
    const void* divisor = total.dtype == kernel::Dtype::f32 ? static_cast<const void*>(&n32) : &n;
    kernels.binary(kernel::Binary::div, total.dtype, total.count(), total.data.data(), 1, total.data.data(), 1, divisor,
                   0);
  }
  answer_all(call, Blob::copy_of(total.data.data(), total.data.size()));
  return total;
}

/// The root's part: every other rank's contribution, in rank order.
Status PlainCollective::gather(const Call& call, std::vector<Blob>& parts) {
  for (uint32_t rank = 1; rank < call.workers.size(); ++rank) {
    auto frame = wait_for(call, kPart, call.workers[rank]);
    if (!frame) return frame.error();
    AH_TRY(check_part(call, *frame, rank));
    parts[rank] = std::move(frame->body);
  }
  return {};
}

/// Everybody else's part.
Result<Blob> PlainCollective::exchange(const Call& call, const Blob& input) {
  AH_TRY(send_part(call, input));
  auto frame = wait_for(call, kResult, call.workers.front());
  if (!frame) return frame.error();
  if (frame->kind == kResult) return std::move(frame->body);
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
  return node_.port().send(
      make_frame(kPart, node_.address(), call.workers.front(), call.number, meta.bytes(), std::move(body)),
      call.deadline);
}

void PlainCollective::answer_all(const Call& call, const Blob& result) {
  for (size_t rank = 1; rank < call.workers.size(); ++rank) {
    (void)node_.port().send(make_frame(kResult, node_.address(), call.workers[rank], call.number, {}, result));
  }
}

void PlainCollective::fail_all(const Call& call, const Error& error) {
  Packer meta;
  meta.put(error.code).put(error.message);
  for (size_t rank = 1; rank < call.workers.size(); ++rank) {
    (void)node_.port().send(make_frame(kFailed, node_.address(), call.workers[rank], call.number, meta.bytes()));
  }
}

Result<Frame> PlainCollective::wait_for(const Call& call, Kind kind, Address from) {
  const auto wanted = [&](const Frame& frame) {
    const bool kind_fits = frame.kind == kind || (frame.kind == kFailed && kind == kResult);
    return kind_fits && frame.src == from && frame.tag == call.number;
  };
  const std::array<Address, 1> awaited = {from};
  const double ask_at = node_.clock().now() + kAskAfter;
  auto frame = node_.receive(wanted, awaited, call.name, std::min(ask_at, call.deadline));
  if (!frame && frame.error().code == Code::timeout && node_.clock().now() < call.deadline) {
    AH_TRY(check_whereabouts(call, from));
    frame = node_.receive(wanted, awaited, call.name, call.deadline);
  }
  if (!frame && frame.error().code == Code::peer_lost) {
    return Error{Code::peer_lost, call.name + ": " + rank_name(call, from) + " lost"};
  }
  if (!frame && frame.error().code == Code::timeout) {
    return Error{Code::timeout, call.name + ": " + rank_name(call, from) + " has not answered in time"};
  }
  return frame;
}

Status PlainCollective::check_part(const Call& call, const Frame& frame, uint32_t rank) const {
  Unpacker in(frame.meta.view());
  const auto actions = in.get<uint32_t>();
  const std::string signature(in.text());
  const std::string where(in.text());
  if (!in.done()) return Error{Code::bad_data, call.name + ": malformed contribution of rank " + std::to_string(rank)};
  if (signature == call.signature && actions == node_.actions()) return {};
  return Error{Code::mismatch, "ranks disagree on a collective: rank 0 is in " + call.signature + " at " + call.where +
                                   ", rank " + std::to_string(rank) + " is in " + signature + " at " + where +
                                   (actions == node_.actions() ? "" : " (with another number of actions before it)") +
                                   "; every rank must make the same calls in the same order"};
}

/// A wait has become long: is the one that is waited for somewhere it will not come from?
Status PlainCollective::check_whereabouts(const Call& call, Address from) {
  auto list = node_.whereabouts();
  if (!list) return list.error();
  const std::string here = node_.name() + " is in " + call.signature + " at " + call.where + ", but ";
  for (const Whereabouts& w : *list) {
    if (worker_address(w.id) != from) continue;
    if (w.ended) {
      return Error{Code::mismatch, here + rank_name(call, from) + " has come to the end of its script"};
    }
    if (w.in_action && w.actions > node_.actions()) {
      return Error{Code::mismatch, here + rank_name(call, from) + " is in " + w.kind + " at " + w.where};
    }
  }
  return {};
}

}  // namespace actorhost
