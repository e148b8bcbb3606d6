#include "host/mapreduce/files/save_folder.hpp"

#include <cerrno>
#include <system_error>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/base/system_random.hpp"
#include "host/data/file/disk.hpp"
#include "host/data/file/file_reader.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/object_store.hpp"
#include "host/mapreduce/files/object_save.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kMark = "_SUCCESS";

/// Checks that a folder may be replaced: it must hold no files of the user.
Status check_replaceable(const fs::path& target) {
  if (!fs::is_directory(target))
    return Error{Code::bad_argument, target.string() + ": exists and is not a folder, so a save cannot replace it"};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(target, error)) {
    const std::string name = entry.path().filename();
    if (!entry.is_directory() && (name.starts_with("part-") || name.starts_with('_') || name.starts_with('.')))
      continue;
    return Error{Code::bad_argument,
                 target.string() + ": is not replaced, since it holds '" + name + "', which no save has made"};
  }
  if (error) return Error{Code::io, target.string() + ": " + error.message()};
  return {};
}

bool is_unable_to_link(int error) {
  return error == EPERM || error == ENOSYS || error == EOPNOTSUPP || error == EMLINK;
}

/// Gives the part its final name in `folder`, in addition to its present name.
Status take_part(const SaveFolder& save, const SavedPart& part, const fs::path& folder) {
  if (part.name.empty()) {
    return Error{Code::io, save.target.string() + ": was complete, and has been removed or replaced since"};
  }
  const fs::path from = save.staging / part.name;
  // ".part-00003.gz-RANDOM"
  const fs::path to = folder / part.name.substr(1, part.name.rfind('-') - 1);
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (is_unable_to_link(error.value())) fs::rename(from, to, error);
  const uint64_t found = error ? 0 : fs::file_size(to, error);
  if (!error && found == part.bytes) return {};
  return Error{Code::io, from.string() + ": " + std::to_string(part.bytes) + " bytes were written and " +
                             (error ? error.message() : std::to_string(found) + " are there") +
                             "; all hosts have to see the same folder"};
}

/// Calls `act` with the folder of each node that commits this save.
template <typename Act>
void each_committer(const SaveFolder& save, Act act) {
  std::error_code error;
  const std::string start = save.staging.filename().string() + "-";
  for (fs::directory_iterator it(save.staging.parent_path(), error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(start)) act(it->path());
  }
}

SaveFigures sum_of_parts(const std::vector<SavedPart>& parts) {
  SaveFigures figures;
  for (const SavedPart& part : parts) {
    ++figures.files;
    figures.rows += part.rows;
    figures.bytes += part.bytes;
  }
  return figures;
}

std::string mark_text(const SaveFolder& save, const SaveFigures& figures) {
  Json mark = {{"id", save.id}, {"files", figures.files}, {"rows", figures.rows}, {"bytes", figures.bytes}};
  if (!save.fingerprint.empty()) mark["checkpoint"] = save.fingerprint;
  return json_text(mark) + "\n";
}

Status write_mark(const SaveFolder& save, const SaveFigures& figures, const fs::path& folder) {
  const fs::path path = folder / kMark;
  AH_LET(auto fd, open_for_writing(path));
  const std::string text = mark_text(save, figures);
  AH_TRY(write_all(fd.get(), std::as_bytes(std::span(text)), path));
  AH_TRY(fd.close(path));
  if (save.fingerprint.empty()) return {};
  AH_TRY(sync_path(path));
  return sync_path(folder);
}

/// Gives the complete folder `folder` the target's name. An existing target gets the name of `folder`.
Status move_into_place(const SaveFolder& save, const fs::path& folder) {
  if (!fs::exists(fs::symlink_status(save.target))) {
    if (disk::rename(folder.c_str(), save.target.c_str()) == 0) return {};
    return file_error(save.target, "cannot get its name", errno);
  }
  if (!save.overwrite) return Error{Code::bad_argument, save.target.string() + ": exists, but did not before the save"};
  AH_TRY(check_replaceable(save.target));
  return exchange_names(folder, save.target);
}

