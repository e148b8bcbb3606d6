#include "host/data/file/object_dir.hpp"

#include <span>
#include <system_error>
#include <vector>

#include "host/data/file/files.hpp"
#include "host/data/file/object_store.hpp"
#include "host/data/file/object_upload.hpp"
#include "host/data/file/plain_source.hpp"
#include "host/data/file/url_source.hpp"

namespace actorhost {

namespace fs = std::filesystem;

namespace {

Result<ObjectUrl> below(const fs::path& dir) {
  AH_LET(auto url, parse_object_url(dir.string()));
  if (!url.key.empty() && !url.key.ends_with('/')) url.key += '/';
  return url;
}

Status upload_file(const fs::path& from, const fs::path& to) {
  AH_LET(auto file, open_for_reading(from));
  AH_LET(const auto upload, ObjectUpload::begin(to.string()));
  PlainSource source(std::move(file.fd), from);
  std::vector<std::byte> bytes(size_t{1} << 20);
  for (;;) {
    AH_LET(const auto got, source.read(bytes));
    if (got == 0) return upload->close();
    AH_TRY(upload->write(std::span(bytes).first(got)));
  }
}

Status fetch_file(const fs::path& from, const fs::path& to) {
  AH_LET(const auto source, url_source(from.string()));
  AH_LET(auto file, open_for_writing(to));
  std::vector<std::byte> bytes(size_t{1} << 20);
  for (;;) {
    AH_LET(const auto got, source->read(bytes));
    if (got == 0) return file.close(to);
    AH_TRY(write_all(file.get(), std::span(bytes).first(got), to));
  }
}

}  // namespace

Result<std::map<std::string, uint64_t>> object_sizes(const fs::path& dir) {
  AH_LET(const auto url, below(dir));
  AH_LET(auto store, ObjectStore::open());
  AH_LET(const auto page, store.list(url, true));
  std::map<std::string, uint64_t> sizes;
  for (const StoredObject& object : page.objects) sizes[object.key.substr(url.key.size())] = object.bytes;
  return sizes;
}

Result<std::vector<std::string>> object_folders(const fs::path& dir) {
  AH_LET(const auto url, below(dir));
  AH_LET(auto store, ObjectStore::open());
  AH_LET(const auto page, store.list(url, true));
  std::vector<std::string> names;
  for (const std::string& folder : page.folders) {
    names.push_back(folder.substr(url.key.size(), folder.size() - url.key.size() - 1));
  }
  return names;
}

Status try_object_folder(const fs::path& dir) {
  AH_LET(auto url, below(dir));
  url.key += ".trial";
  AH_LET(auto store, ObjectStore::open());
  AH_LET(const auto upload, store.begin_upload(url));
  return store.abort_upload(url, upload);
}

Status upload_folder(const fs::path& from, const fs::path& to, const std::string& last) {
  AH_LET(const auto mark, parse_object_url((to / last).string()));
  AH_LET(auto store, ObjectStore::open());
  AH_TRY(store.remove(mark));
  std::error_code error;
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    const fs::path name = it->path().filename();
    if (name != last) AH_TRY(upload_file(it->path(), to / name));
  }
  if (error) return file_error(from, "cannot list", error.value());
  return upload_file(from / last, to / last);
}

Status fetch_folder(const fs::path& from, const fs::path& to, const std::string& mark) {
  AH_LET(const auto sizes, object_sizes(from));
  if (!sizes.contains(mark)) return Error{Code::bad_data, mark + ": missing"};
  for (const auto& [name, bytes] : sizes) {
    if (!name.empty()) AH_TRY(fetch_file(from / name, to / name));  // some tools make an object named as the directory
  }
  return {};
}

Status remove_object_folder(const fs::path& dir, const std::string& first) {
  AH_LET(const auto url, below(dir));
  AH_LET(auto store, ObjectStore::open());
  AH_TRY(store.remove({url.bucket, url.key + first}));
  AH_LET(const auto page, store.list(url, false));
  for (const StoredObject& object : page.objects) AH_TRY(store.remove({url.bucket, object.key}));
  return {};
}

}  // namespace actorhost
