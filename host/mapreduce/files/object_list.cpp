#include <algorithm>

#include "host/data/file/file_reader.hpp"
#include "host/data/file/object_store.hpp"
#include "host/mapreduce/files/file_list.hpp"

namespace actorhost {

namespace {

constexpr uint64_t kSmallBytes = uint64_t{1} << 20;  // an object of up to this size is read by one task

/// Whether a listing of a folder leaves out this name, as files_in does.
bool is_left_out(std::string_view name) {
  return name.empty() || name.starts_with('.') || name.starts_with('_') || name.ends_with('/');
}

/// The objects of one choice of a pattern's braces. A plain key must exist, as an object or as a folder.
Result<std::vector<StoredObject>> chosen_objects(ObjectStore& store, const ObjectUrl& url) {
  const std::string_view start = literal_start(url.key);
  std::vector<StoredObject> objects;
  if (start.size() < url.key.size()) {
    // A wildcard in the last name only matches no "/".
    const std::string_view rest = std::string_view(url.key).substr(start.size());
    const bool direct = rest.find('/') == std::string_view::npos && rest.find("**") == std::string_view::npos;
    AH_LET(auto page, store.list({url.bucket, std::string(start)}, direct));
    objects = std::move(page.objects);
    std::erase_if(objects,
                  [&](const auto& one) { return one.key.ends_with('/') || !matches_pattern(url.key, one.key); });
    return objects;
  }
  if (!url.key.empty() && !url.key.ends_with('/')) {
    AH_LET(objects, store.list_first(url, 1));
    if (!objects.empty() && objects[0].key == url.key) return objects;
  }
  ObjectUrl folder = url;
  if (!folder.key.empty() && !folder.key.ends_with('/')) folder.key += '/';
  AH_LET(auto page, store.list(folder, true));
  objects = std::move(page.objects);
  if (objects.empty()) return Error{Code::bad_argument, url.text() + ": there is no such object, and no folder"};
  const bool is_saved =
      std::any_of(objects.begin(), objects.end(), [&](const auto& one) { return one.key == folder.key + "_SUCCESS"; });
  std::erase_if(objects,
                [&](const auto& one) { return is_left_out(std::string_view(one.key).substr(folder.key.size())); });
  if (objects.empty() && !is_saved) return Error{Code::bad_argument, url.text() + ": the folder has no files"};
  return objects;
}

/// The first bytes of a large object decide whether it is compressed.
Result<InputFile> inspect_object(ObjectStore& store, const ObjectUrl& object, uint64_t bytes) {
  if (bytes <= kSmallBytes) return InputFile{object.text(), bytes, true, false};
  AH_LET(const auto start, store.start_of(object, 16));
  return InputFile{object.text(), bytes, is_compressed(start), false};
}

}  // namespace

Result<std::vector<InputFile>> find_input_objects(const std::string& url) {
  AH_LET(const auto given, parse_object_url(url));
  AH_LET(auto store, ObjectStore::open());
  AH_LET(const auto choices, expand_braces(given.key));
  std::vector<StoredObject> objects;
  for (const std::string& key : choices) {
    AH_LET(auto found, chosen_objects(store, {given.bucket, key}));
    objects.insert(objects.end(), found.begin(), found.end());
  }
  if (objects.empty() && is_pattern(given.key)) return Error{Code::bad_argument, url + ": no object matches"};
  std::sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  const auto last =
      std::unique(objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a.key == b.key; });
  objects.erase(last, objects.end());
  std::vector<InputFile> files;
  for (const StoredObject& object : objects) {
    AH_LET(auto file, inspect_object(store, {given.bucket, object.key}, object.bytes));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace actorhost
