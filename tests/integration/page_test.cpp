// The page of a run in a browser, its flags, and recorded runs.

#include <chrono>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/page/state_fields.hpp"
#include "tests/host/page/sample_state.hpp"
#include "tests/integration/chromium.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

using nlohmann::json;

namespace {

bool no_browser() {
  static const bool kInstalled = Chromium::installed();
  if (!kInstalled) WARN("test-skipped: chromium is not installed");
  return !kInstalled;
}

/// A state in which the first nodes have printed a line and waited in the last second.
json busy_state(size_t nodes, int t) {
  json state = sample_state(nodes, t);
  for (size_t i = 0; i < std::min<size_t>(nodes, 16); ++i) {
    json spans = json::array();
    for (int cell = 20 * (t - 1); cell < 20 * t; ++cell) {
      spans.push_back({"step", "step", cell, 0.05 * cell, 0.05 * cell + 0.049});
      spans.push_back({"wait: barrier", "wait", cell, 0.05 * cell + 0.01, 0.05 * cell + 0.02});
    }
    state["nodes"][i]["stream"] = {
        {"first", 20 * (t - 1)}, {"next", 20 * t}, {"width", 0.05}, {"at", t}, {"list", std::move(spans)}};
    state["nodes"][i]["output"] = {"epoch " + std::to_string(t) + " of worker " + std::to_string(i)};
  }
  return state;
}

/// Writes the states of `seconds` seconds.
void write_recording(const JobFolder& folder, const std::string& name, size_t nodes, int seconds) {
  std::string text;
  for (int t = 1; t <= seconds; ++t) text += json_text(busy_state(nodes, t)) + "\n";
  folder.write(name, text);
}

/// Starts the page of a recorded run; returns its address.
std::string url_of(Process& process) {
  const auto url = process.wait_for_match("(http://[0-9.:]+/)", 20);
  INFO(process.describe());
  REQUIRE(url);
  return *url;
}

const char* const kShown =
    "document.querySelectorAll('#node-rows tr').length > 0 && document.getElementById('connection').dataset.kind === "
    "'end'";

/// Whether a canvas has any drawing on its background.
std::string inked(const std::string& chart) {
  return "(() => { const c = document.getElementById('" + chart +
         "-chart'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
         " const seen = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] + ',' + d[i "
         "+ 1] + ',' + d[i + 2]);"
         " return seen.size > 1; })()";
}

/// Whether a panel is on the page.
std::string shown(const std::string& id) { return "!document.getElementById('" + id + "').hidden"; }

/// The number of points of a curve on the screen, and its first and last time.
std::string curve(const std::string& name) {
  return "(() => { const points = Chart.getChart('" + name +
         "-chart').data.datasets[0].data.filter((p) => p.y !== null); return [points.length, points[0].x, "
         "points.at(-1).x]; })()";
}

std::string text_in(const std::string& id) { return "document.getElementById('" + id + "').innerText"; }

}  // namespace

