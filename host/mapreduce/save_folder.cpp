#include "host/mapreduce/save_folder.hpp"

#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/data/files.hpp"

namespace actorhost {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kMark = "_SUCCESS";

/// Whether a folder may be replaced: nothing of the user's own is lost with it.
Status check_replaceable(const fs::path& target) {
  if (!fs::is_directory(target))
    return Error{Code::bad_argument, target.string() + ": is no folder, which a save makes"};
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

/// What the parts in `folder` are; what is left of attempts that have failed is removed.
Result<SaveFigures> count_parts(const fs::path& folder) {
  SaveFigures found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("part-")) {
      ++found.files;
      found.bytes += entry.file_size(error);
    } else {
      fs::remove(entry.path(), error);
    }
  }
  if (error) return Error{Code::io, folder.string() + ": " + error.message()};
  return found;
}

Status write_mark(const SaveFolder& save, const SaveFigures& figures) {
  Json mark = {{"id", save.id}, {"files", figures.files}, {"rows", figures.rows}, {"bytes", figures.bytes}};
  if (!save.fingerprint.empty()) mark["checkpoint"] = save.fingerprint;
  const fs::path path = save.staging / kMark;
  auto fd = open_for_writing(path);
  if (!fd) return fd.error();
  const std::string text = mark.dump() + "\n";
  AH_TRY(write_all(fd->get(), std::as_bytes(std::span(text)), path));
  AH_TRY(fd->close(path));
  if (save.fingerprint.empty()) return {};
  AH_TRY(sync_path(path));
  return sync_path(save.staging);
}

/// The hidden folder gets the target's name; the folder that has it is removed.
Status move_into_place(const SaveFolder& save) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(save.target))) {
    fs::rename(save.staging, save.target, error);
    if (error) return Error{Code::io, save.target.string() + ": cannot get its name: " + error.message()};
    return {};
  }
  if (!save.overwrite) return Error{Code::bad_argument, save.target.string() + ": exists, but did not before the save"};
  AH_TRY(check_replaceable(save.target));
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE: at no moment is there none of the two
  if (::syscall(SYS_renameat2, AT_FDCWD, save.staging.c_str(), AT_FDCWD, save.target.c_str(), kExchange) == 0) {
    fs::remove_all(save.staging, error);
    return {};
  }
  fs::path old = save.staging;
  old += ".old";
  fs::rename(save.target, old, error);
  if (!error) fs::rename(save.staging, save.target, error);
  if (error) return Error{Code::io, save.target.string() + ": cannot be replaced: " + error.message()};
  fs::remove_all(old, error);
  return {};
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
  std::ifstream file(folder / kMark);
  const Json mark = Json::parse(file, nullptr, false);
  const auto number = [&](const char* name) {
    const auto found = mark.find(name);
    return found != mark.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  };
  const auto text = [&](const char* name) {
    const auto found = mark.find(name);
    return found != mark.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (!mark.is_object()) return Error{Code::bad_data, folder.string() + ": no save has been completed there"};
  return SaveMark{text("id"), {number("files"), number("rows"), number("bytes")}, text("checkpoint")};
}

Result<SaveFolder> begin_save(const std::string& path, bool overwrite, const std::string& id) {
  const auto target = save_target(path);
  if (!target) return target.error();
  const fs::path staging = target->parent_path() / ("." + target->filename().string() + ".saving-" + id);
  const SaveFolder save{*target, staging, id, overwrite, {}};
  if (is_committed(save)) return save;
  std::error_code error;
  if (fs::exists(fs::symlink_status(*target, error))) {
    if (!overwrite) {
      return Error{Code::bad_argument, target->string() + ": exists; overwrite = true replaces it"};
    }
    AH_TRY(check_replaceable(*target));
  }
  fs::create_directories(target->parent_path(), error);
  if (!error) fs::create_directory(staging, error);
  if (error) return Error{Code::io, target->string() + ": cannot be written: " + error.message()};
  return save;
}

bool is_committed(const SaveFolder& save) {
  const auto mark = read_mark(save.target);
  return mark && mark->id == save.id;
}

Result<SaveFigures> commit_save(const SaveFolder& save, const SaveFigures& figures) {
  if (is_committed(save)) {
    abandon_save(save);
    const auto mark = read_mark(save.target);
    if (!mark) return mark.error();
    return mark->figures;
  }
  const auto found = count_parts(save.staging);
  if (!found) return found.error();
  if (found->files != figures.files || found->bytes != figures.bytes) {
    return Error{Code::io, save.target.string() + ": " + std::to_string(figures.files) + " parts of " +
                               std::to_string(figures.bytes) + " bytes were written and " +
                               std::to_string(found->files) + " of " + std::to_string(found->bytes) +
                               " are there; all hosts have to see the same folder"};
  }
  AH_TRY(write_mark(save, figures));
  AH_TRY(move_into_place(save));
  if (!save.fingerprint.empty()) AH_TRY(sync_path(save.target.parent_path()));
  return figures;
}

void abandon_save(const SaveFolder& save) {
  std::error_code error;
  fs::remove_all(save.staging, error);
}

}  // namespace actorhost
