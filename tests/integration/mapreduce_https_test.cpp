// mr.load over https: servers with trusted and untrusted certificates.

#include <utility>

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace {

/// A web server of OpenSSL that serves the files of a folder.
class HttpsFolder : public CertificateFolder {
 public:
  HttpsFolder() : CertificateFolder("IP:127.0.0.1") {
    std::string lines;
    for (int i = 0; i < 20000; ++i) lines += "a line of some length\n";
    write("a", lines);
    write("b", "one\ntwo\n");
    REQUIRE(run_program("gzip", {"b"}, 20, options()).status == 0);
    server_ = std::make_unique<Process>(
        "openssl", Words{"s_server", "-accept", port_.endpoint(), "-cert", "host.pem", "-key", "host.key", "-WWW"},
        options());
    REQUIRE(server_->wait_for_output("ACCEPT", 20));
  }

  std::string url() const { return "https://" + port_.endpoint(); }
  std::string file(const std::string& name) const { return (path() / name).string(); }

  /// Runs a job that loads the address, with these variables and further arguments.
  Finished load(const std::map<std::string, std::string>& env, const Words& words = {}) const {
    ProcessOptions all = options();
    for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) all.env[name] = std::nullopt;
    for (const auto& [name, value] : env) all.env[name] = value;
    return run_program(actorhost_binary(), with({"-n", "2", "jobs/mapreduce_https.lua", url()}, words), 60, all);
  }

 private:
  FreePort port_;
  std::unique_ptr<Process> server_;
};

}  // namespace

TEST_CASE("an https server with a trusted certificate is read") {
  const HttpsFolder folder;
  const std::string ca = folder.file("ca.pem");
  const std::string other = folder.file("other.pem");
  for (const Finished& run :
       {folder.load({}, {ca}), folder.load({{"CURL_CA_BUNDLE", other}}, {ca}), folder.load({{"CURL_CA_BUNDLE", ca}}),
        folder.load({{"SSL_CERT_FILE", ca}}), folder.load({{"CURL_CA_BUNDLE", ca}, {"SSL_CERT_FILE", other}})}) {
    INFO(run.description);
    CHECK(run.status == 0);
    CHECK(line_after(run.out, "rows ") == "20002");
  }
}

TEST_CASE("an https server with an untrusted certificate is an error with a remedy") {
  const HttpsFolder folder;
  const std::string other = folder.file("other.pem");
  const std::vector<std::pair<Finished, std::string>> runs = {
      {folder.load({}, {other}), "SSL certificate problem: "},
      {folder.load({{"CURL_CA_BUNDLE", other}}), "SSL certificate problem: "},
      {folder.load({}, {folder.file("none.pem")}), folder.file("none.pem")},
  };
  for (const auto& [run, why] : runs) {
    INFO(run.description);
    CHECK(run.status == 1);
    CHECK_THAT(run.err, Contains(folder.url() + "/") && Contains(": cannot be fetched: ") && Contains(why) &&
                            Contains("(ca_file or CURL_CA_BUNDLE names a file of certificates to trust)"));
  }
}
