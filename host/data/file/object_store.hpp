#pragma once
// Object storage with the interface of Amazon S3: s3://BUCKET/KEY. Requests are signed by libcurl, and name the bucket
// in the path. The environment has the access, under the names that Amazon's tools read:
//
//   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN   without a key, requests are anonymous
//   AWS_REGION, AWS_DEFAULT_REGION                                default us-east-1
//   AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL                         default https://s3.REGION.amazonaws.com
//
// An object appears complete or not at all, when its single request or its upload of several parts is complete. Errors
// are Code::io and name the URL; the server's message is a part of them. An ObjectStore belongs to one thread at a
// time; calls block on the network.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/result.hpp"
#include "host/data/file/http_source.hpp"
#include "host/data/file/object_xml.hpp"

namespace actorhost {

struct ObjectUrl {
  std::string bucket;
  std::string key;
  std::string text() const { return "s3://" + bucket + "/" + key; }
};

/// Whether the scheme is s3.
bool is_object_url(std::string_view url) noexcept;
/// Code::bad_argument for a URL without a bucket.
Result<ObjectUrl> parse_object_url(const std::string& url);

class ObjectStore {
 public:
  /// Uses the remote_options of this thread. Code::bad_argument if the environment has only one half of the access key.
  static Result<ObjectStore> open();

  /// The request for the content of an object, for http_source.
  HttpRequest get(const ObjectUrl& object) const { return request("GET", object, {}); }
  /// All objects with this prefix, in key order. `direct`: if a key has a "/" after the prefix, the result has only the
  /// key's beginning up to this "/", once, in `folders`.
  Result<ObjectPage> list(const ObjectUrl& prefix, bool direct);
  /// The first objects with this prefix, at most `most`.
  Result<std::vector<StoredObject>> list_first(const ObjectUrl& prefix, int most);
  /// Whether there is an object with this key and size.
  Result<bool> has(const ObjectUrl& object, uint64_t bytes);
  /// The first bytes of an object that has at least so many.
  Result<std::string> start_of(const ObjectUrl& object, size_t bytes);
  Status put(const ObjectUrl& object, std::string_view bytes);
  Status remove(const ObjectUrl& object);

  // An upload of several parts. All parts but the last have at least 5 MiB; there are at most 10,000. The requests that
  // begin and abort an upload continue for some seconds after the `check` of the options fails: otherwise a run that
  // stops would leave the upload in the storage.
  Result<std::string> begin_upload(const ObjectUrl& object);
  Result<UploadedPart> upload_part(const ObjectUrl& object, const std::string& id, int number, std::string_view bytes);
  Result<std::vector<UploadedPart>> parts_of(const ObjectUrl& object, const std::string& id);
  /// `bytes`: the size of the object. An upload that is missing is complete if there is an object of this size: an
  /// earlier try, or another process, has completed the upload.
  Status complete_upload(const ObjectUrl& object, const std::string& id, const std::vector<UploadedPart>& parts,
                         uint64_t bytes);
  Status abort_upload(const ObjectUrl& object, const std::string& id);
  /// The uploads with this prefix, neither complete nor aborted.
  Result<std::vector<PendingUpload>> pending_uploads(const ObjectUrl& prefix);

  /// Whether the last request failed since there is no such object, upload or bucket.
  bool is_missing() const noexcept { return client_->status() == kNotFound; }

 private:
  static constexpr long kNotFound = 404;
  using Query = std::vector<std::pair<std::string, std::string>>;  // sorted by name
  ObjectStore() = default;
  HttpRequest request(const std::string& method, const ObjectUrl& object, const Query& query,
                      std::string_view body = {}) const;
  Result<HttpReply> send_past_stop(const HttpRequest& request);
  Result<std::string> send(const HttpRequest& request);
  Result<ObjectPage> list_page(const ObjectUrl& prefix, const Query& query);

  std::string endpoint_;
  std::string region_;
  std::string access_key_;
  std::string secret_key_;
  std::string session_token_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace actorhost
