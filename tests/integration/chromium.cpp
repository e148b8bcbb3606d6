#include "tests/integration/chromium.hpp"

#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/jobs.hpp"

namespace actorhost::test {

namespace {

using nlohmann::json;

constexpr double kReplySeconds = 20;

const Words kFlags = {"--headless",
                      "--no-sandbox",
                      "--disable-gpu",
                      "--disable-quic",
                      "--no-first-run",
                      "--disable-background-networking",
                      "--disable-component-update",
                      "--disable-sync",
                      "--hide-scrollbars",
                      "--remote-debugging-pipe"};

/// A named pipe, held open in both directions so that opening it does not block.
int opened_pipe(const std::filesystem::path& path) {
  if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("mkfifo " + path.string());
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace

bool Chromium::installed() { return run_program("sh", {"-c", "command -v chromium"}, 10).status == 0; }

Chromium::Chromium() : to_(opened_pipe(folder_ / "to")), from_(opened_pipe(folder_ / "from")) {
  // Chromium reads commands from descriptor 3 and answers on descriptor 4.
  Words words = {
      "-c", "exec chromium \"$@\" 3<'" + (folder_ / "to").string() + "' 4>'" + (folder_ / "from").string() + "'", "sh"};
  words.insert(words.end(), kFlags.begin(), kFlags.end());
  words.push_back("--user-data-dir=" + (folder_ / "profile").string());
  process_ = std::make_unique<Process>("sh", words, ProcessOptions{.env = {{"TMPDIR", folder_.path().string()}}});
  const std::string target = call("Target.createTarget", {{"url", "about:blank"}})["targetId"];
  session_ = call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}})["sessionId"];
  for (const char* domain : {"Page", "Runtime", "Log"}) call(std::string(domain) + ".enable");
}

Chromium::~Chromium() {
  process_.reset();
  close(to_);
  close(from_);
}

json Chromium::next_message() {
  const double end = now() + kReplySeconds * patience();
  size_t length = 0;
  while ((length = received_.find('\0')) == std::string::npos) {
    pollfd readable{from_, POLLIN, 0};
    if (now() > end || !process_->running()) throw std::runtime_error("no reply from " + process_->describe());
    if (poll(&readable, 1, 100) <= 0) continue;
    char bytes[1 << 16];
    const ssize_t count = read(from_, bytes, sizeof bytes);
    if (count > 0) received_.append(bytes, static_cast<size_t>(count));
  }
  json message = json::parse(received_.substr(0, length));
  received_.erase(0, length + 1);
  const std::string method = message.value("method", "");
  const bool complains = method == "Runtime.exceptionThrown" || method == "Log.entryAdded" ||
                         (method == "Runtime.consoleAPICalled" && message["params"]["type"] == "error");
  if (complains) complaints_.push_back(message["params"].dump());
  return message;
}

json Chromium::call(const std::string& method, json arguments) {
  json command = {{"id", ++last_call_}, {"method", method}, {"params", std::move(arguments)}};
  if (!session_.empty()) command["sessionId"] = session_;
  const std::string text = command.dump();
  if (write(to_, text.c_str(), text.size() + 1) < 0) throw std::runtime_error("chromium does not listen");
  for (;;) {
    json message = next_message();
    if (message.value("id", 0) != last_call_) continue;
    if (message.contains("error")) throw std::runtime_error(method + ": " + message["error"].dump());
    return message["result"];
  }
}

void Chromium::set_viewport(int width, int height, bool dark) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", width < 600}});
  call("Emulation.setEmulatedMedia",
       {{"features", json::array({{{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}}})}});
}

void Chromium::go(const std::string& url) { call("Page.navigate", {{"url", url}}); }

void Chromium::set_offline(bool offline) {
  call("Network.enable");
  call("Network.emulateNetworkConditions",
       {{"offline", offline}, {"latency", 0}, {"downloadThroughput", -1}, {"uploadThroughput", -1}});
}

json Chromium::value(const std::string& expression) {
  const json reply =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  return reply["result"].value("value", json());
}

bool Chromium::wait_for(const std::string& expression, double seconds) {
  const double end = now() + seconds * patience();
  while (value("!!(" + expression + ")") != true) {
    if (now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

void Chromium::press(const std::string& key, int code) {
  for (const char* type : {"keyDown", "keyUp"}) {
    call("Input.dispatchKeyEvent", {{"type", type}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code}});
  }
}

void Chromium::screenshot(const std::filesystem::path& file) {
  const json size = call("Page.getLayoutMetrics")["cssContentSize"];
  const json clip = {{"x", 0}, {"y", 0}, {"width", size["width"]}, {"height", size["height"]}, {"scale", 1}};
  const std::string text =
      call("Page.captureScreenshot", {{"format", "png"}, {"clip", clip}, {"captureBeyondViewport", true}})["data"];
  std::string bytes(text.size(), '\0');
  size_t length = 0;
  const char* end = nullptr;
  sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(), text.size(), nullptr,
                    &length, &end, sodium_base64_VARIANT_ORIGINAL);
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(length));
}

}  // namespace actorhost::test