TEST_CASE("the page of four nodes fills its panels, shows lost nodes, and supports the keyboard", "[deep]") {
  if (no_browser()) return;
  const JobFolder folder;
  write_recording(folder, "run.jsonl", 4, 5);
  Process replay = folder.start({"dashboard", "--replay", "run.jsonl", "127.0.0.1:0"});
  const std::string url = url_of(replay);
  Chromium browser;
  browser.set_viewport(1400, 900, false);
  browser.go(url + "?n=4");
  REQUIRE(browser.wait_for(kShown, 20));
  CHECK(browser.value(text_in("job")) == "mnist_ps.lua");
  CHECK(browser.value("document.querySelectorAll('#node-rows tr').length") == 5);
  CHECK(browser.value("getComputedStyle(document.querySelector('#node-rows tr:nth-child(2) .state')).color") ==
        "rgb(198, 40, 40)");
  CHECK(browser.value(text_in("attention")).get<std::string>().find("worker 2 not yet in allreduce") !=
        std::string::npos);
  CHECK(browser.value("document.querySelector('#node-rows tr:nth-child(3)').hasAttribute('data-straggler')") == true);
  for (const char* chart :
       {"steps", "history", "time", "distribution", "updates", "bytes", "cpu", "memory", "stream"}) {
    CAPTURE(chart);
    CHECK(browser.value(inked(chart)) == true);
  }
  for (const auto& [id, words] : {std::pair{"barrier-panel", "Rule ssp:4: 1 waiting"},
                                  {"barrier-panel", "Merge rule drop:2: merged 870 pushes, dropped 30, holds 2"},
                                  {"barrier", "worker 3"},
                                  {"keys", "784 × 10 float32"},
                                  {"members", "rank 1 is lost"},
                                  {"stages", "12 of 64"},
                                  {"stages", "5.2 s"},
                                  {"stream-legend", "barrier"},
                                  {"series", "loss"},
                                  {"log", "is <b>lost</b>"},
                                  {"hosts", "90 MB"},
                                  {"tiles", "from 40 to 50"}}) {
    CAPTURE(id);
    const std::string text = browser.value(text_in(id));
    CAPTURE(text);
    CHECK(text.find(words) != std::string::npos);
  }
  CHECK(browser.value("document.querySelector('#log b')").is_null());
  // A click on a node shows its state, output and log; another click closes them.
  CHECK(browser.value(shown("detail-panel")) == false);
  browser.value("document.querySelector('#node-rows tr:nth-child(2) button').click()");
  REQUIRE(browser.wait_for(text_in("detail-output") + " === 'epoch 5 of worker 1'", 20));
  CHECK(browser.value(text_in("detail-facts")).get<std::string>().find("its host has been silent for 4 s") !=
        std::string::npos);
  CHECK(browser.value(text_in("detail-log")).get<std::string>().find("is <b>lost</b>") != std::string::npos);
  browser.value("document.getElementById('detail-close').click()");
  CHECK(browser.wait_for("document.getElementById('detail-panel').hidden", 20));
  // The tabulator key reaches every control, and the focus is visible.
  const json wanted = browser.value(
      "[...document.querySelectorAll('a, button, select, input, [tabindex=\"0\"]')].filter((e) => !e.disabled && "
      "e.offsetParent).length");
  browser.value(
      "window.reached = new Set(); window.unseen = 0; document.addEventListener('focusin', (e) => { "
      "window.reached.add(e.target);"
      " if (getComputedStyle(e.target).outlineStyle === 'none') window.unseen++; }); 0");
  for (int i = 0; i < wanted.get<int>() + 2; ++i) browser.press("Tab", 9);
  CHECK(browser.value("window.reached.size") == wanted);
  CHECK(browser.value("window.unseen") == 0);
  CHECK(wanted.get<int>() >= 9);
  // The whole run from its beginning, on a phone, in dark mode.
  browser.set_viewport(390, 800, true);
  browser.go(url);
  REQUIRE(browser.wait_for(kShown, 20));
  CHECK(browser.value("document.documentElement.scrollWidth") == 390);
  CHECK(browser.value("getComputedStyle(document.documentElement).backgroundColor") == "rgb(18, 22, 28)");
  CHECK(browser.value(text_in("play")) == "Pause");
  browser.value("document.getElementById('speed').value = '64'");
  CHECK(
      browser.wait_for("document.getElementById('moment').innerText === '00:05 of 00:05' && "
                       "document.getElementById('play').innerText === 'Play'",
                       20));
  CHECK(browser.complaints() == Words{});
}

