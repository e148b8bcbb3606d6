#include "tests/host/net/stream_cluster.hpp"

#include <chrono>
#include <stdexcept>

#include <unistd.h>

#include "tests/integration/process.hpp"

namespace actorhost::test {

void Events::on_link_up(LinkId link, std::optional<ProcessId> dialled, const std::string& peer) {
  record([&] { ups.push_back({link, dialled.has_value(), peer}); });
}

void Events::on_link_down(LinkId link, ProcessId process, const std::string& reason) {
  record([&] { downs.push_back({link, process, reason}); });
}

void Events::on_service_frame(LinkId link, Frame&& frame) {
  if (on_frame && on_frame(link, frame)) {
    record([] {});
    return;
  }
  record([&] { frames.emplace_back(link, std::move(frame)); });
}

void Events::on_link_wanted(ProcessId process) {
  record([&] { wanted.push_back(process); });
}

bool Events::wait(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(kPatience), done);
}

QuietLog::QuietLog()
    : log(LogLevel::debug, [this](const LogLine& line) {
        std::lock_guard lock(mutex);
        lines.push_back(line.words());
      }) {}

bool QuietLog::has(const std::string& text) const {
  std::lock_guard lock(mutex);
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

std::string fresh_ipc_url() {
  static std::atomic<int> count{0};
  const auto name = "actorhost-test-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".ipc";
  return "ipc://" + (std::filesystem::temp_directory_path() / name).string();
}

TlsFiles test_tls_files() {
  const std::string folder = (source_dir() / "tests/host/net/tls/").string();
  return {folder + "cert.pem", folder + "key.pem", folder + "cert.pem"};
}

StreamCluster::StreamCluster(size_t processes, const std::string& scheme, const StreamOptions& options) {
  std::vector<std::string> urls;
  std::vector<std::atomic<size_t>> assigned(processes);
  for (size_t i = 0; i < processes; ++i) {
    hosts.push_back(std::make_unique<StreamHost>(options));
    StreamHost& host = *hosts.back();
    host.transport.set_self(static_cast<ProcessId>(i));
    host.events.on_frame = [&host, count = &assigned[i]](LinkId link, const Frame& frame) {
      if (frame.kind != Kind::link_hello) return false;
      host.transport.assign(link, frame.tag);
      ++*count;
      return true;
    };
    auto url = host.transport.listen(scheme == "ipc" ? fresh_ipc_url() : scheme + "://127.0.0.1:0");
    if (!url.ok()) throw std::runtime_error(url.error().message);
    urls.push_back(*url);
  }
  for (size_t i = 0; i < processes; ++i) {
    for (size_t j = 0; j < i; ++j) {
      auto link = at(i).dial(urls[j], kPatience);
      if (!link.ok()) throw std::runtime_error(link.error().message);
      Frame hello;
      hello.kind = Kind::link_hello;
      hello.tag = static_cast<uint32_t>(i);
      const Status sent = at(i).send_on(*link, std::move(hello));
      if (!sent.ok()) throw std::runtime_error(sent.error().message);
      at(i).assign(*link, static_cast<ProcessId>(j));
    }
  }
  for (size_t i = 0; i < processes; ++i) {
    const bool all = hosts[i]->events.wait([&] { return assigned[i] == processes - 1 - i; });
    if (!all) throw std::runtime_error("links were not assigned");
    hosts[i]->events.on_frame = nullptr;
  }
}

}  // namespace actorhost::test
