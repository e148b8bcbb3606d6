#include "host/cluster/dialler.hpp"

#include <algorithm>
#include <map>

#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

namespace {

constexpr double kQuiet = 1;  // seconds of failed dials before the log reports them

}  // namespace

Result<LinkId> Dialler::dial(ProcessId process, const std::vector<std::string>& urls, size_t& at, double deadline,
                             bool once) {
  bool refused = false;
  std::map<size_t, std::string> why;  // the newest failure of each url
  const double log_at = clock_.now() + kQuiet;
  bool logged = false;
  for (;; ++at) {
    const std::string& url = urls[at % urls.size()];
    const double patience = std::clamp(deadline - clock_.now(), 0.05, 5.0);
    Result<LinkId> link = stream_->dial(with_scope_of(url, view_.url()), patience, process);
    const bool strange = !link && link.error().code == Code::refused && urls.size() > 1;
    refused = refused || strange;
    if (!link) why[at % urls.size()] = link.error().message;
    const bool again =
        strange || (!link && (link.error().code == Code::unreachable || link.error().code == Code::timeout));
    if (again && !logged && clock_.now() >= log_at) {
      log_.info("cluster", "retrying until there is a link: " + link.error().message);
      logged = true;
    }
    const bool last = once && at + 1 >= urls.size();
    const double pause = (at + 1) % urls.size() == 0 ? kRedial : 0;
    if (again && !last && clock_.now() + pause < deadline && !view_.pause(pause)) continue;
    if (link) return link;
    if (const auto end = view_.interruption()) return *end;
    std::string all;
    for (const auto& [number, message] : why) all += (all.empty() ? "" : "; ") + message;
    return Error{refused ? Code::refused : link.error().code, all};
  }
}

}  // namespace actorhost