TEST_CASE("the page of a thousand nodes shows a window of them, and the nodes that need attention", "[deep]") {
  if (no_browser()) return;
  const JobFolder folder;
  write_recording(folder, "run.jsonl", 1000, 2);
  Process replay = folder.start({"dashboard", "--replay", "run.jsonl", "127.0.0.1:0"});
  Chromium browser;
  browser.set_viewport(1400, 900, true);
  browser.go(url_of(replay) + "?n=1");
  REQUIRE(browser.wait_for(kShown, 20));
  CHECK(browser.value("document.querySelectorAll('#node-rows tr').length") == 64);
  CHECK(browser.value(text_in("page-of")) == "1 to 64 of 1001");
  browser.value("document.getElementById('next').click()");
  REQUIRE(browser.wait_for(text_in("page-of") + " === '65 to 128 of 1001'", 20));
  CHECK(browser.value("document.querySelector('#node-rows td').innerText") == "worker 64");
  CHECK(browser.value(text_in("attention")).get<std::string>().find("worker 1 lost: its host has been silent") !=
        std::string::npos);
  browser.value(
      "{ const s = document.getElementById('sort'); s.value = 'step'; s.dispatchEvent(new Event('change')); }");
  REQUIRE(browser.wait_for("document.querySelector('#node-rows td').innerText.startsWith('worker 2')", 20));
  CHECK(browser.complaints() == Words{});
}

TEST_CASE("a page of a recorded run has its curves from the start, also after a jump, and no panel without data",
          "[deep]") {
  if (no_browser()) return;
  const JobFolder folder;
  write_recording(folder, "run.jsonl", 4, 400);
  json bare = sample_state(2, 5);  // without a parameter server, collectives and tasks
  for (json& node : bare["nodes"]) {
    for (const char* name : {"step", "calls", "tasks", "updates", "sent", "straggler"}) node[name] = 0;
    node["state"] = "computing";
  }
  for (const char* section : {"barrier", "keys", "stages", "series", "collective"}) bare.erase(section);
  folder.write("bare.jsonl", json_text(bare) + "\n");
  Process replay = folder.start({"dashboard", "--replay", "run.jsonl", "127.0.0.1:0"});
  Chromium browser;
  browser.set_viewport(1400, 900, false);
  const std::string url = url_of(replay);
  browser.go(url + "?n=399");
  REQUIRE(browser.wait_for(kShown, 20));
  json points = browser.value(curve("history"));
  CHECK(points[0] > 200);
  CHECK(points[1] == 1);
  CHECK(points[2] == 400);
  browser.value("{ const s = document.getElementById('seek'); s.value = 49; s.dispatchEvent(new Event('input')); }");
  REQUIRE(browser.wait_for(curve("history") + "[2] === 50", 20));
  CHECK(browser.value(curve("history")) == json({50, 1, 50}));
  CHECK(browser.value(curve("bytes")) == json({49, 2, 50}));
  Process other = folder.start({"dashboard", "--replay", "bare.jsonl", "127.0.0.1:0"});
  browser.go(url_of(other));
  REQUIRE(browser.wait_for(kShown, 20));
  for (const char* id : {"attention-panel", "stages-panel", "steps-panel", "history-panel", "distribution-panel",
                         "updates-panel", "bytes-panel", "stream-panel", "barrier-panel", "keys-panel"}) {
    CAPTURE(id);
    CHECK(browser.value(shown(id)) == false);
  }
  CHECK(browser.value(shown("time-panel")) == true);
  CHECK(browser.complaints() == Words{});
}

TEST_CASE("bars of more than ten thousand steps have labels that differ, and axes of few tasks whole numbers",
          "[deep]") {
  if (no_browser()) return;
  const JobFolder folder;
  json state = sample_state(20, 5);
  for (int i = 0; i < 20; ++i) state["nodes"][static_cast<size_t>(i)]["step"] = 123'456 + 3 * i;
  folder.write("steps.jsonl", json_text(state) + "\n");
  for (json& node : state["nodes"]) node["step"] = node["calls"] = 0;
  folder.write("tasks.jsonl", json_text(state) + "\n");
  Process steps = folder.start({"dashboard", "--replay", "steps.jsonl", "127.0.0.1:0"});
  Process tasks = folder.start({"dashboard", "--replay", "tasks.jsonl", "127.0.0.1:0"});
  Chromium browser;
  browser.set_viewport(1400, 900, false);
  browser.go(url_of(steps));
  REQUIRE(browser.wait_for(kShown, 20));
  const json labels = browser.value("Chart.getChart('distribution-chart').data.labels");
  REQUIRE(labels.size() > 10);
  CHECK(std::set<std::string>(labels.begin(), labels.end()).size() == labels.size());
  CHECK(labels[0] == "123.456 k–123.458 k");
  browser.go(url_of(tasks));
  REQUIRE(browser.wait_for(kShown, 20));
  CHECK(browser.value("Chart.getChart('steps-chart').scales.y.ticks.map((tick) => tick.label)") ==
        json({"0", "1", "2", "3"}));
  CHECK(browser.complaints() == Words{});
}

