// s3:// URLs against an object storage that verifies signatures: reading, saving, and the failures of both.

#include "host/data/file/packed_writer.hpp"
#include "tests/integration/jobs.hpp"
#include "tests/integration/s3_server.hpp"
#include "tests/test.hpp"

namespace {

/// A job's folder with access to a server.
class StorageFolder : public JobFolder {
 public:
  explicit StorageFolder(const S3Server& server) { server.set_variables(*this); }
  Finished run_job(const Words& words) const { return run(with({"-n", "2", "jobs/object_storage.lua"}, words), 60); }
};

std::string rows_from_to(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) text += std::to_string(i) + "\n";
  return text;
}

std::string gzipped(const JobFolder& folder, const std::string& text) {
  const auto path = folder.path() / "packed";
  const auto writer = required(PackedWriter::open(path, FilePacking::gzip));
  REQUIRE((*writer)->write(text));
  REQUIRE((*writer)->close());
  return read_text(path);
}

std::vector<std::string> keys_of(const S3Server& server) {
  std::vector<std::string> keys;
  for (const auto& [key, bytes] : server.objects()) keys.push_back(key);
  return keys;
}

size_t matching(const std::vector<std::string>& requests, const std::string& start) {
  return static_cast<size_t>(
      std::count_if(requests.begin(), requests.end(), [&](const std::string& one) { return one.starts_with(start); }));
}

}  // namespace

TEST_CASE("objects, folders and patterns of an object storage are loaded, whatever their names and pages") {
  S3Server server;
  const StorageFolder folder(server);
  const std::string odd = "in/x y/\xc3\xbc+=&'(1)*~<%41>.txt";
  server.put("in/a.txt", rows_from_to(1, 10));
  server.put("in/b.txt", rows_from_to(11, 20));
  server.put("in/c.gz", gzipped(folder, rows_from_to(21, 30)));
  server.put("in/_hidden", "1000\n");
  server.put("in/.hidden", "1000\n");
  server.put("in/empty", "");
  server.put("in/sub/d.txt", rows_from_to(31, 40));
  server.put("in/sub/deep/e.txt", rows_from_to(41, 50));
  server.put("in2", "7\n");
  server.put(odd, "5\n");
  server.set_page(2);
  const Ended run(folder.run_job({"sums", "s3://data/in/a.txt", "s3://data/in", "s3://data/in/", "s3://data/in/*.txt",
                                  "s3://data/in/**/*.txt", "s3://data/in/**", "s3://data/in/{b.txt,sub/d.txt}",
                                  "s3://data/in2", "s3://data/in/x y/*", "s3://data/in?"}));
  CHECK(run.out ==
        "in/a.txt\t10\t55\nin\t30\t465\nin/\t30\t465\nin/*.txt\t20\t210\nin/**/*.txt\t41\t1025\nin/**\t51\t1280\n"
        "in/{b.txt,sub/d.txt}\t20\t510\nin2\t1\t7\nin/x y/*\t1\t5\nin?\t1\t7\n");
}

