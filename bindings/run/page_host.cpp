#include "bindings/run/page_host.hpp"

#include <ctime>

#include <nlohmann/json.hpp>

#include "bindings/run/cluster_config.hpp"
#include "host/base/printable.hpp"
#include "host/net/handshake.hpp"

namespace actorhost {

namespace {

constexpr double kLastStateSeconds = 0.3;

class ClusterSource final : public StateSource {
 public:
  explicit ClusterSource(Cluster& cluster) : cluster_(cluster) {}
  void request_state(const std::vector<std::string>& sections,
                     std::function<void(std::string json)> callback) override {
    cluster_.request_state(sections, std::move(callback));
  }

 private:
  Cluster& cluster_;
};

}  // namespace

void add_sections(Cluster& cluster, const Log& log, ProcessShared& process, const Clock& clock) {
  using nlohmann::json;
  ProcessState& state = cluster.state();
  state.section("log", [&](json& out) {
    const double begun = wall_seconds() - state.age();
    for (const LogLine& line : log.newest()) {
      out["log"].push_back(
          {{"t", line.time - begun}, {"level", log_level_name(line.level)}, {"who", line.source}, {"text", line.text}});
    }
  });
  state.section("series", [&](json& out) {
    const double begun = clock.now() - state.age();
    for (const auto& [name, points] : process.series.read()) {
      json& rows = out["series"][name];
      for (const SeriesPoint& point : points) {  // a NaN or infinity becomes null
        rows.push_back({{"t", point.time - begun},
                        {"step", point.step},
                        {"id", address_index(point.node)},
                        {"value", point.value}});
        if (is_server(point.node)) rows.back()["role"] = "server";
      }
    }
  });
  state.section("barrier", [&](json& out) { process.barrier.report(out, clock.now()); });
  if (!cluster.is_coordinator()) return;
  state.section("recording", [&](json& out) { process.trace->report(out, clock.now()); });
  state.section("histograms", [&](json& out) { process.barrier.report_steps(out); });
  state.section("keys", [&](json& out) {
    for (const auto& store : process.stores) store->list().report(out, store->shard());
  });
}

PageHost::PageHost(Cluster& cluster) : source_(std::make_unique<ClusterSource>(cluster)) {}

PageHost::~PageHost() {
  if (poller_) poller_->stop();
}

bool PageHost::wanted(const RunOptions& options) {
  return options.dashboard || options.metrics || options.records_states() || options.records_events();
}

Result<std::unique_ptr<PageHost>> PageHost::open(const RunOptions& options, const std::string& job, Cluster& cluster,
                                                 const Clock& clock, Log& log) {
  std::unique_ptr<PageHost> host(new PageHost(cluster));
  std::vector<Watcher*> watchers;
  if (options.dashboard || options.metrics) {
    const std::string flag = options.dashboard ? "--dashboard" : "--metrics";
    PageOptions page;
    page.address = options.page_address;
    page.page = options.dashboard;
    page.metrics = options.metrics;
    if (!options.insecure) {
      if (const auto token = load_token(options, log)) page.reading_token = reading_token(*token);
    }
    auto server = PageServer::open(page, clock);
    if (!server) return Error{server.error().code, flag + ": " + server.error().message};
    host->server_ = std::move(*server);
    log.info("", (options.dashboard ? "the page is at " : "metrics are at ") + host->server_->url());
    watchers.push_back(host->server_.get());
  }
  if (options.records_states()) {
    AH_LET(host->recorder_, StateRecorder::open(options.record, log));
    watchers.push_back(host->recorder_.get());
  }
  if (options.records_events()) {
    AH_LET(host->events_, EventRecorder::open(options.record, job, log));
    watchers.push_back(host->events_.get());
  }
  host->poller_ = std::make_unique<StatePoller>(*host->source_, clock, log, std::move(watchers));
  if (host->server_) host->server_->on_wanted([poller = host->poller_.get()] { poller->wake(); });
  return host;
}

void PageHost::finish(const EndMessage& end) {
  const StatePtr last = poller_->finish(kLastStateSeconds);
  if (recorder_) recorder_->last(last);
  if (events_) events_->last(last);
  if (server_) server_->finish(last, end.ok ? "done" : first_line(end.message));
  poller_->stop();
}

}  // namespace actorhost
