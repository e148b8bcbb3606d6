#include "tests/integration/s3_server.hpp"

#include <poll.h>
#include <sodium.h>
#include <sys/time.h>

#include "tests/host/net/raw_socket.hpp"

namespace actorhost::test {

namespace {

using Fields = std::map<std::string, std::string>;

std::string hex_of(std::string_view bytes) {
  std::string text(2 * bytes.size() + 1, 0);
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  text.pop_back();
  return text;
}

std::string hash_of(std::string_view bytes) {
  std::string sum(crypto_hash_sha256_BYTES, 0);
  crypto_hash_sha256(reinterpret_cast<unsigned char*>(sum.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size());
  return hex_of(sum);
}

std::string mac_of(std::string_view key, std::string_view text) {
  crypto_auth_hmacsha256_state state;
  std::string mac(crypto_auth_hmacsha256_BYTES, 0);
  crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char*>(key.data()), key.size());
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(mac.data()));
  return mac;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 2 >= text.size()) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return out;
}

std::string encoded(std::string_view text, bool keeps_slash) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("-._~").find(c) != std::string_view::npos || (keeps_slash && c == '/')) {
      out += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += code;
    }
  }
  return out;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::string xml_of(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

std::string tag(const std::string& name, const std::string& text) {
  return "<" + name + ">" + text + "</" + name + ">";
}

std::string etag_of(const std::string& bytes) { return '"' + hash_of(bytes).substr(0, 32) + '"'; }

}  // namespace

struct S3Server::Request {
  std::string method;
  std::string target;
  std::string path;  // decoded
  Fields query;      // decoded
  Fields headers;    // by names in lower case
  std::string body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found != headers.end() ? found->second : "";
  }
  bool has(const std::string& name) const { return query.contains(name); }
  std::string value(const std::string& name) const { return has(name) ? query.at(name) : ""; }
  std::string signature_error() const;
};

struct S3Server::Reply {
  int status = 200;
  std::string body = {};
  std::string headers = {};

  static Reply error(int status, const std::string& code) {
    return {status, "<?xml version=\"1.0\"?><Error>" + tag("Code", code) +
                        tag("Message", "The test says " + code + ".") + "</Error>"};
  }
};

/// The code of the error; empty for a valid signature.
std::string S3Server::Request::signature_error() const {
  const std::string given = header("authorization");
  const auto field = [&](const std::string& name) {
    const size_t at = given.find(name + "=");
    if (at == std::string::npos) return std::string();
    const size_t begin = at + name.size() + 1;
    return given.substr(begin, given.find_first_of(", ", begin) - begin);
  };
  if (!given.starts_with("AWS4-HMAC-SHA256 ")) return "AccessDenied";
  const auto scope = split(field("Credential"), '/');
  if (scope.size() != 5 || scope[0] != kAccessKey) return "InvalidAccessKeyId";
  const std::string date = header("x-amz-date");
  if (scope[2] != kRegion || scope[3] != "s3" || date.substr(0, 8) != scope[1]) return "AuthorizationHeaderMalformed";
  if (header("x-amz-security-token") != kToken) return "InvalidToken";
  if (header("x-amz-content-sha256") != hash_of(body)) return "XAmzContentSHA256Mismatch";
  std::string canonical = method + "\n" + encoded(path, true) + "\n";
  std::string parameters;
  for (const auto& [name, text] : query) {
    parameters += (parameters.empty() ? "" : "&") + encoded(name, false) + "=" + encoded(text, false);
  }
  canonical += parameters + "\n";
  for (const std::string& name : split(field("SignedHeaders"), ';')) canonical += name + ":" + header(name) + "\n";
  for (const char* name : {"host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"}) {
    if ((";" + field("SignedHeaders") + ";").find(";" + std::string(name) + ";") == std::string::npos)
      return "AccessDenied";
  }
  canonical += "\n" + field("SignedHeaders") + "\n" + header("x-amz-content-sha256");
  const std::string of = scope[1] + "/" + scope[2] + "/s3/aws4_request";
  const std::string text = "AWS4-HMAC-SHA256\n" + date + "\n" + of + "\n" + hash_of(canonical);
  const std::string key =
      mac_of(mac_of(mac_of(mac_of(std::string("AWS4") + kSecretKey, scope[1]), scope[2]), "s3"), "aws4_request");
  return hex_of(mac_of(key, text)) == field("Signature") ? "" : "SignatureDoesNotMatch";
}

S3Server::S3Server(std::string bucket) : bucket_(std::move(bucket)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = RawSocket::loopback(0);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || ::bind(listener_, any, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, any, &size) != 0) {
    throw std::runtime_error("the test's object storage cannot listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

S3Server::~S3Server() {
  quit_ = true;
  thread_.join();
  for (std::thread& one : threads_) one.join();
  ::close(listener_);
}

std::string S3Server::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void S3Server::set_variables(JobFolder& folder) const {
  folder.set("AWS_ENDPOINT_URL_S3", "");
  folder.set("AWS_ENDPOINT_URL", url());
  folder.set("AWS_ACCESS_KEY_ID", kAccessKey);
  folder.set("AWS_SECRET_ACCESS_KEY", kSecretKey);
  folder.set("AWS_SESSION_TOKEN", kToken);
  folder.set("AWS_REGION", kRegion);
}

void S3Server::put(const std::string& key, std::string bytes) {
  const std::lock_guard lock(mutex_);
  objects_[key] = std::move(bytes);
}

std::map<std::string, std::string> S3Server::objects() const {
  const std::lock_guard lock(mutex_);
  return objects_;
}

std::vector<std::string> S3Server::uploads() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [id, upload] : uploads_) keys.push_back(upload.key);
  return keys;
}

