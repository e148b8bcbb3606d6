#include "host/data/file/http_transfer.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "host/data/file/object_xml.hpp"

namespace actorhost {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;  // further bytes wait in the connection
constexpr size_t kMostErrorBytes = size_t{64} << 10;
constexpr int kPollMilliseconds = 100;
constexpr double kConnectSeconds = 10;
constexpr long kRedirections = 10;
constexpr long kFirstMoved = 300;
constexpr long kFirstError = 400;
constexpr unsigned kFirstToSign = 0x075700;  // 7.87.0: earlier versions ignore the hash of a body

/// The file of certificates, found in the same way as by the command `curl`; empty for the system's.
std::string ca_file_of(const HttpOptions& options) {
  if (!options.ca_file.empty()) return options.ca_file;
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* file = std::getenv(name);
    if (file != nullptr && *file != 0) return file;
  }
  return {};
}

bool is_busy(long status) {
  constexpr std::array kBusy = {429L, 500L, 502L, 503L, 504L};
  return std::find(kBusy.begin(), kBusy.end(), status) != kBusy.end();
}

bool is_lost_connection(CURLcode code) {
  constexpr std::array kLost = {CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR,
                                CURLE_HTTP2,       CURLE_HTTP2_STREAM, CURLE_HTTP3};
  return std::find(kLost.begin(), kLost.end(), code) != kLost.end();
}

}  // namespace

HttpTransfer::~HttpTransfer() {
  if (easy_) curl_.multi_remove_handle(connections_, easy_.get());
}

Result<size_t> HttpTransfer::read(std::span<std::byte> out) {
  if (out.empty()) return size_t{0};
  if (!easy_) AH_TRY(start());
  while (is_refused() || used_ == buffer_.size()) {
    if (done_) return size_t{0};
    AH_TRY(receive_more());
  }
  const size_t size = std::min(out.size(), buffer_.size() - used_);
  std::memcpy(out.data(), buffer_.data() + used_, size);
  used_ += size;
  if (used_ == buffer_.size()) {
    buffer_.clear();
    used_ = 0;
    if (std::exchange(paused_, false)) curl_.easy_pause(easy_.get(), CURLPAUSE_CONT);
  }
  return size;
}

std::string HttpTransfer::header(const std::string& name) const {
  const auto found = reply_headers_.find(name);
  return found != reply_headers_.end() ? found->second : "";
}

Status HttpTransfer::start() {
  if (!curl_.load_error().empty()) return failed(curl_.load_error());
  easy_.reset(curl_.easy_init());
  if (connections_ == nullptr || !easy_) return failed("no memory for a connection");
  AH_TRY(set_request());
  if (curl_.multi_add_handle(connections_, easy_.get()) != CURLM_OK) return failed("libcurl is too old");
  return {};
}

Status HttpTransfer::set_request() {
  CURL* easy = easy_.get();
  bool refused = false;
  const auto set = [&](CURLoption option, auto value) {
    if (curl_.easy_setopt(easy, option, value) != CURLE_OK) refused = true;
  };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, request_.is_storage ? 0L : 1L);
  set(CURLOPT_MAXREDIRS, kRedirections);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "actorhost");
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(1000 * std::min(options_.seconds, kConnectSeconds)));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(options_.seconds)));
  if (const std::string file = ca_file_of(options_); !file.empty()) set(CURLOPT_CAINFO, file.c_str());
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &HttpTransfer::on_bytes);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_HEADERFUNCTION, &HttpTransfer::on_header);
  if (request_.method == "PUT" || request_.method == "POST") {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.empty() ? "" : request_.body.data());
  }
  if (request_.method != "GET") set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  if (!request_.range.empty()) set(CURLOPT_RANGE, request_.range.c_str());
  for (const std::string& header : request_.headers) {
    curl_slist* const longer = curl_.slist_append(headers_.get(), header.c_str());
    if (longer == nullptr) return failed("no memory for a connection");
    (void)headers_.release();
    headers_.reset(longer);
  }
  if (headers_) set(CURLOPT_HTTPHEADER, headers_.get());
  if (const auto& signature = request_.signature) {
    if (curl_.version_info(CURLVERSION_NOW)->version_num < kFirstToSign) {
      return failed("libcurl 7.87 or later is needed to sign requests");
    }
    set(CURLOPT_AWS_SIGV4, ("aws:amz:" + signature->region + ":s3").c_str());
    set(CURLOPT_USERNAME, signature->access_key.c_str());
    set(CURLOPT_PASSWORD, signature->secret_key.c_str());
  }
  return refused ? Status(failed("libcurl is too old")) : Status();
}

