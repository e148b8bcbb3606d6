#include "host/mapreduce/files/checkpoint_folder.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/data/file/files.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;

/// In the hidden folder of a checkpoint that can be resumed: the id of the checkpoint and its `parts`.
constexpr const char* kUnfinished = ".unfinished";

struct UnfinishedMark {
  std::string id;
  std::string parts;
};

UnfinishedMark unfinished_mark(const fs::path& folder) {
  std::ifstream file(folder / kUnfinished);
  const auto mark = parse_outside_json(std::string(std::istreambuf_iterator<char>(file), {}));
  const auto text = [&](const char* name) {
    const auto found = mark.is_object() ? mark.find(name) : mark.end();
    return found != mark.end() && found->is_string() ? found->get<std::string>() : "";
  };
  return {text("id"), text("parts")};
}

Status write_unfinished(const SaveFolder& save, const std::string& parts) {
  const fs::path path = save.staging / kUnfinished;
  std::error_code error;
  if (fs::exists(path, error)) return {};
  AH_LET(auto fd, open_for_writing(path));
  const std::string text = json_text(nlohmann::json{{"id", save.id}, {"parts", parts}}) + "\n";
  AH_TRY(write_all(fd.get(), std::as_bytes(std::span(text)), path));
  AH_TRY(fd.close(path));
  return sync_path(path);
}

/// Finds the id of an unfinished checkpoint with these parts; empty if there is none. Sets `other` to the folder of an
/// unfinished checkpoint with other parts.
std::string unfinished_id(const fs::path& target, const std::string& parts, fs::path& other) {
  std::error_code error;
  const std::string start = "." + target.filename().string() + ".saving-";
  for (fs::directory_iterator it(target.parent_path(), error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!name.starts_with(start)) continue;
    const UnfinishedMark mark = unfinished_mark(it->path());
    if (mark.id.empty() || name != start + mark.id) continue;  // not resumable, or being removed
    if (mark.parts == parts) return mark.id;
    other = it->path();
  }
  return {};
}

}  // namespace

Result<CheckpointStart> begin_checkpoint(const std::string& path, const std::string& fingerprint,
                                         const CheckpointOptions& options, const std::string& id) {
  AH_LET(const auto target, save_target(path));
  const auto refused = [&](const std::string& reason) {
    return Error{Code::bad_argument, target.string() + ": " + reason};
  };
  const auto mark = read_mark(target);
  const bool is_own = mark && mark->id == id;  // the same checkpoint, begun again: written as before
  const bool is_checkpoint = mark && !mark->fingerprint.empty() && !is_own;
  if (is_checkpoint && options.resume) {
    if (mark->fingerprint == fingerprint) {
      return CheckpointStart{{target, {}, mark->id, false, fingerprint}, mark->figures};
    }
    if (!options.overwrite) {
      return refused(
          "holds the checkpoint of another pipeline (other operations, functions, captured numbers or texts, "
          "broadcasts or input) and cannot be resumed from; overwrite = true replaces it");
    }
  }
  if (is_checkpoint && !options.overwrite) {
    return refused("holds a checkpoint; resume = true reads it if its rows are the same, overwrite = true replaces it");
  }
  CheckpointStart start;
  const std::string unfinished = options.resume ? unfinished_id(target, options.parts, start.other) : "";
  AH_LET(start.save, begin_save(path, options.overwrite, unfinished.empty() ? id : unfinished));
  start.save.fingerprint = fingerprint;
  start.save.resume = options.resume;
  start.continues = !unfinished.empty();
  if (options.resume && !is_committed(start.save)) AH_TRY(write_unfinished(start.save, options.parts));
  return start;
}

}  // namespace actorhost