TEST_CASE("a page that is opened late, and a page that was offline, have the whole past of a live run", "[deep]") {
  if (no_browser()) return;
  const JobFolder folder;
  const FreePort page;
  folder.write("job.lua", R"(local actor = require 'actor'
    local begun, shown = os.time(), 0
    actor.param.run {
      init = function() return { w = actor.tensor.zeros(1) } end, schedule_local = function() return { "w" } end,
      push = function()
        actor.sleep(actor.id == 2 and 0.05 or 0.01)
        while os.time() > begun + shown do  -- a line for each second, also after a step of some seconds
          shown = shown + 1
          print(("second %d of worker %s"):format(shown, actor.id))
        end
        return { { "w", actor.tensor.ones(1) } }
      end,
      pull = actor.optim.add(), barrier = "bsp", stop = function() return false end,
    })");
  Process host = folder.start({"-n", "3", "--dashboard", page.endpoint(), "job.lua"});
  REQUIRE(host.wait_for_output("second 4 of worker 0", 30));  // no viewer has watched so far
  Chromium browser;
  browser.set_viewport(1400, 900, false);
  browser.go("http://" + page.endpoint());
  INFO(host.describe());
  REQUIRE(browser.wait_for(text_in("connection") + " === 'live' && Chart.getChart('history-chart')", 20));
  const double opened = browser.value("newest.run.t").get<double>();
  CHECK(browser.wait_for(curve("history") + "[1] < " + std::to_string(opened - 2), 10));
  // What each node does, and the output of a node that the terminal does not show.
  CHECK(browser.wait_for("document.getElementById('stream-legend').innerText.includes('task of the server')", 20));
  browser.value("document.querySelector('#node-rows tr:nth-child(2) button').click()");
  CHECK(browser.wait_for(text_in("detail-output") + ".includes('of worker 1')", 20));
  const json before = browser.value("past.t");
  browser.set_offline(true);
  browser.value("reload(); 0");
  CHECK(browser.wait_for(text_in("connection") + ".startsWith('no connection')", 30));
  const int missed = static_cast<int>(before.get<double>()) + 6;
  REQUIRE(host.wait_for_output("second " + std::to_string(missed) + " of", 30));
  browser.set_offline(false);
  CHECK(browser.wait_for(curve("history") + "[2] > " + std::to_string(missed), 30));
  const std::string while_offline = "p.x > " + before.dump() + " + 1 && p.x < " + std::to_string(missed) + " - 1";
  CHECK(browser.wait_for("past.lines.steps['0'].some((p) => " + while_offline + ")", 20));
  host.signal(SIGINT);
  CHECK(host.wait(20) == 130);
}

TEST_CASE("a killed host turns red on the page, and the page shows the end and finds the next run", "[deep]") {
  if (no_browser()) return;
  const JobFolder folder;
  const FreePort page;
  folder.write("job.lua", "local actor = require 'actor' for _ = 1, 1200 do actor.sleep(0.05) end");
  Hosts hosts(folder, 3, {"-n", "1", "--metrics", "--dashboard", page.endpoint(), "job.lua"});
  REQUIRE(hosts[0].wait_for_output("the page is at http://" + page.endpoint() + "/", 20));
  REQUIRE(hosts[1].wait_for_output("the page of this run is on its coordinator", 20));
  Chromium browser;
  browser.go("http://" + page.endpoint());
  INFO(hosts.describe());
  REQUIRE(browser.wait_for("document.querySelectorAll('#node-rows tr[data-state=waiting]').length === 3", 20));
  CHECK(browser.value(text_in("connection")) == "live");
  hosts[1].signal(SIGKILL);
  CHECK(browser.wait_for("document.querySelectorAll('#node-rows tr[data-state=lost]').length === 1", 3));
  CHECK(browser.value("getComputedStyle(document.querySelector('#node-rows tr[data-state=lost] .state')).color") ==
        "rgb(198, 40, 40)");
  hosts[0].signal(SIGINT);
  CHECK(browser.wait_for(text_in("connection") + " === 'the run has ended: interrupted'", 20));
  CHECK(hosts[0].wait(20) == 130);
  const Process next = folder.start({"-n", "1", "--dashboard", page.endpoint(), "job.lua"});
  CHECK(browser.wait_for(
      text_in("connection") + " === 'live' && document.querySelectorAll('#node-rows tr').length === 1", 30));
}

