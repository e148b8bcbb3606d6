#include "host/data/file/http_source.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include <curl/curl.h>
#include <dlfcn.h>

namespace actorhost {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;  // further bytes wait in the connection
constexpr int kPollMilliseconds = 100;
constexpr double kConnectSeconds = 10;
constexpr long kRedirections = 10;
constexpr long kFirstError = 400;

/// The functions of libcurl, without their prefix. libcurl is loaded for the first URL: with the thirty libraries that
/// libcurl depends on, linking it would take almost half of the start time of a process.
class Curl {
  std::string load_error_;  // declared first: the initialisers of the functions set it

 public:
  static const Curl& get() {
    static const Curl kCurl;
    return kCurl;
  }

// NOLINTNEXTLINE(bugprone-macro-parentheses): a name
#define ACTORHOST_CURL(name) decltype(&curl_##name) name = function<decltype(&curl_##name)>("curl_" #name)
  ACTORHOST_CURL(global_init);
  ACTORHOST_CURL(easy_cleanup);
  ACTORHOST_CURL(easy_getinfo);
  ACTORHOST_CURL(easy_init);
  ACTORHOST_CURL(easy_pause);
  ACTORHOST_CURL(easy_setopt);
  ACTORHOST_CURL(easy_strerror);
  ACTORHOST_CURL(multi_add_handle);
  ACTORHOST_CURL(multi_cleanup);
  ACTORHOST_CURL(multi_info_read);
  ACTORHOST_CURL(multi_init);
  ACTORHOST_CURL(multi_perform);
  ACTORHOST_CURL(multi_poll);
  ACTORHOST_CURL(multi_remove_handle);
#undef ACTORHOST_CURL

  /// The reason that libcurl is unusable; empty if it is usable.
  const std::string& load_error() const { return load_error_; }

 private:
  Curl() {
    if (load_error_.empty() && global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) load_error_ = "libcurl cannot be used";
  }
  template <class Function>
  Function function(const char* name) {
    static void* const kLibrary = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    void* const found = kLibrary != nullptr ? dlsym(kLibrary, name) : nullptr;
    if (found == nullptr && load_error_.empty())
      load_error_ = std::string("libcurl is missing (libcurl4): ") + dlerror();
    return reinterpret_cast<Function>(found);
  }
};

struct MultiDelete {
  void operator()(CURLM* multi) const noexcept { Curl::get().multi_cleanup(multi); }
};
struct EasyDelete {
  void operator()(CURL* easy) const noexcept { Curl::get().easy_cleanup(easy); }
};

/// The file of certificates, found in the same way as by the command `curl`; empty for the system's.
std::string ca_file_of(const HttpOptions& options) {
  if (!options.ca_file.empty()) return options.ca_file;
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* file = std::getenv(name);
    if (file != nullptr && *file != 0) return file;
  }
  return {};
}

class HttpSource final : public ByteSource {
 public:
  HttpSource(const std::string& url, HttpOptions options)
      : url_(url), shown_(shown_url(url)), options_(std::move(options)) {}
  ~HttpSource() override {
    if (multi_ && easy_) curl_.multi_remove_handle(multi_.get(), easy_.get());
  }

  Result<size_t> read(std::span<std::byte> out) override {
    if (out.empty()) return size_t{0};
    if (!easy_) AH_TRY(open());
    while (used_ == buffer_.size() && !done_) AH_TRY(receive_more());
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

 private:
  Status open() {
    if (!curl_.load_error().empty()) return failed(curl_.load_error());
    multi_.reset(curl_.multi_init());
    easy_.reset(curl_.easy_init());
    if (!multi_ || !easy_) return failed("no memory for a connection");
    CURL* easy = easy_.get();
    const auto set = [&](CURLoption option, auto value) {
      if (curl_.easy_setopt(easy, option, value) != CURLE_OK) refused_ = true;
    };
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kRedirections);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "actorhost");
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(1000 * std::min(options_.seconds, kConnectSeconds)));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(options_.seconds)));
    if (const std::string file = ca_file_of(options_); !file.empty()) set(CURLOPT_CAINFO, file.c_str());
    set(CURLOPT_ERRORBUFFER, error_text_.data());
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(CURLOPT_WRITEFUNCTION, &HttpSource::on_bytes);
    if (refused_ || curl_.multi_add_handle(multi_.get(), easy) != CURLM_OK) return failed("libcurl is too old");
    return {};
  }

  /// Receives more bytes, or the end.
  Status receive_more() {
    if (options_.check) AH_TRY(options_.check());
    int running = 0;
    if (curl_.multi_perform(multi_.get(), &running) != CURLM_OK) return failed("the transfer failed");
    if (used_ < buffer_.size()) return {};
    if (running == 0) return finish();
    if (curl_.multi_poll(multi_.get(), nullptr, 0, kPollMilliseconds, nullptr) != CURLM_OK) {
      return failed("waiting for the network failed");
    }
    return {};
  }

  Status finish() {
    done_ = true;
    int left = 0;
    const CURLMsg* message = curl_.multi_info_read(multi_.get(), &left);
    const CURLcode code = message != nullptr ? message->data.result : CURLE_OK;
    AH_TRY(check_status());
    if (code == CURLE_OK) return {};
    const std::string reason = error_text_[0] != 0 ? error_text_.data() : curl_.easy_strerror(code);
    const bool is_untrusted = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    return failed(is_untrusted ? reason + " (ca_file or CURL_CA_BUNDLE names a file of certificates to trust)"
                               : reason);
  }

  Status check_status() {
    long status = 0;
    curl_.easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status < kFirstError) return {};
    return Error{Code::io, shown_ + ": the server replied " + std::to_string(status)};
  }

  Error failed(const std::string& reason) const {
    const std::string place = total_ > 0 ? ", byte " + std::to_string(total_) : "";
    return {Code::io, shown_ + place + ": cannot be fetched: " + reason};
  }

  static size_t on_bytes(const char* bytes, size_t one, size_t count, void* self_pointer) {
    auto* self = static_cast<HttpSource*>(self_pointer);
    if (!self->check_status().ok()) return one * count;  // skips the body of the server's error page
    if (self->buffer_.size() - self->used_ >= kBufferBytes) {
      self->paused_ = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    self->buffer_.append(bytes, one * count);
    self->total_ += one * count;
    return one * count;
  }

  const Curl& curl_ = Curl::get();
  const std::string url_;
  const std::string shown_;
  const HttpOptions options_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::unique_ptr<CURLM, MultiDelete> multi_;
  std::unique_ptr<CURL, EasyDelete> easy_;
  std::string buffer_;
  size_t used_ = 0;  // consumed bytes of buffer_
  uint64_t total_ = 0;
  bool paused_ = false;
  bool done_ = false;
  bool refused_ = false;
};

}  // namespace

std::string shown_url(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const size_t host_end = url.find_first_of("/?#", begin + 3);
  const size_t at = url.rfind('@', host_end == std::string::npos ? url.size() : host_end);
  if (at == std::string::npos || at < begin) return url;
  return url.substr(0, begin + 3) + url.substr(at + 1);
}

std::unique_ptr<ByteSource> http_source(const std::string& url, HttpOptions options) {
  return std::make_unique<HttpSource>(url, std::move(options));
}

}  // namespace actorhost
