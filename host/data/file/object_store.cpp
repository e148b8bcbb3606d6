#include "host/data/file/object_store.hpp"

#include <cstdlib>

#include "host/base/clock.hpp"
#include "host/data/file/sha256.hpp"
#include "host/data/file/url_source.hpp"

namespace actorhost {

namespace {

constexpr std::string_view kScheme = "s3://";
constexpr double kSecondsPastStop = 5;

/// The first variable that is set and not empty.
std::string first_variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != 0) return value;
  }
  return "";
}

/// Encodes all bytes except letters, digits and "-._~", as signatures require; `kept` may spare "/".
std::string percent_encoded(std::string_view text, char kept = 0) {
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~' || (kept != 0 && c == kept);
    if (is_plain) {
      out += c;
    } else {
      out += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
  return out;
}

/// The error of a reply that a server should not send.
Error in_reply(const HttpRequest& request, const Error& error) {
  return {Code::io, request.shown + ": " + error.message};
}

}  // namespace

bool is_object_url(std::string_view url) noexcept { return url.starts_with(kScheme); }

Result<ObjectUrl> parse_object_url(const std::string& url) {
  const std::string rest = is_object_url(url) ? url.substr(kScheme.size()) : "";
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (slash == 0) return Error{Code::bad_argument, "'" + url + "' names no bucket; s3://BUCKET/KEY is needed"};
  return ObjectUrl{rest.substr(0, slash), rest.substr(std::min(slash + 1, rest.size()))};
}

