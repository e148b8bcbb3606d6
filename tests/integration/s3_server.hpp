#pragma once
// An object storage for tests, with the interface of Amazon S3. It verifies the signature of each request (AWS4) with
// its own computation, and answers each connection on a thread of its own until it is destroyed. Thread-safe.

#include "tests/integration/jobs.hpp"
#include "tests/test.hpp"

namespace actorhost::test {

class S3Server : private NonCopyable {
 public:
  /// A fault of the next requests with this method and a target that contains `part`.
  struct Fault {
    std::string method;
    std::string part;
    int times = 1;
    int status = 0;  // the reply, with `code` as the reason; 0 for a lost connection
    std::string code = {};
    size_t bytes = std::string::npos;  // of the body, before the connection is lost
  };

  explicit S3Server(std::string bucket = "data");
  ~S3Server();

  /// The variables of a host that uses the server, with its key.
  void set_variables(JobFolder& folder) const;
  std::string url() const;

  void put(const std::string& key, std::string bytes);
  std::map<std::string, std::string> objects() const;
  /// The keys of the uploads, neither complete nor aborted.
  std::vector<std::string> uploads() const;
  void fail(Fault fault);
  /// "GET /data/key?query RANGE" of each request with a valid signature.
  std::vector<std::string> requests() const;
  /// The number of connections so far.
  size_t connections() const { return connections_; }
  /// Objects in a page of a list; 1000 by default.
  void set_page(size_t objects);

  static constexpr const char* kAccessKey = "AKIDTEST";
  static constexpr const char* kSecretKey = "secret/of+the=test";
  static constexpr const char* kToken = "session/token==";
  static constexpr const char* kRegion = "eu-test-1";

 private:
  struct Request;
  struct Reply;
  struct Upload {
    std::string key;
    std::map<int, std::string> parts;
  };

  void serve();
  void converse(int connection);
  bool answer(int connection, const Request& request);
  Reply reply_to(const Request& request);
  Reply list(const Request& request) const;
  Reply of_object(const Request& request, const std::string& key);
  Reply of_upload(const Request& request, const std::string& key, const std::string& id);
  Reply begin_upload(const std::string& key);
  Reply list_uploads(const Request& request) const;

  const std::string bucket_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, Upload> uploads_;
  std::vector<Fault> faults_;
  std::vector<std::string> requests_;
  size_t page_ = 1000;
  int next_upload_ = 1;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> quit_{false};
  std::atomic<size_t> connections_{0};
  std::vector<std::thread> threads_;
  std::thread thread_;
};

}  // namespace actorhost::test
