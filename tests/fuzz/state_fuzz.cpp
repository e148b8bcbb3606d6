// Reads bytes as files about a run, or as data of observers and other processes about it; the first byte chooses the
// form. Files are read or refused; commands are answered and states shown, whatever values they hold.

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "host/base/log.hpp"
#include "host/base/outside_json.hpp"
#include "host/cluster/look/console_hub.hpp"
#include "host/cluster/look/run_files.hpp"
#include "host/data/file/manifest.hpp"
#include "host/page/page_access.hpp"
#include "host/page/page_metrics.hpp"
#include "host/page/page_view.hpp"
#include "host/page/recording.hpp"
#include "host/page/run_past.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace {

using namespace actorhost;
using nlohmann::json;
namespace fs = std::filesystem;

/// The path of a folder of this process; XDG_RUNTIME_DIR names it.
const fs::path& folder() {
  static const fs::path kFolder = [] {
    std::string pattern = (fs::temp_directory_path() / "actorhost-fuzz-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr || setenv("XDG_RUNTIME_DIR", pattern.c_str(), 1) != 0) std::abort();
    std::atexit([] { fs::remove_all(folder()); });
    return fs::path(pattern);
  }();
  return kFolder;
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
}

void read_manifest_file(std::string_view bytes) {
  write_file(folder() / kManifestName, bytes);
  const auto files = read_manifest(folder());
  if (!files) return;
  for (const ManifestFile& file : *files) {
    if (file.name.empty() || file.name.find('/') != std::string::npos) std::abort();
  }
}

void read_run_file(std::string_view bytes) {
  (void)folder();
  const auto runs = run_folder();
  if (!runs) std::abort();
  write_file(fs::path(*runs) / (std::to_string(getpid()) + ".json"), bytes);
  (void)find_runs();
}

void show(const json& state) {
  for (const char* sort : {"id", "state", "step", "ahead", "wait", "updates", "sent", "host"}) {
    const PageView view{.offset = 1, .sort = sort, .node = "worker 1", .stream = true};
    (void)page_message(state, view).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  PastReader reader;
  RunPast past;
  past.add(reader.read(state));
  (void)past.message(reader).dump();
  (void)metrics_text(state);
}

void read_recording(std::string_view bytes) {
  const auto recording = Recording::open(memory_file(bytes));
  if (!recording) return;
  for (size_t number = 0; number < recording->size(); ++number) {
    const auto state = recording->state(number);
    if (!state) std::abort();
    show(*state);
  }
}

void read_state(std::string_view bytes) {
  const json state = parse_outside_json(bytes);
  if (state.is_object()) show(state);
}

/// Reads lines as commands of an observer to a run with two workers.
void read_commands(std::string_view bytes) {
  static Log log(LogLevel::off);
  MembershipPtr table = std::make_shared<const Membership>(1, std::vector<Member>{{0, 0}, {1, 1}},
                                                           std::vector<ProcessInfo>{{0, "a:1", ""}, {1, "b:2", ""}}, 2);
  ConsoleHub hub({[&] { return table; }, [](ProcessId, Frame&&) {}, [](bool) { return 0U; }, [] { return false; },
                  [] { return false; }},
                 log);
  size_t requests = 0;
  size_t replies = 0;
  while (!bytes.empty()) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    const json command = parse_outside_json(line);
    if (!command.is_object()) continue;
    const bool later = command.value("op", json()) == "barrier" || command.value("op", json()) == "checkpoint";
    requests += later ? 0 : 1;
    hub.command(
        1, "an observer", command,
        [&, later](const json& reply) {
          if (!reply.contains("ok")) std::abort();
          replies += later ? 0 : 1;
        },
        [](const json&) {});
  }
  if (requests != replies) std::abort();
  hub.leave(1);
}

/// Reads lines as the parts of a page request; none holds the token.
void read_request(std::string_view bytes) {
  WebRequest request;
  std::string* const kParts[] = {&request.method, &request.path,          &request.host,          &request.origin,
                                 &request.cookie, &request.authorization, &request.query["token"]};
  for (std::string* part : kParts) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    *part = line;
  }
  Endpoint bound;
  bound.host = "0.0.0.0";
  const PageAccess access{bound, false, "0123456789abcdef0123456789abcdef"};
  if (!access.refusal(request)) std::abort();
}

constexpr void (*kReaders[])(std::string_view) = {read_manifest_file, read_run_file, read_recording,
                                                  read_state,         read_commands, read_request};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  kReaders[data[0] % std::size(kReaders)]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