Result<ObjectStore> ObjectStore::open() {
  ObjectStore store;
  store.access_key_ = first_variable({"AWS_ACCESS_KEY_ID"});
  store.secret_key_ = first_variable({"AWS_SECRET_ACCESS_KEY"});
  store.session_token_ = first_variable({"AWS_SESSION_TOKEN"});
  if (store.access_key_.empty() != store.secret_key_.empty()) {
    return Error{Code::bad_argument, std::string("s3: the environment has no ") +
                                         (store.access_key_.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY") +
                                         "; set both parts of the access key, or neither"};
  }
  store.region_ = first_variable({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (store.region_.empty()) store.region_ = "us-east-1";
  store.endpoint_ = first_variable({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (store.endpoint_.empty()) store.endpoint_ = "https://s3." + store.region_ + ".amazonaws.com";
  while (store.endpoint_.ends_with('/')) store.endpoint_.pop_back();
  store.client_ = std::make_unique<HttpClient>(remote_options());
  return store;
}

HttpRequest ObjectStore::request(const std::string& method, const ObjectUrl& object, const Query& query,
                                 std::string_view body) const {
  // libcurl signs the path and the query as they are in the URL: without an encoding and an order of its own. So they
  // have the encoding and the order of the signature, and a name without a value has its "=".
  HttpRequest out;
  out.url = endpoint_ + "/" + percent_encoded(object.bucket) + "/" + percent_encoded(object.key, '/');
  for (size_t i = 0; i < query.size(); ++i) {
    out.url += (i == 0 ? "?" : "&") + percent_encoded(query[i].first) + "=" + percent_encoded(query[i].second);
  }
  out.shown = object.text();
  out.method = method;
  out.body = body;
  out.is_storage = true;
  if (method == "PUT" || method == "POST") out.headers.emplace_back("content-type: application/octet-stream");
  if (access_key_.empty()) return out;
  out.headers.push_back("x-amz-content-sha256: " + sha256_of(body));
  if (!session_token_.empty()) out.headers.push_back("x-amz-security-token: " + session_token_);
  out.signature = {region_, access_key_, secret_key_};
  return out;
}

Result<HttpReply> ObjectStore::send_past_stop(const HttpRequest& request) {
  HttpOptions options = client_->options();
  if (!options.check) return client_->send(request, options);
  double stopped = -1;
  options.check = [&]() -> Status {
    Status status = client_->options().check();
    const double now = SteadyClock().now();
    if (!status.ok() && stopped < 0) stopped = now;
    return status.ok() || now - stopped < kSecondsPastStop ? Status() : status;
  };
  return client_->send(request, options);
}

Result<std::string> ObjectStore::send(const HttpRequest& request) {
  auto reply = client_->send(request);
  if (!reply) return std::move(reply).error();
  return std::move(reply->body);
}

Result<ObjectPage> ObjectStore::list_page(const ObjectUrl& prefix, const Query& query) {
  HttpRequest sent = request("GET", {prefix.bucket, ""}, query);
  sent.shown = prefix.text();
  AH_LET(const auto body, send(sent));
  auto page = object_page(body);
  if (!page) return in_reply(sent, page.error());
  return page;
}

Result<ObjectPage> ObjectStore::list(const ObjectUrl& prefix, bool direct) {
  ObjectPage all;
  do {
    Query query;
    if (!all.next.empty()) query.emplace_back("continuation-token", all.next);
    if (direct) query.emplace_back("delimiter", "/");
    query.emplace_back("list-type", "2");
    query.emplace_back("prefix", prefix.key);
    AH_LET(auto page, list_page(prefix, query));
    for (StoredObject& object : page.objects) all.objects.push_back(std::move(object));
    for (std::string& folder : page.folders) all.folders.push_back(std::move(folder));
    all.next = std::move(page.next);
  } while (!all.next.empty());
  return all;
}

Result<std::vector<StoredObject>> ObjectStore::list_first(const ObjectUrl& prefix, int most) {
  AH_LET(auto page,
         list_page(prefix, {{"list-type", "2"}, {"max-keys", std::to_string(most)}, {"prefix", prefix.key}}));
  return std::move(page.objects);
}

Result<bool> ObjectStore::has(const ObjectUrl& object, uint64_t bytes) {
  AH_LET(const auto found, list_first(object, 1));
  return !found.empty() && found[0].key == object.key && found[0].bytes == bytes;
}

Result<std::string> ObjectStore::start_of(const ObjectUrl& object, size_t bytes) {
  HttpRequest sent = get(object);
  sent.range = "0-" + std::to_string(bytes - 1);
  return send(sent);
}

Status ObjectStore::put(const ObjectUrl& object, std::string_view bytes) {
  AH_TRY(client_->send(request("PUT", object, {}, bytes)));
  return {};
}

Status ObjectStore::remove(const ObjectUrl& object) {
  AH_TRY(client_->send(request("DELETE", object, {})));
  return {};
}

Result<std::string> ObjectStore::begin_upload(const ObjectUrl& object) {
  const HttpRequest sent = request("POST", object, {{"uploads", ""}});
  AH_LET(const auto reply, send_past_stop(sent));
  auto id = upload_id(reply.body);
  if (!id) return in_reply(sent, id.error());
  return id;
}

Result<UploadedPart> ObjectStore::upload_part(const ObjectUrl& object, const std::string& id, int number,
                                              std::string_view bytes) {
  AH_LET(auto reply,
         client_->send(request("PUT", object, {{"partNumber", std::to_string(number)}, {"uploadId", id}}, bytes)));
  return UploadedPart{number, std::move(reply.etag)};
}

Result<std::vector<UploadedPart>> ObjectStore::parts_of(const ObjectUrl& object, const std::string& id) {
  std::vector<UploadedPart> parts;
  std::string next;
  do {
    Query query;
    if (!next.empty()) query.emplace_back("part-number-marker", next);
    query.emplace_back("uploadId", id);
    const HttpRequest sent = request("GET", object, query);
    AH_LET(const auto body, send(sent));
    auto page = part_page(body);
    if (!page) return in_reply(sent, page.error());
    for (UploadedPart& part : page->parts) parts.push_back(std::move(part));
    next = std::move(page->next);
  } while (!next.empty());
  return parts;
}

Status ObjectStore::complete_upload(const ObjectUrl& object, const std::string& id,
                                    const std::vector<UploadedPart>& parts, uint64_t bytes) {
  const std::string text = parts_text(parts);
  const auto body = send(request("POST", object, {{"uploadId", id}}, text));
  if (!body && is_missing()) {
    AH_LET(const auto is_complete, has(object, bytes));
    if (is_complete) return {};
  }
  if (!body) return body.error();
  // A server that begins its reply before the work is done reports a failure with status 200.
  const std::string reason = storage_error(*body);
  if (!reason.empty()) return Error{Code::io, object.text() + ": the upload is not complete: " + reason};
  return {};
}

Status ObjectStore::abort_upload(const ObjectUrl& object, const std::string& id) {
  AH_TRY(send_past_stop(request("DELETE", object, {{"uploadId", id}})));
  return {};
}

Result<std::vector<PendingUpload>> ObjectStore::pending_uploads(const ObjectUrl& prefix) {
  std::vector<PendingUpload> uploads;
  UploadPage page;
  do {
    Query query;
    if (!page.next_key.empty()) query.emplace_back("key-marker", page.next_key);
    query.emplace_back("prefix", prefix.key);
    if (!page.next_id.empty()) query.emplace_back("upload-id-marker", page.next_id);
    query.emplace_back("uploads", "");
    HttpRequest sent = request("GET", {prefix.bucket, ""}, query);
    sent.shown = prefix.text();
    AH_LET(const auto body, send(sent));
    auto next = upload_page(body);
    if (!next) return in_reply(sent, next.error());
    page = *std::move(next);
    for (PendingUpload& upload : page.uploads) uploads.push_back(std::move(upload));
  } while (!page.next_key.empty());
  return uploads;
}

}  // namespace actorhost
