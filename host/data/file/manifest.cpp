#include "host/data/file/manifest.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>

#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "host/base/outside_json.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/plain_source.hpp"

namespace actorhost {

namespace {

constexpr size_t kMaxManifest = 64 << 20;

struct FreeState {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

Result<ManifestFile> hash_file(const std::filesystem::path& path) {
  auto file = open_for_reading(path);
  if (!file) return std::move(file).error();
  if (!file->regular) return Error{Code::bad_argument, path.string() + ": not a plain file"};
  PlainSource source(std::move(file->fd), path);
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  XXH3_64bits_reset(state.get());
  std::vector<std::byte> buffer(1 << 20);
  ManifestFile out{path.filename().string(), 0, {}};
  for (;;) {
    AH_LET(auto got, source.read(buffer));
    if (got == 0) break;
    XXH3_64bits_update(state.get(), buffer.data(), got);
    out.bytes += got;
  }
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(state.get())));
  out.xxh3 = hex.data();
  return out;
}

Result<std::string> read_text(const std::filesystem::path& path) {
  AH_LET(auto file, open_for_reading(path));
  if (file.size > kMaxManifest) return Error{Code::bad_data, std::string(kManifestName) + ": too large for a manifest"};
  PlainSource source(std::move(file.fd), path);
  std::string text(file.size, '\0');
  AH_LET(auto got, read_fully(source, std::as_writable_bytes(std::span(text))));
  text.resize(got);
  return text;
}

bool take_entry(const nlohmann::json& item, ManifestFile& file) {
  if (!item.is_object()) return false;
  const auto name = item.find("name");
  const auto bytes = item.find("bytes");
  const auto hash = item.find("xxh3");
  if (name == item.end() || bytes == item.end() || hash == item.end()) return false;
  if (!name->is_string() || !bytes->is_number_unsigned() || !hash->is_string()) return false;
  file = {name->get<std::string>(), bytes->get<uint64_t>(), hash->get<std::string>()};
  return !file.name.empty() && file.name.find('/') == std::string::npos;
}

}  // namespace

Result<std::vector<ManifestFile>> hash_files(const std::filesystem::path& dir) {
  std::vector<ManifestFile> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == kManifestName) continue;
    AH_LET(auto file, hash_file(it->path()));
    files.push_back(std::move(file));
  }
  if (error) return file_error(dir, "cannot list", error.value());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

Status write_manifest(const std::filesystem::path& dir, const std::vector<ManifestFile>& files) {
  nlohmann::json list = nlohmann::json::array();
  for (const ManifestFile& file : files) {
    list.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3", file.xxh3}});
  }
  const nlohmann::json document = {{"format", 1}, {"files", std::move(list)}};
  const std::string text = json_text(document, 1) + "\n";
  const std::filesystem::path path = dir / kManifestName;
  AH_LET(auto fd, open_for_writing(path));
  AH_TRY(write_all(fd.get(), std::as_bytes(std::span(text)), path));
  return fd.close(path);
}

Result<std::vector<ManifestFile>> read_manifest(const std::filesystem::path& dir) {
  AH_LET(auto text, read_text(dir / kManifestName));
  const Error bad{Code::bad_data, std::string(kManifestName) + ": not a manifest of format 1"};
  const auto document = parse_outside_json(text);
  if (document.is_discarded() || !document.is_object()) return bad;
  const auto format = document.find("format");
  const auto list = document.find("files");
  if (format == document.end() || *format != 1 || list == document.end() || !list->is_array()) return bad;
  std::vector<ManifestFile> files;
  for (const auto& item : *list) {
    ManifestFile file;
    if (!take_entry(item, file)) return bad;
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace actorhost
