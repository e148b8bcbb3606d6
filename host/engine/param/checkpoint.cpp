#include "host/engine/param/checkpoint.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "host/data/file/atomic_dir.hpp"
#include "host/data/file/files.hpp"
#include "host/engine/param/checkpoint_file.hpp"

namespace actorhost {

namespace {

// Joins the shards' parts of one tensor: the chunks of `pick` from each part that has the key.
template <typename Pick>
Result<Tensor> join(const std::vector<const StoredTensor*>& parts, Pick&& pick) {
  const StoredTensor& like = *parts.front();
  Tensor whole{like, Blob::allocate(like.bytes())};
  uint64_t have = 0;
  for (const StoredTensor* part : parts) {
    if (static_cast<const TensorLayout&>(*part) != like) continue;  // a part of an earlier value of the key
    size_t at = part->range.first * dtype_size(like.dtype);
    for (const StoredChunk& chunk : part->chunks) {
      const Blob& bytes = pick(chunk);
      if (bytes.size() > whole.data.size() - at) return Error{Code::internal, "parts that don't fit together"};
      if (!bytes.empty()) std::memcpy(whole.data.data() + at, bytes.data(), bytes.size());
      at += bytes.size();
      have += bytes.size();
    }
  }
  if (have != whole.bytes()) return Error{Code::internal, "the shards' parts don't make up a " + whole.print()};
  return whole;
}

Result<ParamCheckpoint::Value> joined(const ParamKey& key, const Stored& owner,
                                      const std::vector<const StoredTensor*>& parts) {
  ParamCheckpoint::Value value;
  value.key = key;
  value.step = owner.step;
  value.version = owner.version;
  if (const auto* lua = std::get_if<LuaValue>(&owner.value)) {
    value.value = *lua;
    return value;
  }
  const auto& tensor = std::get<StoredTensor>(owner.value);
  auto whole = join(parts, [](const StoredChunk& chunk) -> const Blob& { return chunk.value; });
  if (!whole) return whole.error();
  value.value = *std::move(whole);
  value.state_of = tensor.state_of;
  for (int i = 0; i < tensor.state_parts; ++i) {
    auto state = join(parts, [i](const StoredChunk& chunk) -> const Blob& { return chunk.state[i]; });
    if (!state) return state.error();
    value.state.push_back(*std::move(state));
  }
  for (const StoredTensor* part : parts) {
    for (const StoredChunk& chunk : part->chunks) value.made = std::max(value.made, chunk.made);
  }
  return value;
}

}  // namespace

Status ParamCheckpoint::restore(ParamStore& store) const {
  for (const Value& value : values) {
    if (const auto* lua = std::get_if<LuaValue>(&value.value)) {
      AH_TRY(store.restore(value.key, *lua, value.step, value.version));
    } else {
      AH_TRY(store.restore(value.key, std::get<Tensor>(value.value), value.state, value.state_of, value.made,
                           value.step, value.version));
    }
  }
  return {};
}

Result<std::filesystem::path> save_checkpoint(const CheckpointFolder& folder, const ParamCheckpoint& checkpoint) {
  AH_TRY(clean_leftovers(folder.directory, folder.prefix));
  AH_LET(const auto there, list_numbered(folder.directory, folder.prefix));
  AH_LET(auto dir, AtomicDir::begin(folder.directory, folder.prefix, there.empty() ? 1 : there.front().number + 1));
  AH_TRY(write_checkpoint(dir.path(), checkpoint));
  AH_TRY(dir.commit());
  AH_TRY(prune_complete(folder.directory, folder.prefix, folder.keep));
  return dir.final_path();
}

ParamCheckpointer::ParamCheckpointer(CheckpointFolder folder, uint32_t shards, Log& log,
                                     std::function<void(const Error&)> failed)
    : folder_(std::move(folder)), failed_(std::move(failed)), shards_(shards), log_(log), thread_([this] { run(); }) {}

ParamCheckpointer::~ParamCheckpointer() {
  {
    std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ParamCheckpointer::begin(const RunState& state) {
  std::lock_guard lock(mutex_);
  open_ = Collected{state, finished_, {}};
}

void ParamCheckpointer::add(uint64_t number, uint32_t shard, std::vector<std::pair<ParamKey, Stored>> values) {
  std::lock_guard lock(mutex_);
  if (!open_ || open_->state.number != number) return;  // a later checkpoint has replaced it
  open_->parts[shard] = std::move(values);
  if (open_->parts.size() < shards_) return;
  if (waiting_ && std::has_single_bit(++skipped_)) {  // logs the 1st, 2nd, 4th, ...
    log_.warn("server 0", "the checkpoint at " + std::to_string(waiting_->state.updates) +
                              " updates is skipped: checkpoints are made faster than they are written (" +
                              std::to_string(skipped_) + " so far)");
  }
  waiting_ = std::exchange(open_, std::nullopt);
  changed_.notify_all();
}

void ParamCheckpointer::finished(RunId run, const ParamSummary& summary) {
  std::lock_guard lock(mutex_);
  finished_[run] = summary;
}

Status ParamCheckpointer::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_ && !writing_; });
  return std::exchange(failure_, Status());
}