void S3Server::fail(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

std::vector<std::string> S3Server::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void S3Server::set_page(size_t objects) {
  const std::lock_guard lock(mutex_);
  page_ = objects;
}

void S3Server::serve() {
  while (!quit_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    ++connections_;
    const timeval pause{0, 50'000};
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
    threads_.emplace_back([this, connection] {
      converse(connection);
      ::close(connection);
    });
  }
}

/// Answers the requests of a connection until the client closes it.
void S3Server::converse(int connection) {
  std::string bytes;
  const auto receive = [&](const auto& is_enough) {
    char piece[65536];
    while (!is_enough()) {
      const ssize_t got = ::recv(connection, piece, sizeof piece, 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR) && !quit_) continue;
      if (got <= 0) return false;
      bytes.append(piece, static_cast<size_t>(got));
    }
    return true;
  };
  for (;;) {
    if (!receive([&] { return bytes.find("\r\n\r\n") != std::string::npos; })) return;
    Request request;
    const size_t end = bytes.find("\r\n\r\n");
    std::istringstream head(bytes.substr(0, end));
    bytes.erase(0, end + 4);
    std::string line;
    head >> request.method >> request.target;
    std::getline(head, line);
    while (std::getline(head, line)) {
      const size_t colon = line.find(':');
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      const size_t begin = line.find_first_not_of(' ', colon + 1);
      request.headers[name] = line.substr(begin, line.find_last_not_of(" \r") + 1 - begin);
    }
    const size_t mark = std::min(request.target.find('?'), request.target.size());
    request.path = decoded(request.target.substr(0, mark));
    for (const std::string& one : split(request.target.substr(std::min(mark + 1, request.target.size())), '&')) {
      request.query[decoded(one.substr(0, one.find('=')))] =
          decoded(one.substr(std::min(one.find('=') + 1, one.size())));
    }
    if (!request.header("expect").empty()) (void)!::send(connection, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
    const std::string announced = request.header("content-length");
    const size_t size = announced.empty() ? 0 : std::stoul(announced);
    if (!receive([&] { return bytes.size() >= size; })) return;
    request.body = bytes.substr(0, size);
    bytes.erase(0, size);
    if (!answer(connection, request)) return;
  }
}

/// Returns whether the connection stays open.
bool S3Server::answer(int connection, const Request& request) {
  Reply reply;
  size_t most = std::string::npos;
  {
    const std::lock_guard lock(mutex_);
    const auto fault = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& one) {
      return one.times > 0 && one.method == request.method && request.target.find(one.part) != std::string::npos;
    });
    if (fault != faults_.end()) --fault->times;
    const std::string wrong = request.signature_error();
    if (wrong.empty()) requests_.push_back(request.method + " " + request.target + " " + request.header("range"));
    if (fault != faults_.end() && fault->status != 0) {
      reply = Reply::error(fault->status, fault->code);
    } else {
      reply = wrong.empty() ? reply_to(request) : Reply::error(403, wrong);
      if (fault != faults_.end()) most = fault->bytes == std::string::npos ? 0 : fault->bytes;
    }
  }
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) +
                     " X\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\n" + reply.headers + "\r\n";
  if (most == 0) text.clear();
  text += reply.body.substr(0, most);
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  if (most == std::string::npos) return true;
  ::shutdown(connection, SHUT_RDWR);
  return false;
}

S3Server::Reply S3Server::reply_to(const Request& request) {
  const size_t slash = std::min(request.path.find('/', 1), request.path.size());
  if (request.path.substr(1, slash - 1) != bucket_) return Reply::error(404, "NoSuchBucket");
  const std::string key = request.path.substr(std::min(slash + 1, request.path.size()));
  if (key.empty() && request.has("uploads")) return list_uploads(request);
  if (key.empty()) return list(request);
  if (request.method == "POST" && request.has("uploads")) return begin_upload(key);
  if (request.has("uploadId")) return of_upload(request, key, request.value("uploadId"));
  return of_object(request, key);
}

