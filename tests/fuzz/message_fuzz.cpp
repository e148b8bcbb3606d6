// Reads bytes from the network as a message between hosts: the first byte chooses the kind, the next two the length of
// the metadata; the rest is the body. Without a body, the message's fields determine where both end. A readable message
// can be written, and reads back as the same bytes. The same holds for the values in messages.

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/look/console_messages.hpp"
#include "host/cluster/membership.hpp"
#include "host/engine/average/average_messages.hpp"
#include "host/engine/collective/arbiter_messages.hpp"
#include "host/engine/collective/collective_messages.hpp"
#include "host/engine/param/param_messages.hpp"
#include "host/engine/peer/peer_pace.hpp"
#include "host/engine/share/event_messages.hpp"
#include "host/engine/share/lock_messages.hpp"
#include "host/engine/values/split_tensor.hpp"
#include "host/mapreduce/tasks/mapreduce_messages.hpp"
#include "host/overlay/overlay_messages.hpp"

namespace {

using namespace actorhost;

/// The bytes that these messages use.
template <typename... M>
std::string_view front_of(std::string_view bytes, M&&... messages) {
  Unpacker in(bytes);
  FieldUnpacker{in}(messages...);
  return in.ok() ? bytes.substr(0, bytes.size() - in.rest().size()) : bytes;
}

/// The same bytes, cut at the end of the message's fields: random lengths seldom fit.
template <typename M>
Frame fitted(const Frame& frame) {
  M message{};
  const std::string_view meta = front_of(frame.meta.view(), message);
  std::string_view body = frame.meta.view().substr(meta.size());
  if constexpr (requires { M::body_fields(message, [](auto&&...) {}); }) {
    Unpacker in(body);
    M::body_fields(message, FieldUnpacker{in});
    if (in.ok()) body.remove_suffix(in.rest().size());
  } else if constexpr (!requires { M::body(message); }) {
    body = {};
  }
  return make_frame(frame.kind, frame.src, frame.dst, frame.tag, meta, Blob::copy_of(body));
}

template <typename M>
void read_as(const Frame& frame) {
  const auto first = read_message<M>(frame.body.empty() ? fitted<M>(frame) : frame);
  if (!first.ok()) return;
  const Frame written = message_frame(frame.kind, frame.dst, frame.tag, *first);
  const auto again = read_message<M>(written);
  if (!again.ok()) std::abort();
  const Frame last = message_frame(frame.kind, frame.dst, frame.tag, *again);
  if (last.meta.view() != written.meta.view() || last.body.view() != written.body.view()) std::abort();
}

template <typename M>
void read_routed(const Frame& frame) {
  const std::string_view meta = frame.body.empty() ? front_of(frame.meta.view(), Route{}, M{}) : frame.meta.view();
  const auto first = read_behind_route<M>(make_frame(frame.kind, frame.src, frame.dst, frame.tag, meta));
  if (!first.ok()) return;
  const std::string written = pack(Route{}, *first);
  const auto again = read_behind_route<M>(make_frame(frame.kind, frame.src, frame.dst, frame.tag, written));
  if (!again.ok() || pack(Route{}, *again) != written) std::abort();
}

/// Checks the description of a split tensor: its parts are within the tensor.
void read_split_tensor(const std::optional<SplitTensor>& split) {
  if (!split) return;
  if (!split->is_valid()) std::abort();
  for (const uint32_t part : {uint32_t{0}, split->parts() / 2, split->parts() - 1}) (void)split->range(part);
  if (SplitTensor::of(split->as_lua()) != split) std::abort();
}

void read_entries_of(const Frame& frame) {
  for (const bool with_steps : {false, true}) {
    Unpacker in(frame.meta.view());
    std::vector<ParamEntry> entries;
    FilterBytes bytes;
    (void)read_entries(in, frame.body, with_steps, entries, &bytes);
    for (const ParamEntry& entry : entries) read_split_tensor(SplitTensor::of(entry.value));
  }
  Unpacker in(frame.meta.view());
  std::vector<ParamKey> keys;
  (void)read_keys(in, keys);
}

void read_value(const Result<CarriedValue>& value) {
  if (!value.ok()) return;
  const PackedValue again = pack_value(*value);
  if (!unpack_value(again).ok() || !unpack_row(pack_row(again)).ok()) std::abort();
}

void read_values(const Frame& frame) {
  read_value(unpack_value(frame.meta.view(), frame.body.view(), &frame.body));
  read_value(unpack_row(frame.meta.view()));
  const auto parcels = unpack_parcels(frame.body.view(), frame.meta.size());
  if (!parcels.ok()) return;
  for (const auto& parcel : *parcels) {
    if (parcel) read_value(unpack_value(*parcel));
  }
}

void read_locks(const Frame& frame) {
  (void)read_release(frame);
  (void)read_granted(frame);
}

/// Commands of observers and reports of processes.
void read_json(const Frame& frame) {
  const nlohmann::json value = parse_outside_json(frame.body.view());
  if (value.is_discarded()) return;
  if (parse_outside_json(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)).is_discarded())
    std::abort();
}