bool ParamCheckpointer::pending() const {
  std::lock_guard lock(mutex_);
  return open_ || waiting_ || writing_;
}

void ParamCheckpointer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || quit_; });
    if (!waiting_) return;
    std::optional<Collected> collected = std::exchange(waiting_, std::nullopt);
    writing_ = true;
    lock.unlock();
    Status written = write(*collected);
    collected.reset();
    if (!written.ok()) log_.error("server 0", "cannot write a checkpoint: " + written.error().message);
    if (!written.ok() && failed_) failed_(written.error());
    lock.lock();
    writing_ = false;
    if (!written.ok()) failure_ = std::move(written);
    changed_.notify_all();
  }
}

Status ParamCheckpointer::write(const Collected& collected) {
  std::map<ParamKey, std::vector<const StoredTensor*>> tensors;
  for (const auto& [shard, values] : collected.parts) {
    for (const auto& [key, stored] : values) {
      if (const auto* tensor = std::get_if<StoredTensor>(&stored.value)) tensors[key].push_back(tensor);
    }
  }
  ParamCheckpoint checkpoint{collected.state, collected.finished, {}};
  for (const auto& [shard, values] : collected.parts) {
    for (const auto& [key, stored] : values) {
      if (owner_of(key, shards_) != shard) continue;
      // The owner's part defines the tensor. Parts of other shards with another layout are leftovers.
      std::vector<const StoredTensor*>& parts = tensors[key];
      if (const auto* own = std::get_if<StoredTensor>(&stored.value)) {
        std::iter_swap(parts.begin(), std::find(parts.begin(), parts.end(), own));
      }
      auto value = joined(key, stored, parts);
      if (!value) return Error{value.error().code, "key " + key.print() + ": " + value.error().message};
      checkpoint.values.push_back(*std::move(value));
    }
  }
  AH_LET(auto path, save_checkpoint(folder_, checkpoint));
  log_.info("server 0", "checkpoint " + path.string() + " at " + std::to_string(collected.state.updates) + " updates");
  return {};
}

Status try_to_checkpoint(const std::filesystem::path& directory) {
  AH_LET(auto dir, AtomicDir::begin(directory, "trial", 0));
  const std::filesystem::path path = dir.path() / "trial";
  AH_LET(auto file, open_for_writing(path));
  AH_TRY(write_all(file.get(), std::vector<std::byte>(1 << 16), path));
  return file.close(path);
}

Result<std::optional<ParamCheckpoint>> load_newest_checkpoint(const std::filesystem::path& directory, Log& log,
                                                              const std::string& prefix,
                                                              const std::string& log_source) {
  AH_LET(auto found, list_numbered(directory, prefix));
  for (const NumberedDir& dir : found) {
    FetchedDir files;
    Status intact = files.fetch(dir.path);
    if (!intact.ok() && intact.error().code != Code::bad_data) return intact.error();
    if (intact.ok()) intact = verify_dir(files.path());
    if (intact.ok()) {
      auto loaded = read_checkpoint(files.path());
      if (loaded) return std::optional<ParamCheckpoint>(*std::move(loaded));
      intact = loaded.error();
    }
    log.warn(log_source, "checkpoint " + dir.path.string() + " is damaged and skipped: " + intact.error().message);
  }
  return std::optional<ParamCheckpoint>();
}

}  // namespace actorhost
