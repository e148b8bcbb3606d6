// mr.load: files and URLs of every kind, and the errors of unreadable sources.

#include "host/data/file/packed_writer.hpp"
#include "tests/integration/http_server.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

Finished run_load_job(const JobFolder& folder, const std::string& job, const Words& words = {}) {
  return folder.run(with({"-n", "2", "jobs/mapreduce_load.lua", job}, words));
}

std::string number_lines(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) text += std::to_string(i) + "\n";
  return text;
}

std::string packed(const JobFolder& folder, const std::string& text, FilePacking packing) {
  const auto path = folder.path() / "packed";
  auto writer = PackedWriter::open(path, packing);
  REQUIRE(writer);
  REQUIRE((*writer)->write(text));
  REQUIRE((*writer)->close());
  return read_text(path);
}

constexpr const char* kSum = "print('sum ' .. mr.load(...):map(tonumber):sum())";

}  // namespace

TEST_CASE("files, folders, globs and lists of them are read once, compressed or not") {
  const JobFolder folder;
  folder.write("in/a", number_lines(1, 100));
  folder.write("in/b.gz", packed(folder, number_lines(101, 200), FilePacking::gzip));
  folder.write("in/c.zst", packed(folder, number_lines(201, 300), FilePacking::zstd));
  folder.write("in/d.xz", packed(folder, number_lines(301, 400), FilePacking::xz));
  folder.write("in/e.bz2", packed(folder, number_lines(401, 500), FilePacking::bzip2));
  folder.write("in/empty", "");
  const auto sum = [&](const std::string& url) {
    const Finished run = run_mapreduce(folder, kSum, {url});
    INFO(run.description);
    return line_after(run.out, "sum ");
  };
  CHECK(sum("in") == "125250");
  CHECK(sum("unix://in/*.?z*") == "95150");
  CHECK(sum("file://in/e.bz2") == "45050");
  CHECK(sum("**/{a,{b,e}*}") == "65150");
  const Finished list =
      run_mapreduce(folder,
                    "print('sum ' .. mr.load { 'in/a', 'file://in/[bc]*' }:map(tonumber):sum())\n"
                    "print('rows ' .. mr.load('in/empty'):count())\n"
                    "print('fold ' .. mr.load('in/empty'):fold(7, function(a, x) return a + x end))\n"
                    "print('whole ' .. mr.whole_files('in/[ab]*'):map(function(path, text) "
                    "return path:match('[^/]*$') .. #text end):reduce(function(a, b) return a .. b end))");
  INFO(list.description);
  CHECK(line_after(list.out, "sum ") == "45150");
  CHECK(line_after(list.out, "rows ") == "0");
  CHECK(line_after(list.out, "fold ") == "7");
  CHECK(line_after(list.out, "whole ") == "a292b.gz400");
}

TEST_CASE("the bytes of lines are preserved, for any length", "[deep]") {
  const JobFolder folder;
  const std::string strange("\0\xff\xc3(\r\0", 6);
  folder.write("text", strange + "\n\n" + std::string(100'000'000, 'x') + "\n" + strange);
  const Finished run = run_load_job(folder, "bytes_of_lines_go_through_as_they_are");
  INFO(run.err);
  CHECK(run.status == 0);
  CHECK(count_of(run.out, "100000000 \"x\"") == 1);
  CHECK(count_of(run.out, "6 \"\\0\xff\xc3(\\r\\0\"") + count_of(run.out, "6 \"\\0\xff\xc3(\\13\\0\"") == 2);
  CHECK(count_of(run.out, "0 \"\"") == 1);
}

TEST_CASE("hosts read CSV and JSON lines in parts and compressed, and errors name file and line", "[deep]") {
  const JobFolder folder;
  std::string csv = "word,count,share\n";
  std::string json;
  for (int i = 1; i <= 100000; ++i) {
    const std::string n = std::to_string(i);
    csv += "w" + n + "," + n + ",0.5\n";
    json += "{\"word\":\"w" + n + "\",\"count\":" + n + ",\"list\":[1,\"x\"]}\n";
  }
  folder.write("in/a.csv", csv);
  folder.write("in/b.csv.gz", packed(folder, csv, FilePacking::gzip));
  folder.write("in/a.jsonl", json);
  folder.write("bad/a.csv", csv + "w,x\n");
  folder.write("bad/b.csv", csv + "w,x,1\n");
  folder.write("bad/a.jsonl", json + "{\"word\":\n");
  const std::string place = GENERATE(as<std::string>(), "threads", "isolate", "hosts");
  const Ended run(run_at(place, folder, {"jobs/mapreduce_load.lua", "csv_and_json"}));
  CHECK(line_after(run.out, "csv ") == "5000050000");
  CHECK(line_after(run.out, "packed ") == "10000100000");
  CHECK(line_after(run.out, "one piece ") == "5000050000");
  CHECK(line_after(run.out, "json ") == "5000050000");
  CHECK(line_after(run.out, "few ") == "bad/a.csv, line 100002: 2 fields, 3 expected");
  CHECK(line_after(run.out, "kind ") == "bad/b.csv, line 100002: column 2 ('count'): 'x' is not a number");
  CHECK_THAT(line_after(run.out, "cut "),
             Catch::Contains("bad/a.jsonl, line 100001: column 9: the line ends where a value"));
  CHECK(line_after(run.out, "left ") == "200000 2 records skipped");
}

