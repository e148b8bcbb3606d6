#include "host/engine/peer/key_sync.hpp"

#include <algorithm>
#include <unordered_map>

#include "host/engine/values/assembler.hpp"

namespace actorhost {

namespace {

constexpr int kSyncTries = 4;

}  // namespace

std::vector<Arc> KeySync::parts_of(const Arc& arc) {
  const uint64_t length = arc.to - arc.from;  // 0 means 2^64
  const uint64_t step = length == 0 ? (uint64_t{1} << 60) : length / kParts;
  if (step == 0) return {arc};
  std::vector<Arc> parts;
  RingId at = arc.from;
  for (int i = 1; i < kParts; ++i, at += step) parts.push_back({at, at + step});
  parts.push_back({at, arc.to});
  return parts;
}

void KeySync::begin(const Arc& arc, const Peer& from, OnDone done) {
  end(arc);
  const auto job = std::make_shared<Job>();
  job->arc = arc;
  job->from = from;
  job->done = std::move(done);
  job->arcs.push_back(arc);
  jobs_.push_back(job);
  send_requests(job);
}

void KeySync::end(const Arc& arc) {
  for (const JobPtr& job : std::vector(jobs_)) {
    if (overlap(job->arc, arc)) finish(job, false);
  }
}

bool KeySync::copies(const Arc& arc) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const JobPtr& job) { return overlap(job->arc, arc); });
}

void KeySync::finish(const JobPtr& job, bool done) {
  if (std::erase(jobs_, job) == 0) return;
  job->failed = !done;
  job->done(done);
}

void KeySync::send_requests(const JobPtr& job) {
  while (!job->failed && job->open < kAtOnce && !(job->arcs.empty() && job->keys.empty())) {
    ++job->open;
    if (!job->keys.empty()) {
      const ParamKey key = job->keys.front();
      job->keys.pop_front();
      calls_.call(job->from, peer_kind::copy, CopyRequest{{}, key.canonical()}, kSyncTries,
                  [this, job, key](const Frame* frame) {
                    --job->open;
                    if (frame == nullptr) job->failed = true;
                    if (frame != nullptr && !job->failed) take(job, key, *frame);
                    send_requests(job);
                  });
      continue;
    }
    const Arc arc = job->arcs.front();
    job->arcs.pop_front();
    calls_.call_for<Summed>(job->from, peer_kind::sums, ArcQuery{{}, arc}, kSyncTries,
                            [this, job, arc](const Summed* theirs) {
                              --job->open;
                              if (theirs == nullptr) job->failed = true;
                              if (theirs != nullptr && !job->failed) compare(job, arc, *theirs);
                              send_requests(job);
                            });
  }
  if (job->open == 0) finish(job, !job->failed);
}

void KeySync::compare(const JobPtr& job, const Arc& arc, const Summed& theirs) {
  if (theirs.sum == table_.sum(arc)) return;
  if (!theirs.parts.empty()) {
    const std::vector<Arc> parts = parts_of(arc);
    for (size_t i = 0; i < std::min(parts.size(), theirs.parts.size()); ++i) {
      if (!(theirs.parts[i] == table_.sum(parts[i]))) job->arcs.push_back(parts[i]);
    }
    return;
  }
  std::unordered_map<std::string, uint64_t> digests;
  for (const KeyDigest& one : theirs.keys) digests[one.key] = one.digest;
  for (const ParamKey& key : table_.keys(arc)) {
    if (digests.count(key.canonical()) == 0) table_.erase(key);
  }
  for (const auto& [canonical, digest] : digests) {
    const auto key = ParamKey::from_canonical(canonical);
    if (key.ok() && arc.has(place_of(*key)) && table_.digest(*key) != digest) job->keys.push_back(*key);
  }
}

Status KeySync::on_sums(const Frame& frame) {
  const auto request = read_message<ArcQuery>(frame);
  if (!request.ok()) return malformed(frame, request.error().message);
  Summed reply;
  reply.sum = table_.sum(request->arc);
  const std::vector<Arc> parts = parts_of(request->arc);
  if (reply.sum.count <= kListed || parts.size() == 1) {
    for (const ParamKey& key : table_.keys(request->arc)) {
      reply.keys.push_back({key.canonical(), table_.digest(key)});
    }
  } else {
    for (const Arc& part : parts) reply.parts.push_back(table_.sum(part));
  }
  calls_.reply(frame, request->envelope.from, peer_kind::summed, std::move(reply));
  return {};
}

Status KeySync::on_copy(const Frame& frame) {
  const auto request = read_message<CopyRequest>(frame);
  if (!request.ok()) return malformed(frame, request.error().message);
  const auto key = ParamKey::from_canonical(request->key);
  if (!key.ok()) return malformed(frame, key.error().message);
  const Peer& to = request->envelope.from;
  std::vector<ParamEntry> entries;
  const KeyCopy copy = table_.copy(*key, entries);
  EntryPacker packer(peer_kind::copied, courier_address(to.process), frame.tag,
                     pack(Copied{{calls_.self(), to.node}, copy}));
  for (const ParamEntry& entry : entries) packer.add(entry);
  std::vector<Frame> frames;
  packer.finish(frames);
  for (Frame& part : frames) calls_.send(std::move(part));
  return {};
}

// Collects the frames of a reply; passes all entries to the requester with the last frame.
Status KeySync::on_copied(Frame&& frame) {
  Unpacker in(frame.meta.view());
  const auto head = unpack_head<Copied>(in);
  if (!head.ok()) return malformed(frame, head.error().message);
  auto entries = messages_.add(head->envelope.from, frame, in, false);
  if (!entries.ok()) return std::move(entries).error();
  if (!*entries) return {};
  copied_ = **std::move(entries);
  calls_.take_reply(frame, head->envelope.from.node);
  copied_.clear();
  return {};
}

void KeySync::take(const JobPtr& job, const ParamKey& key, const Frame& frame) {
  Unpacker in(frame.meta.view());
  const auto head = unpack_head<Copied>(in);
  auto whole = join_pieces(std::exchange(copied_, {}));
  if (!head.ok() || !whole.ok() || !table_.restore(key, head->copy, *std::move(whole)).ok()) job->failed = true;
}

}  // namespace actorhost