/// Receives more bytes, or the end.
Status HttpTransfer::receive_more() {
  if (options_.check) AH_TRY(options_.check());
  int running = 0;
  if (curl_.multi_perform(connections_, &running) != CURLM_OK) return failed("the transfer failed");
  if (used_ < buffer_.size() && !is_refused()) return {};
  if (running == 0) return finish();
  if (curl_.multi_poll(connections_, nullptr, 0, kPollMilliseconds, nullptr) != CURLM_OK) {
    return failed("waiting for the network failed");
  }
  return {};
}

Status HttpTransfer::finish() {
  done_ = true;
  int left = 0;
  const CURLMsg* message = curl_.multi_info_read(connections_, &left);
  const CURLcode code = message != nullptr ? message->data.result : CURLE_OK;
  if (is_refused()) {
    is_temporary_ = is_busy(status_);
    const std::string reason = request_.is_storage ? storage_error(buffer_) : "";
    return Error{Code::io, request_.shown + ": the server replied " + std::to_string(status_) +
                               (reason.empty() ? "" : ": " + reason)};
  }
  if (code == CURLE_OK) return {};
  is_temporary_ = is_lost_connection(code);
  const std::string reason = error_text_[0] != 0 ? error_text_.data() : curl_.easy_strerror(code);
  const bool is_untrusted = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
  return failed(is_untrusted ? reason + " (ca_file or CURL_CA_BUNDLE names a file of certificates to trust)" : reason);
}

Error HttpTransfer::failed(const std::string& reason) const {
  const std::string place = received_ > 0 ? ", byte " + std::to_string(received_) : "";
  const char* const what = request_.method == "GET" ? "fetched" : "written";
  return {Code::io, request_.shown + place + ": cannot be " + what + ": " + reason};
}

/// Whether the body of the reply explains an error.
bool HttpTransfer::is_refused() const noexcept { return status_ >= (request_.is_storage ? kFirstMoved : kFirstError); }

size_t HttpTransfer::on_bytes(const char* bytes, size_t one, size_t count, void* self_pointer) {
  auto* self = static_cast<HttpTransfer*>(self_pointer);
  self->curl_.easy_getinfo(self->easy_.get(), CURLINFO_RESPONSE_CODE, &self->status_);
  const size_t size = one * count;
  if (self->is_refused()) {
    self->buffer_.append(bytes, std::min(size, kMostErrorBytes - std::min(kMostErrorBytes, self->buffer_.size())));
    return size;
  }
  if (self->buffer_.size() - self->used_ >= kBufferBytes) {
    self->paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  self->buffer_.append(bytes, size);
  self->received_ += size;
  return size;
}

size_t HttpTransfer::on_header(const char* bytes, size_t one, size_t count, void* self_pointer) {
  auto* self = static_cast<HttpTransfer*>(self_pointer);
  const std::string_view line(bytes, one * count);
  self->curl_.easy_getinfo(self->easy_.get(), CURLINFO_RESPONSE_CODE, &self->status_);
  const size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {  // a redirection, or "100 Continue", comes before the reply
    self->reply_headers_.clear();
  } else if (colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const size_t begin = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
    const size_t end = line.find_last_not_of(" \t\r\n") + 1;
    self->reply_headers_[std::move(name)] = line.substr(begin, std::max(begin, end) - begin);
  }
  return line.size();
}

}  // namespace actorhost
