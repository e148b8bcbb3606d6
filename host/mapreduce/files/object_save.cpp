#include "host/mapreduce/files/object_save.hpp"

#include <algorithm>
#include <set>

#include "host/data/file/object_store.hpp"

namespace actorhost {

namespace {

constexpr char kBeforeId = '\t';
constexpr const char* kSuccess = "_SUCCESS";

/// The target with "/" at its end.
Result<ObjectUrl> folder_of(const std::string& url) {
  AH_LET(auto folder, parse_object_url(url));
  while (folder.key.ends_with('/')) folder.key.pop_back();
  if (folder.key.empty()) return Error{Code::bad_argument, "'" + url + "' is no name for a folder in a bucket"};
  folder.key += '/';
  return folder;
}

bool is_of_a_save(std::string_view name) {
  const bool is_marked = name.starts_with("part-") || name.starts_with('_') || name.starts_with('.');
  return is_marked && name.find('/') == std::string_view::npos;
}

/// Checks that the objects below a folder may be replaced: none is the user's.
Status check_objects(const ObjectUrl& folder, const std::vector<StoredObject>& objects) {
  for (const StoredObject& object : objects) {
    const std::string name = object.key.substr(folder.key.size());
    if (name.empty() || is_of_a_save(name)) continue;
    return Error{Code::bad_argument,
                 folder.text() + ": is not replaced, since it holds '" + name + "', which no save has made"};
  }
  return {};
}

/// The object that marks a commit in progress: a worker that begins this save again finds its own parts.
ObjectUrl saving_mark(const ObjectUrl& folder, const SaveFolder& save) {
  return {folder.bucket, folder.key + ".saving-" + save.id};
}

/// Makes the object of a part appear. Another worker may have done so.
Status complete_part(ObjectStore& store, const ObjectUrl& object, const std::string& upload, uint64_t bytes) {
  if (upload.empty()) return store.put(object, "");
  const auto uploaded = store.parts_of(object, upload);
  if (uploaded) return store.complete_upload(object, upload, *uploaded, bytes);
  if (!store.is_missing()) return uploaded.error();
  AH_LET(const auto is_complete, store.has(object, bytes));
  return is_complete ? Status() : uploaded.error();
}

}  // namespace

std::string upload_name(const std::string& part, const std::string& upload_id) { return part + kBeforeId + upload_id; }

Result<SaveFolder> begin_object_save(const std::string& url, bool overwrite, const std::string& id) {
  AH_LET(const auto folder, folder_of(url));
  const std::string target = folder.text().substr(0, folder.text().size() - 1);
  SaveFolder save{target, target, id, overwrite, {}};
  if (is_committed(save)) return save;
  AH_LET(auto store, ObjectStore::open());
  AH_LET(const auto some, store.list_first(folder, 1));
  const ObjectUrl saving = saving_mark(folder, save);
  AH_LET(const auto own, store.list_first(saving, 1));
  if (!own.empty() && own[0].key == saving.key) return save;
  if (!some.empty() && !overwrite) {
    return Error{Code::bad_argument, target + ": exists; overwrite = true replaces it"};
  }
  if (!some.empty()) {
    AH_LET(const auto all, store.list(folder, false));
    AH_TRY(check_objects(folder, all.objects));
  }
  // A target that may not be written is an error before the work.
  const ObjectUrl mark{folder.bucket, folder.key + kSuccess};
  AH_LET(const auto upload, store.begin_upload(mark));
  AH_TRY(store.abort_upload(mark, upload));
  return save;
}

Status commit_object_save(const SaveFolder& save, const std::vector<SavedPart>& parts, const std::string& mark) {
  AH_LET(const auto folder, folder_of(save.target.string()));
  AH_LET(auto store, ObjectStore::open());
  AH_LET(const auto listed, store.list(folder, false));
  const std::vector<StoredObject>& before = listed.objects;
  AH_TRY(check_objects(folder, before));
  const ObjectUrl success{folder.bucket, folder.key + kSuccess};
  const bool had_mark =
      std::any_of(before.begin(), before.end(), [&](const auto& one) { return one.key == success.key; });
  if (had_mark && !save.overwrite) {
    return Error{Code::bad_argument, save.target.string() + ": exists, but did not before the save"};
  }
  const ObjectUrl saving = saving_mark(folder, save);
  AH_TRY(store.put(saving, ""));
  if (had_mark) AH_TRY(store.remove(success));
  std::set<std::string> made;
  for (const SavedPart& part : parts) {
    const size_t end = part.name.find(kBeforeId);
    if (end == std::string::npos) {
      return Error{Code::io, save.target.string() + ": was complete, and has been removed or replaced since"};
    }
    const ObjectUrl object{folder.bucket, folder.key + part.name.substr(0, end)};
    AH_TRY(complete_part(store, object, part.name.substr(end + 1), part.bytes));
    made.insert(object.key);
  }
  for (const StoredObject& old : before) {
    const bool is_wanted = old.key == success.key || old.key == saving.key || made.contains(old.key);
    if (!is_wanted) AH_TRY(store.remove({folder.bucket, old.key}));
  }
  AH_TRY(store.put(success, mark));
  return store.remove(saving);
}

void abandon_object_save(const SaveFolder& save) {
  const auto folder = folder_of(save.target.string());
  auto store = ObjectStore::open();
  if (!folder || !store) return;
  const auto uploads = store->pending_uploads(*folder);
  if (!uploads) return;
  for (const PendingUpload& upload : *uploads) (void)store->abort_upload({folder->bucket, upload.key}, upload.id);
}

}  // namespace actorhost