S3Server::Reply S3Server::list(const Request& request) const {
  if (request.value("list-type") != "2") return Reply::error(400, "InvalidArgument");
  const std::string prefix = request.value("prefix");
  const size_t most = request.has("max-keys") ? std::min(page_, std::stoul(request.value("max-keys"))) : page_;
  std::string out;
  std::string last;
  size_t count = 0;
  bool more = false;
  for (auto at = objects_.upper_bound(request.value("continuation-token")); at != objects_.end(); ++at) {
    if (!at->first.starts_with(prefix)) continue;
    more = count == most;
    if (more) break;
    ++count;
    last = at->first;
    const size_t slash = at->first.find('/', prefix.size());
    if (request.has("delimiter") && slash != std::string::npos) {
      const std::string folder = at->first.substr(0, slash + 1);
      out += tag("CommonPrefixes", tag("Prefix", xml_of(folder)));
      last = folder + '\xff';  // after all keys in the folder
      at = std::prev(objects_.upper_bound(last));
      continue;
    }
    out += tag("Contents", tag("Key", xml_of(last)) + tag("Size", std::to_string(at->second.size())));
  }
  out += tag("IsTruncated", more ? "true" : "false");
  if (more) out += tag("NextContinuationToken", xml_of(last));
  return {200, "<?xml version=\"1.0\"?>" + tag("ListBucketResult", out)};
}

S3Server::Reply S3Server::of_object(const Request& request, const std::string& key) {
  if (request.method == "PUT") {
    objects_[key] = request.body;
    return {200, "", "ETag: " + etag_of(request.body) + "\r\n"};
  }
  if (request.method == "DELETE") {
    objects_.erase(key);
    return {204};
  }
  const auto found = objects_.find(key);
  if (found == objects_.end()) return Reply::error(404, "NoSuchKey");
  const std::string& bytes = found->second;
  const std::string etag = "ETag: " + etag_of(bytes) + "\r\nAccept-Ranges: bytes\r\n";
  const std::string range = request.header("range");
  if (range.empty()) return {200, bytes, etag};
  const size_t begin = std::stoul(range.substr(range.find('=') + 1));
  const std::string to = range.substr(range.find('-') + 1);
  const std::string total = "/" + std::to_string(bytes.size()) + "\r\n";
  if (begin >= bytes.size()) return {416, "", "Content-Range: bytes *" + total};
  const size_t end = std::min(to.empty() ? bytes.size() : std::stoul(to) + 1, bytes.size());
  return {206, bytes.substr(begin, end - begin),
          etag + "Content-Range: bytes " + std::to_string(begin) + "-" + std::to_string(end - 1) + total};
}

S3Server::Reply S3Server::begin_upload(const std::string& key) {
  const std::string id = "upload/+=" + std::to_string(next_upload_++) + std::string(120, 'x');
  uploads_[id].key = key;
  return {200, tag("InitiateMultipartUploadResult", tag("UploadId", id))};
}

S3Server::Reply S3Server::of_upload(const Request& request, const std::string& key, const std::string& id) {
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || found->second.key != key) return Reply::error(404, "NoSuchUpload");
  auto& parts = found->second.parts;
  if (request.method == "PUT") {
    parts[std::stoi(request.value("partNumber"))] = request.body;
    return {200, "", "ETag: " + etag_of(request.body) + "\r\n"};
  }
  if (request.method == "GET") {
    const int after = request.has("part-number-marker") ? std::stoi(request.value("part-number-marker")) : 0;
    const auto next = parts.upper_bound(after);
    std::string out;  // pages of one part
    if (next != parts.end()) {
      out = tag("Part", tag("PartNumber", std::to_string(next->first)) + tag("ETag", etag_of(next->second)));
      if (std::next(next) != parts.end()) {
        out += tag("IsTruncated", "true") + tag("NextPartNumberMarker", std::to_string(next->first));
      }
    }
    return {200, tag("ListPartsResult", out)};
  }
  if (request.method == "DELETE") {
    uploads_.erase(found);
    return {204};
  }
  std::string whole;
  std::string wanted;
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    constexpr size_t kLeastPart = size_t{5} << 20;
    if (std::next(part) != parts.end() && part->second.size() < kLeastPart) return Reply::error(400, "EntityTooSmall");
    whole += part->second;
    std::string etag = etag_of(part->second);
    wanted += tag("Part", tag("PartNumber", std::to_string(part->first)) + tag("ETag", etag));
  }
  std::string given = request.body;
  for (size_t at = given.find("&quot;"); at != std::string::npos; at = given.find("&quot;")) given.replace(at, 6, "\"");
  if (given != tag("CompleteMultipartUpload", wanted)) return Reply::error(400, "InvalidPart");
  objects_[key] = whole;
  uploads_.erase(found);
  return {200, "<?xml version=\"1.0\"?>" + tag("CompleteMultipartUploadResult", tag("Key", xml_of(key)))};
}

S3Server::Reply S3Server::list_uploads(const Request& request) const {
  std::string out;
  const std::string after = request.value("upload-id-marker");
  for (auto at = uploads_.upper_bound(after); at != uploads_.end(); ++at) {  // pages of one upload
    if (!at->second.key.starts_with(request.value("prefix"))) continue;
    out = tag("Upload", tag("Key", xml_of(at->second.key)) + tag("UploadId", at->first));
    if (std::next(at) != uploads_.end()) {
      out += tag("IsTruncated", "true") + tag("NextKeyMarker", xml_of(at->second.key)) +
             tag("NextUploadIdMarker", at->first);
    }
    break;
  }
  return {200, tag("ListMultipartUploadsResult", out)};
}

}  // namespace actorhost::test