TEST_CASE("a pattern of names lists its folder only, and large objects are inspected over one connection") {
  S3Server server;
  const StorageFolder folder(server);
  for (const char* name : {"a", "b", "c"}) server.put("in/" + std::string(name) + ".txt", rows_from_to(1, 200'000));
  for (int i = 0; i < 50; ++i) server.put("in/sub/" + std::to_string(i), "1\n");
  server.set_page(2);
  const Ended run(folder.run({"-n", "1", "jobs/object_storage.lua", "plan", "s3://data/in/*.txt"}));
  CHECK(matching(server.requests(), "GET /data/?") == 2);
  CHECK(server.connections() == 1);
}

TEST_CASE("ranges of a large object are read by several tasks") {
  S3Server server;
  const StorageFolder folder(server);
  server.put("large", rows_from_to(1, 700'000));
  const Ended run(folder.run_job({"large", "s3://data/large"}));
  CHECK(run.out == "245000350000\n");
  size_t ranges = 0;
  for (const std::string& request : server.requests()) {
    if (request.starts_with("GET /data/large bytes=") && !request.ends_with("-15")) ++ranges;
  }
  CHECK(ranges >= 4);
}

TEST_CASE("a part of a table in an object storage gets its header from the start of the object") {
  S3Server server;
  const StorageFolder folder(server);
  std::string text = "word,count\n";
  for (int i = 1; i <= 300'000; ++i) text += "w" + std::to_string(i) + "," + std::to_string(i % 10) + "\n";
  server.put("a.csv", text);
  const Ended run(folder.run_job({"table", "s3://data/a.csv"}));
  CHECK(run.out == "1350000\n");
}

TEST_CASE("whole objects are pairs of URL and content") {
  S3Server server;
  const StorageFolder folder(server);
  server.put("in/a", "12345");
  server.put("in/b.gz", gzipped(folder, "123456"));
  const Ended run(folder.run_job({"whole", "s3://data/in"}));
  CHECK(run.out == "s3://data/in/a\t5\ns3://data/in/b.gz\t6\n");
}

TEST_CASE("a missing object, bucket or key is an error with the server's words") {
  S3Server server;
  StorageFolder folder(server);
  server.put("in/a", "1\n");
  const Ended run(folder.run_job({"errors", "s3://data/none", "s3://other/in/a", "s3://data/none/*", "s3://"}));
  CHECK_THAT(run.out,
             Contains("s3://data/none: there is no such object, and no folder") &&
                 Contains("s3://other/in/a: the server replied 404: NoSuchBucket: The test says NoSuchBucket.") &&
                 Contains("s3://data/none/*: no object matches") && Contains("'s3://' names no bucket"));
  folder.set("AWS_SECRET_ACCESS_KEY", "another");
  const Ended wrong(folder.run_job({"errors", "s3://data/in/a"}));
  CHECK_THAT(wrong.out, Contains("s3://data/in/a: the server replied 403: SignatureDoesNotMatch: The test says"));
  folder.set("AWS_SECRET_ACCESS_KEY", "");
  const Ended half(folder.run_job({"errors", "s3://data/in/a"}));
  CHECK_THAT(half.out, Contains("s3: the environment has no AWS_SECRET_ACCESS_KEY"));
  folder.set("AWS_ACCESS_KEY_ID", "");
  const Ended anonymous(folder.run_job({"errors", "s3://data/in/a"}));
  CHECK_THAT(anonymous.out, Contains("the server replied 403: AccessDenied"));
}

TEST_CASE("a busy object storage and lost connections are tried again") {
  S3Server server;
  const StorageFolder folder(server);
  server.put("in/a", rows_from_to(1, 200'000));
  server.fail({"GET", "/data/?list-type", 2, 503, "SlowDown"});
  server.fail({"GET", "/data/in/a", 1, 0, "", 400'000});
  server.fail({"GET", "/data/in/a", 1, 500, "InternalError"});
  server.fail({"GET", "/data/in/a", 1});
  const Ended run(folder.run_job({"sums", "s3://data/in/a"}));
  CHECK(run.out == "in/a\t200000\t20000100000\n");
}

TEST_CASE("an object that changes during the job is an error") {
  S3Server server;
  const StorageFolder folder(server);
  server.put("a", rows_from_to(1, 100));
  Process job = folder.start({"-n", "2", "jobs/object_storage.lua", "changed", "s3://data/a"}, "planned");
  server.put("a", rows_from_to(1, 101));
  folder.write("changed", "");
  const Ended run({job}, 30, 1);
  CHECK_THAT(run.err, Contains("s3://data/a: had 292 bytes when the job was planned and has 296 now"));
}

TEST_CASE("arrays and tables are read from an object storage, and arrays are saved in it") {
  S3Server server;
  const StorageFolder folder(server);
  server.put("in/a.csv", "1,2\n3,4\n");
  server.put("in/a.libsvm", "1 1:4 2:5\n");
  server.put("in/lines.gz", gzipped(folder, "one\ntwo\n"));
  const Ended run(folder.run({"-n", "1", "jobs/object_storage.lua", "arrays"}));
  CHECK(server.uploads().empty());
}

TEST_CASE("a large array is an upload of several parts, which is tried again or leaves nothing", "[deep]") {
  S3Server server;
  const StorageFolder folder(server);
  SECTION("tried again") {
    server.fail({"PUT", "partNumber=2", 2, 503, "SlowDown"});
    const Ended run(folder.run({"-n", "1", "jobs/object_storage.lua", "large_array"}));
    CHECK(server.objects().at("large.npy").size() == 20'000'128);
    CHECK(matching(server.requests(), "PUT /data/large.npy?partNumber=") == 5);
  }
  SECTION("complete although the last reply is lost") {
    server.fail({"POST", "large.npy?uploadId=", 1});
    const Ended run(folder.run({"-n", "1", "jobs/object_storage.lua", "large_array"}));
    CHECK(matching(server.requests(), "POST /data/large.npy?uploadId=") == 2);
  }
  SECTION("leaves nothing") {
    server.fail({"PUT", "partNumber=3", 1, 403, "AccessDenied"});
    const Ended run(folder.run({"-n", "1", "jobs/object_storage.lua", "large_array"}), 1);
    CHECK_THAT(run.err, Contains("s3://data/large.npy: the server replied 403: AccessDenied"));
    CHECK(server.objects().empty());
  }
  CHECK(server.uploads().empty());
}

TEST_CASE("a pipeline saves into an object storage: the mark is last, and no upload is left") {
  S3Server server;
  const StorageFolder folder(server);
  const std::string compress = GENERATE("none", "gz");
  const std::string suffix = compress == "gz" ? ".gz" : "";
  const Ended run(folder.run_job({"save", "s3://data/deep/out", compress}));
  CHECK(keys_of(server) == Words{"deep/out/_SUCCESS", "deep/out/part-00000" + suffix, "deep/out/part-00001" + suffix});
  CHECK(server.uploads().empty());
  const auto requests = server.requests();
  const auto mark = std::find_if(requests.begin(), requests.end(),
                                 [](const auto& one) { return one.starts_with("PUT /data/deep/out/_SUCCESS"); });
  REQUIRE(mark != requests.end());
  CHECK(std::count_if(requests.begin(), mark, [](const auto& one) {
          return one.starts_with("POST ") && one.find("uploadId=") != std::string::npos;
        }) == 3);
}

TEST_CASE("a run that stops aborts the uploads in progress") {
  S3Server server;
  const StorageFolder folder(server);
  server.fail({"PUT", "partNumber=2", 6, 503, "SlowDown"});
  Process job = folder.start({"-n", "2", "jobs/object_storage.lua", "stopped_array"});
  REQUIRE(wait_until([&] { return matching(server.requests(), "PUT /data/large.npy?partNumber=2") > 0; }, 20));
  CHECK(server.uploads().size() == 1);
  folder.write("stop", "");
  const Ended run({job}, 30, 1);
  CHECK_THAT(run.err, Contains("rank 1: ") && Contains("stopped on request"));
  CHECK(server.uploads().empty());
}

TEST_CASE("a run that ends during a save leaves no uploads; the next save aborts those of a killed run") {
  S3Server server;
  const StorageFolder folder(server);
  Process job = folder.start({"-n", "2", "jobs/object_storage.lua", "stopped_save", "s3://data/out"}, "two parts");
  REQUIRE(server.uploads().size() == 2);
  SECTION("by the error of another rank") {
    folder.write("stop", "");
    const Ended run({job}, 30, 1);
    CHECK_THAT(run.err, Contains("rank 1: ") && Contains("stopped on request"));
    CHECK(server.objects().empty());
  }
  SECTION("by a signal") {
    job.signal(SIGTERM);
    const Ended run({job}, 30, 143);
    CHECK(server.objects().empty());
  }
  SECTION("by a kill") {
    job.signal(SIGKILL);
    job.wait(10);
    CHECK(server.uploads().size() == 2);
    CHECK(server.objects().empty());
    const Ended next(folder.run_job({"large_save", "s3://data/out"}));
    CHECK(keys_of(server) == Words{"out/_SUCCESS", "out/part-00000"});
  }
  CHECK(server.uploads().empty());
}

TEST_CASE("a failed save leaves neither uploads nor objects") {
  S3Server server;
  const StorageFolder folder(server);
  const Ended failed(folder.run_job({"failing_save", "s3://data/out"}), 1);
  CHECK(server.objects().empty());
  CHECK(server.uploads().empty());
  server.put("out/mine", "of the user");
  const Ended refused(folder.run_job({"refused_save", "s3://data/out"}), 1);
  CHECK_THAT(refused.err, Contains("s3://data/out/: is not replaced, since it holds 'mine', which no save has made"));
  CHECK(keys_of(server) == Words{"out/mine"});
  server.fail({"POST", "/data/other/_SUCCESS", 1, 403, "AccessDenied"});
  const Ended forbidden(folder.run_job({"refused_save", "s3://data/other"}), 1);
  CHECK_THAT(forbidden.err, Contains("s3://data/other/_SUCCESS: the server replied 403: AccessDenied"));
}

TEST_CASE("a part of a save may have several parts of an upload", "[deep]") {
  S3Server server;
  const StorageFolder folder(server);
  const Ended run(folder.run_job({"large_save", "s3://data/out"}));
  CHECK(server.objects().at("out/part-00000").size() == 20'020'000);
  CHECK(server.uploads().empty());
}

TEST_CASE("a run saves checkpoints in an object storage and resumes from the newest complete one") {
  S3Server server;
  const StorageFolder folder(server);
  const auto run_steps = [&](const Words& flags, const std::string& last, int status = 0) {
    return Ended(folder.run(with(with({"-n", "2"}, flags), {"jobs/object_storage.lua", "steps", last})), status);
  };
  const Ended none(run_steps({"--resume", "s3://data/deep/run"}, "4", 2));
  CHECK_THAT(none.err, Contains("--resume: there is no complete checkpoint in 's3://data/deep/run'"));
  CHECK(run_steps({"--checkpoint", "s3://data/deep/run"}, "9").out == "from\t0\t0\n");
  CHECK(matching(keys_of(server), "deep/run/state-") == 9);  // three files in each of three checkpoints
  server.put("deep/run/state-000000000009/left.npz", "of a run that was killed");
  CHECK(run_steps({"--resume", "s3://data/deep/run"}, "20").out == "from\t8\t8\n");
  CHECK(server.objects().count("deep/run/state-000000000009/left.npz") == 0);
  CHECK(matching(server.requests(), "GET /data/deep/run/state-000000000004/values.npz") == 1);
  const std::string newest = "deep/run/state-000000000010/";
  REQUIRE(server.objects().count(newest + "manifest.json") == 1);
  server.put(newest + "values.npz", "damaged");
  const Ended damaged(run_steps({"--resume", "s3://data/deep/run"}, "20"));
  CHECK(damaged.out == "from\t18\t18\n");
  CHECK_THAT(damaged.err, Contains("s3://data/deep/run/state-000000000010 is damaged and skipped"));
}

TEST_CASE("the parameter server saves checkpoints in an object storage; a storage that refuses them is an error") {
  S3Server server;
  const StorageFolder folder(server);
  const Words job = {"jobs/object_storage.lua", "updates"};
  const Words to = {"-n", "2", "--checkpoint", "s3://data/run"};
  CHECK(Ended(folder.run(with(to, with(job, {"35"})))).out == "true\n");
  CHECK(matching(keys_of(server), "run/checkpoint-") >= 3);
  const Ended resumed(folder.run(with({"-n", "2", "--resume", "s3://data/run"}, with(job, {"60"}))));
  CHECK_THAT(resumed.err, Contains("resuming from the newest checkpoint in 's3://data/run'"));
  server.fail({"POST", "/data/no/.trial", 9, 403, "AccessDenied"});
  const Ended refused(folder.run(with({"-n", "2", "--checkpoint", "s3://data/no"}, with(job, {"35"}))), 4);
  CHECK_THAT(refused.err, Contains("s3://data/no/.trial: the server replied 403: AccessDenied"));
}

TEST_CASE("a checkpoint in an object storage that cannot be read is an error, and neither skipped nor replaced") {
  S3Server server;
  const StorageFolder folder(server);
  const auto run_steps = [&](const Words& flags, const std::string& last, int status = 0) {
    return Ended(folder.run(with(with({"-n", "1"}, flags), {"jobs/object_storage.lua", "steps", last})), status);
  };
  run_steps({"--checkpoint", "s3://data/run"}, "4");
  const std::string newest = "run/state-000000000002/";
  const auto before = server.objects();
  REQUIRE(before.count(newest + "manifest.json") == 1);
  SECTION("at the start") {
    server.fail({"GET", "/manifest.json", 9, 403, "AccessDenied"});
    const Ended run(run_steps({"--resume", "s3://data/run"}, "9", 3));
    CHECK_THAT(run.err, Contains("/manifest.json: the server replied 403: AccessDenied"));
  }
  SECTION("at the load") {
    server.fail({"GET", "/data/" + newest + "values.npz", 9, 403, "AccessDenied"});
    const Ended run(run_steps({"--resume", "s3://data/run"}, "9", 3));
    CHECK_THAT(run.err, Contains("s3://data/" + newest + "values.npz: the server replied 403: AccessDenied"));
  }
  SECTION("at a save") {
    server.fail({"GET", "/data/" + newest + "manifest.json", 9, 403, "AccessDenied"});
    const Ended run(run_steps({"--checkpoint", "s3://data/run"}, "2", 3));
    CHECK_THAT(run.err, Contains("s3://data/" + newest + "manifest.json: the server replied 403: AccessDenied"));
  }
  for (const auto& [key, bytes] : before) CHECK(server.objects()[key] == bytes);
}

TEST_CASE("a pipeline's checkpoint in an object storage is refused") {
  S3Server server;
  const StorageFolder folder(server);
  const Ended run(folder.run_job({"checkpoint", "s3://data/out"}), 1);
  CHECK_THAT(run.err, Contains("mapreduce.checkpoint: 's3://' is not supported; give file://PATH"));
}