void read_split_tensor_of(const Frame& frame) {
  const auto split = unpack<SplitTensor>(frame.meta.view());
  if (split && split->is_valid()) read_split_tensor(*split);
}

constexpr void (*kReaders[])(const Frame&) = {
    read_as<JoinMessage>,
    read_as<WelcomeMessage>,
    read_as<EndMessage>,
    read_as<ObserveMessage>,
    read_as<SpansMessage>,
    read_as<AttachMessage>,
    read_as<RedirectMessage>,
    read_as<ActionEnter>,
    read_as<ActionReply>,
    read_as<ModuleFind>,
    read_as<ModuleReply>,
    read_as<LongWait>,
    read_as<ConsoleRequest>,
    read_as<ConsoleCut>,
    read_as<ConsoleOver>,
    read_as<ConsoleHold>,
    read_as<ConsoleFrom>,
    read_as<ConsoleDone>,
    read_as<Whereabouts>,
    read_as<Membership>,
    read_as<Report>,
    read_as<RoundOpen>,
    read_as<RoundReady>,
    read_as<RoundGo>,
    read_as<AveragePiece>,
    read_as<RoundDone>,
    read_as<RoundVerdict>,
    read_as<AppealFrame>,
    read_as<CaseFrame>,
    read_as<JoinPoint>,
    read_as<EventMessage>,
    read_as<WindowUpdate>,
    read_as<LockRequest>,
    read_as<LockWithdrawn>,
    read_as<TaskHead>,
    read_as<PushHead>,
    read_as<Commit>,
    read_as<ShardReport>,
    read_as<Ready>,
    read_as<CheckpointCut>,
    read_as<Stop>,
    read_as<Reject>,
    read_as<Discard>,
    read_as<PlanBegin>,
    read_as<TaskDone>,
    read_as<TaskFailed>,
    read_as<TaskRequest>,
    read_as<TaskOrder>,
    read_as<ActionOutcome>,
    read_as<ForgetOutputs>,
    read_as<FetchBlocks>,
    read_as<FetchedBlock>,
    read_as<BlocksMissing>,
    read_as<Envelope>,
    read_as<Find>,
    read_as<Found>,
    read_as<PeerProbe>,
    read_as<Suspect>,
    read_as<TreeReport>,
    read_as<TreeResult>,
    read_as<ArcQuery>,
    read_as<KnownRanges>,
    read_as<Claim>,
    read_as<Adopt>,
    read_as<Adopted>,
    read_as<Renew>,
    read_as<Settled>,
    read_as<KeyRequest>,
    read_as<KeyReply>,
    read_as<Write>,
    read_as<Written>,
    read_as<Summed>,
    read_as<CopyRequest>,
    read_as<Copied>,
    read_as<WatchPeer>,
    read_as<WatchedPeer>,
    read_as<PeerPace>,
    read_as<ErrorMessage>,
    read_routed<Announce>,
    read_routed<ResultHead>,
    read_routed<Go>,
    read_routed<PieceHead>,
    read_routed<ParcelHead>,
    read_routed<Missing>,
    read_routed<Failure>,
    read_entries_of,
    read_split_tensor_of,
    read_locks,
    read_values,
    read_json,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const size_t meta = std::min(bytes.size(), data[1] | static_cast<size_t>(data[2]) << 8);
  const Frame frame =
      make_frame(Kind{0x0300}, Address{1}, Address{2}, 3, bytes.substr(0, meta), Blob::copy_of(bytes.substr(meta)));
  kReaders[data[0] % std::size(kReaders)](frame);
  return 0;
}