/// Fills `folder` and gives it the target's name.
Result<SaveFigures> commit_in(const SaveFolder& save, const std::vector<SavedPart>& parts, const fs::path& folder) {
  for (const SavedPart& part : parts) AH_TRY(take_part(save, part, folder));
  const SaveFigures figures = sum_of_parts(parts);
  AH_TRY(write_mark(save, figures, folder));
  // A suspected node that still commits could otherwise replace this folder, or a later save's folder, by its own.
  const fs::path aside = folder / ".aside";
  std::error_code ignored;
  each_committer(save, [&](const fs::path& other) {
    if (other == folder) return;
    fs::rename(other, aside, ignored);
    fs::remove_all(aside, ignored);
  });
  AH_TRY(move_into_place(save, folder));
  if (!save.fingerprint.empty()) AH_TRY(sync_path(save.target.parent_path()));
  return figures;
}

/// Checks before any part is written that the file system can replace a folder in one step.
Status check_exchange(const fs::path& folder) {
  const fs::path names[] = {folder / ".one", folder / ".other"};
  std::error_code error;
  for (const fs::path& name : names) fs::create_directory(name, error);
  Status able = error ? Status() : exchange_names(names[0], names[1]);
  for (const fs::path& name : names) fs::remove(name, error);
  return able;
}

}  // namespace

Result<fs::path> save_target(const std::string& path) {
  std::error_code error;
  fs::path target = fs::absolute(path, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (error || path.empty() || !target.has_filename() || target.filename() == "..") {
    return Error{Code::bad_argument, "'" + path + "' is no name for a folder"};
  }
  return target;
}

Result<SaveMark> read_mark(const fs::path& folder) {
  const auto content = read_file(folder / kMark);
  const Json mark = Json::parse(content ? content->view() : "", nullptr, false);
  const auto number = [&](const char* name) {
    const auto found = mark.find(name);
    return found != mark.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  };
  const auto text = [&](const char* name) {
    const auto found = mark.find(name);
    return found != mark.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (!mark.is_object()) return Error{Code::bad_data, folder.string() + ": holds no completed save"};
  return SaveMark{text("id"), {number("files"), number("rows"), number("bytes")}, text("checkpoint")};
}

Result<SaveFolder> begin_save(const std::string& path, bool overwrite, const std::string& id) {
  if (is_object_url(path)) return begin_object_save(path, overwrite, id);
  AH_LET(const auto target, save_target(path));
  const fs::path staging = target.parent_path() / ("." + target.filename().string() + ".saving-" + id);
  const SaveFolder save{target, staging, id, overwrite, {}};
  if (is_committed(save)) return save;
  std::error_code error;
  if (fs::exists(fs::symlink_status(target, error))) {
    if (!overwrite) {
      return Error{Code::bad_argument, target.string() + ": exists; overwrite = true replaces it"};
    }
    AH_TRY(check_replaceable(target));
  }
  const bool replaces = fs::exists(fs::symlink_status(target, error));
  fs::create_directories(target.parent_path(), error);
  const bool fresh = !error && fs::create_directory(staging, error);
  if (error) return Error{Code::io, target.string() + ": cannot be written: " + error.message()};
  if (!fresh || !replaces) return save;
  const Status able = check_exchange(staging);
  if (able) return save;
  abandon_save(save);
  return Error{Code::io, target.string() + able.error().message.substr(able.error().message.find(':'))};
}

bool is_committed(const SaveFolder& save) {
  const auto mark = read_mark(save.target);
  return mark && mark->id == save.id;
}

Result<SaveFigures> commit_save(const SaveFolder& save, const std::vector<SavedPart>& parts) {
  const bool is_committed_yet = is_committed(save);
  if (!is_committed_yet && is_object_url(save.target.string())) {
    AH_TRY(commit_object_save(save, parts, mark_text(save, sum_of_parts(parts))));
  } else if (!is_committed_yet) {
    const fs::path own = save.staging.string() + "-" + std::to_string(system_random());
    std::error_code error;
    fs::create_directory(own, error);
    if (error) return Error{Code::io, own.string() + ": cannot be made: " + error.message()};
    auto figures = commit_in(save, parts, own);
    fs::remove_all(own, error);
    if (!figures) return figures;
  }
  abandon_save(save);
  AH_LET(const auto mark, read_mark(save.target));
  return mark.figures;
}

void abandon_save(const SaveFolder& save) {
  if (is_object_url(save.target.string())) return abandon_object_save(save);
  std::error_code error;
  // Under another name, no task can add a file to the folder while it is removed.
  fs::rename(save.staging, save.staging.string() + "-" + std::to_string(system_random()), error);
  each_committer(save, [&](const fs::path& folder) { fs::remove_all(folder, error); });
}

}  // namespace actorhost