TEST_CASE("a damaged file fails the job, or its rest is skipped and counted") {
  const JobFolder folder;
  std::string text;
  for (int i = 1; i <= 200000; ++i) text += std::to_string(i * 7919L % 1000003) + "\n";
  std::string gz = packed(folder, text, FilePacking::gzip);
  gz[gz.size() / 2] = static_cast<char>(gz[gz.size() / 2] ^ 0x55);
  gz[gz.size() / 2 + 1] = static_cast<char>(gz[gz.size() / 2 + 1] ^ 0x55);
  folder.write("in/damaged.gz", gz);
  folder.write("in/good", number_lines(1, 10));
  const Ended failed(run_mapreduce(folder, "mr.load('in'):count()"), 1);
  CHECK_THAT(failed.err, Catch::Contains("has failed 3 times") && Catch::Contains("in/damaged.gz, byte "));

  const Ended skipped(
      run_mapreduce(folder,
                    "local rows = mr.load('in', { on_error = 'skip' })\nprint('rows ' .. rows:count())\n"
                    "print('explained ' .. rows:explained():match('%d+ records skipped'))"));
  const int rows = std::stoi(line_after(skipped.out, "rows "));
  CHECK(rows >= 10);
  CHECK(rows < 200010);
  CHECK(line_after(skipped.out, "explained ") == "1 records skipped");
  CHECK_THAT(skipped.err, Catch::Contains("warn] map-reduce: skipped, as on_error requires: ") &&
                              Catch::Contains("in/damaged.gz, byte "));
}

TEST_CASE("a file that changes during the job is an error") {
  const JobFolder folder;
  folder.write("text", number_lines(1, 1000));
  const Ended run(run_load_job(folder, "file_that_changes_while_job_runs_is"), 1);
  CHECK_THAT(run.err, Catch::Contains("text: had 3893 bytes when the job was planned and has 3898 now"));
}

TEST_CASE("URLs are fetched once each, compressed or not, and redirections are followed") {
  const JobFolder folder;
  std::string large;
  for (int i = 0; i < 400000; ++i) large += "a line of some length\n";
  const HttpServer server({{"/a", {200, {}, number_lines(1, 100)}},
                           {"/b.gz", {200, {}, packed(folder, number_lines(101, 200), FilePacking::gzip)}},
                           {"/c.bz2", {200, {}, packed(folder, number_lines(201, 300), FilePacking::bzip2)}},
                           {"/moved", {302, "Location: /a\r\n", ""}},
                           {"/empty", {200, {}, ""}},
                           {"/large", {200, {}, large}}});
  const std::string at = server.url();
  folder.write("file", number_lines(1001, 1002));
  const Ended run(run_load_job(folder, "urls_are_fetched_each_once_packed_or", {at}));
  CHECK(line_after(run.out, "sum ") == "47153");
  CHECK(line_after(run.out, "moved ") == "100");
  CHECK(line_after(run.out, "large ") == "400000");
  CHECK(server.requests() == 7);
}

TEST_CASE("a failed fetch is an error with the URL, and skipped downloads count whole lines only", "[deep]") {
  const JobFolder folder;
  HttpServer::Response cut{200, {}, number_lines(1, 100)};
  cut.claimed = 100000;
  HttpServer::Response silent{.silent = true};
  const HttpServer server({{"/cut", cut},
                           {"/silent", silent},
                           {"/away", {302, "Location: file:///etc/passwd\r\n", ""}},
                           {"/good", {200, {}, number_lines(1, 5)}}});
  const auto [path, message] = GENERATE(table<std::string, std::string>({
      {"/none", "/none: the server replied 404"},
      {"/cut", "/cut, byte 292: cannot be fetched: "},
      {"/silent", "/silent: cannot be fetched: "},
      {"/away", "/away: cannot be fetched: "},
  }));
  std::string url = server.url() + path;
  url.insert(7, "user:secret@");
  const std::string timeout = path == "/silent" ? "1" : "30";
  const Ended failed(run_mapreduce(folder, "mr.load({ ..., nil }, { timeout = " + timeout + " }):count()", {url}), 1);
  CHECK_THAT(failed.err, Catch::Contains(message));
  CHECK(failed.err.find("secret") == std::string::npos);
  const Ended skipped(run_mapreduce(
      folder, "print('rows ' .. mr.load({ ... }, { timeout = " + timeout + ", on_error = 'skip' }):count())",
      {url, server.url() + "/good"}));
  const int rows = std::stoi(line_after(skipped.out, "rows "));
  CHECK(rows == (path == "/cut" ? 105 : 5));
}

TEST_CASE("an unreachable server is an error") {
  const JobFolder folder;
  const FreePort unused_port;
  const Ended run(run_mapreduce(folder, "mr.load(...):count()", {"http://" + unused_port.endpoint() + "/x"}), 1);
  CHECK_THAT(run.err, Catch::Contains("http://" + unused_port.endpoint() + "/x: cannot be fetched: "));
}

TEST_CASE("a URL without a loadable libcurl is an error, and files are still read") {
  const JobFolder folder;
  folder.write("libs/libcurl.so.4", "");
  folder.write("rows.txt", "a\nb\n");
  // The barrier: no rank's error ends the run before rank 0 has printed.
  folder.write("job.lua", kUseMapreduce + "print(mr.load('rows.txt'):count()) require('actor').collective.barrier() " +
                              "mr.load('http://127.0.0.1/x'):count()");
  ProcessOptions options = folder.options();
  options.env["LD_LIBRARY_PATH"] = (folder.path() / "libs").string();
  const Ended run(run_program(actorhost_binary(), {"-n", "2", "job.lua"}, 30, options), 1);
  CHECK(run.out == "2\n");
  CHECK_THAT(run.err, Catch::Contains("http://127.0.0.1/x: cannot be fetched: libcurl is missing (libcurl4): "));
}
