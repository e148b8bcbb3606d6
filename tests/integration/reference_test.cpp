// actorhost help --html: the reference as pages, and searches of the help.

#include <regex>

#include "tests/integration/chromium.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

namespace fs = std::filesystem;

/// Writes the reference into "pages"; false when md4c is not installed.
bool write_reference(const JobFolder& folder) {
  const Finished run = folder.run({"help", "--html", "pages"}, 60);
  if (run.err.find("pages need md4c") != std::string::npos) {
    WARN("test-skipped: libmd4c-html0 is not installed");
    return false;
  }
  INFO(run.description);
  CHECK_THAT(run.out, Contains("open pages/index.html"));
  REQUIRE(run.status == 0);
  return true;
}

std::set<std::string> matches_in(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) found.insert((*at)[1]);
  return found;
}

/// The least contrast of the text of `selector` against its background, by WCAG's formula.
const char* const kContrast = R"((selector) => {
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).map(Number).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (color !== 'rgba(0, 0, 0, 0)') return color;
    }
    return 'rgb(255, 255, 255)';
  };
  let least = 21;
  document.querySelectorAll(selector).forEach((node) => {
    const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  });
  return least;
})";

}  // namespace

TEST_CASE("each link of the reference has a target") {
  const JobFolder folder;
  if (!write_reference(folder)) return;
  std::map<std::string, std::set<std::string>> anchors;
  std::map<std::string, std::string> pages;
  for (const auto& file : fs::directory_iterator(folder.path() / "pages")) {
    const std::string name = file.path().filename();
    const std::string text = read_text(file.path());
    anchors[name] = matches_in(text, " id=\"([^\"]*)\"");
    if (name.ends_with(".html")) pages[name] = text;
  }
  CHECK(pages.size() > 35);
  size_t links = 0;
  for (const auto& [page, text] : pages) {
    for (const std::string& url : matches_in(text, "(?:href|src)=\"([^\"]*)\"")) {
      if (url.find(':') < url.find('#')) continue;  // https://, data:
      ++links;
      const size_t hash = url.find('#');
      const std::string file = hash == 0 ? page : url.substr(0, hash);
      CAPTURE(page, url);
      CHECK(anchors.count(file) == 1);
      if (hash != std::string::npos) CHECK(anchors[file].count(url.substr(hash + 1)) == 1);
    }
  }
  CHECK(links > 1500);
  for (const std::string& url :
       matches_in(read_text(folder.path() / "pages/search.js"), "\"([a-z-]+\\.html#?[^\"]*)\"")) {
    const size_t hash = url.find('#');
    CAPTURE(url);
    CHECK(anchors.count(url.substr(0, hash)) == 1);
    if (hash != std::string::npos) CHECK(anchors[url.substr(0, hash)].count(url.substr(hash + 1)) == 1);
  }
}

TEST_CASE("the pages show functions with types, errors, an example and their source, and the flags of the commands",
          "[deep]") {
  const JobFolder folder;
  if (!write_reference(folder)) return;
  const std::string param = read_text(folder.path() / "pages/param.html");
  CHECK_THAT(param, Contains("<code>param.run(run)</code>") && Contains("<a href=\"param.html#actor.param.Run\">"));
  CHECK_THAT(param, Contains("<h4>Errors</h4>") && Contains("<h4>Example, with 2 nodes</h4>"));
  CHECK_THAT(param, Contains("<p class=\"source\">stdlib/actor/param.lua:"));
  const std::string tensor = read_text(folder.path() / "pages/tensor.html");
  CHECK_THAT(tensor, Contains("<span class=\"o\">--&gt; 10 tensor([4., 6.], float32)</span>"));
  CHECK_THAT(read_text(folder.path() / "pages/nn.html"), Contains("<code>node:conv2d(options)</code>"));
  CHECK_THAT(read_text(folder.path() / "pages/commands.html"), Contains("<span id=\"run--barrier\">"));
  CHECK_THAT(read_text(folder.path() / "pages/guide-map-reduce.html"),
             Contains("href=\"mapreduce.html#dataset:flatmap\""));
}

TEST_CASE("help --html names a folder that it cannot write") {
  const JobFolder folder;
  folder.write("file", "");
  const Finished run = folder.run({"help", "--html", "file/pages"});
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("actorhost help: ") && Contains("file/pages"));
  CHECK_THAT(Ended(folder.run({"help", "--html"}), 2).err, Contains("--html wants a value: --html DIR"));
}