TEST_CASE("a recorded run can be shown, and unusable flags report the reason", "[deep]") {
  const JobFolder folder;
  folder.write("job.lua", "print('done')");
  const Ended recorded(folder.run({"-n", "2", "--record", "run.jsonl", "job.lua"}));
  const std::string text = read_text(folder.path() / "run.jsonl");
  const json state = json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
  CHECK(state["nodes"].size() == 2);
  CHECK(state["nodes"][0]["state"] == "ended");
  Process replay = folder.start({"dashboard", "--replay", "run.jsonl", "127.0.0.1:0"});
  const std::string url = url_of(replay);
  replay.signal(SIGINT);
  CHECK(replay.wait(10) == 130);

  const FreePort port;
  const Process other = folder.start({"dashboard", "--replay", "run.jsonl", port.endpoint()});
  REQUIRE(const_cast<Process&>(other).wait_for_output("http://", 20));
  folder.write("broken.jsonl", text + "{\n" + text);
  struct Case {
    Words words;
    int code;
    std::string expected;
  };
  const Case cases[] = {
      {{"-n", "1", "--dashboard", port.endpoint(), "job.lua"},
       3,
       "--dashboard: " + port.endpoint() + " is taken by another program"},
      {{"-n", "1", "--metrics=here", "job.lua"},
       2,
       "a page's address is HOST:PORT or a port, as 127.0.0.1:8787, got 'here'"},
      {{"-n", "1", "--metrics", "0", "--dashboard", "1", "job.lua"}, 2, "are served at one address"},
      {{"dashboard", "--replay", "broken.jsonl", "0"},
       3,
       "broken.jsonl:" + std::to_string(std::count(text.begin(), text.end(), '\n') + 1) +
           ": this line is not the state of a run"},
      {{"dashboard"}, 2, "--replay FILE.jsonl names the recording"},
      {{"dashboard", "--replay", "run.jsonl", "a:b:c"}, 2, "a page's address is HOST:PORT"},
  };
  for (const Case& one : cases) {
    const Ended ended(folder.run(one.words), one.code);
    CHECK(ended.err.find(one.expected) != std::string::npos);
  }
  const Ended plain(folder.run({"-n", "1", "--dashboard", "0", "job.lua"}));
  CHECK(plain.out == "done\n");
  CHECK(plain.err.find("the page is at http://127.0.0.1:") != std::string::npos);
}

TEST_CASE("screenshots of pages, for review") {
  const char* folder_name = std::getenv("ACTORHOST_TEST_SCREENSHOTS");
  if (folder_name == nullptr || no_browser()) return;
  const JobFolder folder;
  for (const size_t nodes : {4, 1000}) {
    write_recording(folder, "run.jsonl", nodes, 30);
    Process replay = folder.start({"dashboard", "--replay", "run.jsonl", "127.0.0.1:0"});
    const std::string url = url_of(replay);
    Chromium browser;
    for (const int width : {1400, 390}) {
      for (const bool dark : {false, true}) {
        browser.set_viewport(width, 900, dark);
        browser.go(url + "?n=29");
        REQUIRE(browser.wait_for(kShown, 20));
        browser.screenshot(std::filesystem::path(folder_name) /
                           (std::to_string(nodes) + "-" + std::to_string(width) + (dark ? "-dark.png" : "-light.png")));
      }
    }
  }
}