TEST_CASE("the pages fit a phone, are legible in light and dark, and raise no error", "[deep]") {
  if (!Chromium::installed()) {
    WARN("test-skipped: chromium is not installed");
    return;
  }
  const JobFolder folder;
  if (!write_reference(folder)) return;
  const std::string root = "file://" + (folder.path() / "pages").string() + "/";
  Chromium browser;
  for (const bool dark : {false, true}) {
    for (const int width : {1400, 390}) {
      browser.set_viewport(width, 900, dark);
      for (const char* page : {"index", "param", "tensor", "commands", "types", "guide-map-reduce", "guide-numpy"}) {
        CAPTURE(dark, width, page);
        browser.go(root + page + ".html");
        REQUIRE(browser.wait_for("document.readyState === 'complete' && typeof texts !== 'undefined'", 20));
        CHECK(browser.value("document.documentElement.scrollWidth <= innerWidth") == true);
        for (const char* part : {"p", "a", "h4", ".k", ".s", ".n", ".c", ".o", ".type", ".source", "td", "pre"}) {
          CAPTURE(part);
          CHECK(browser.value("(" + std::string(kContrast) + ")('" + part + "')").get<double>() >= 4.5);
        }
      }
    }
  }
  CHECK(browser.complaints().empty());
}

TEST_CASE("the search of the pages works by the keyboard", "[deep]") {
  if (!Chromium::installed()) {
    WARN("test-skipped: chromium is not installed");
    return;
  }
  const JobFolder folder;
  if (!write_reference(folder)) return;
  Chromium browser;
  browser.set_viewport(390, 800, false);
  browser.go("file://" + (folder.path() / "pages/index.html").string());
  REQUIRE(browser.wait_for("typeof texts !== 'undefined'", 20));
  browser.press("/", 191);
  CHECK(browser.value("document.activeElement.id") == "search");
  const auto type = [&](const std::string& words) {
    browser.value("(() => { const s = document.getElementById('search'); s.value = '" + words +
                  "'; s.dispatchEvent(new Event('input')); })()");
  };
  const std::string chosen = "document.querySelector('#results [aria-selected=true] a').getAttribute('href')";
  type("param.run");
  CHECK(browser.value(chosen) == "param.html#param.run");
  browser.press("ArrowDown", 40);
  CHECK(browser.value(chosen) != "param.html#param.run");
  browser.press("ArrowUp", 38);
  CHECK(browser.value(chosen) == "param.html#param.run");
  browser.press("Escape", 27);
  CHECK(browser.value("document.getElementById('results').hidden") == true);
  browser.press("/", 191);
  type("how do I make workers wait less");
  CHECK(browser.value(chosen) == "guide-questions.html#how-do-workers-wait-less");
  type("xyzzy");
  CHECK(browser.value("document.getElementById('results').innerText") == "nothing found");
  type("sort rows by key");
  browser.press("Enter", 13);
  CHECK(browser.wait_for("location.href.endsWith('mapreduce.html#dataset:sort_by_key')", 10));
  CHECK(browser.complaints().empty());
}

TEST_CASE("help answers the questions of a new user in one step", "[deep]") {
  const JobFolder folder;
  const auto [question, heading, answer] = GENERATE(table<std::string, std::string, std::string>({
      {"how do I make workers wait less", "How do workers wait less?", "--barrier ssp:4"},
      {"how do I read a CSV", "How do I read a CSV file?", "data.csv(path"},
      {"how do I resume", "How do I save, resume and continue a run?", "--resume DIR"},
      {"why does my run wait", "Why does my run wait or hang?", "actorhost status"},
      {"how can I run on two machines", "How do I run on several machines?", "--rdzv-endpoint"},
      {"plot the loss during training", "How do I see the loss during a run?", "actor.report(\"loss\""},
      {"what happens when a worker dies", "What happens when a worker or a host fails?", "The other workers continue"},
      {"my own command line flags", "How do I give my job its own flags?", "actor.options"},
      {"same numbers in each run", "How do I get the same numbers in each run?", "--seed"},
      {"debug my job", "How do I debug a job, or try a line of Lua?", "actorhost repl"},
      {"use all cores", "How do I use all cores, or fewer?", "-n 4"},
      {"group rows by key", "dataset:group_by_key(options)", "example:"},
      {"learning rate", "optimiser:learning_rate(t)", "example:"},
      {"write a barrier rule", "barrier.rule(fields)", "view:quantile(0.5)"},
  }));
  std::istringstream words(question);
  Words arguments = {"help"};
  for (std::string word; words >> word;) arguments.push_back(word);
  const Ended run(folder.run(arguments));
  CHECK_THAT(run.out, Catch::StartsWith(heading) && Contains(answer));
}

TEST_CASE("help for words without a text suggests a name", "[deep]") {
  const Ended run(JobFolder().run({"help", "broadcst"}), 2);
  CHECK_THAT(run.err, Contains("there is nothing about 'broadcst'; did you mean broadcast?"));
}
