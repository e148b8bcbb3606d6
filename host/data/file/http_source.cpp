#include "host/data/file/http_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "host/base/clock.hpp"
#include "host/base/number.hpp"
#include "host/base/system_random.hpp"
#include "host/base/tasks.hpp"
#include "host/data/file/files.hpp"
#include "host/data/file/http_transfer.hpp"

namespace actorhost {

namespace {

constexpr int kMostTries = 6;  // without a byte in between
constexpr double kFirstPause = 0.2;
constexpr double kLongestPause = 30;
constexpr double kCheckSeconds = 0.05;
constexpr uint64_t kFurtherBytes = uint64_t{64} << 10;  // requested at a time beyond the end of a range
constexpr size_t kReplyBytes = size_t{64} << 10;
constexpr long kPartialContent = 206;
constexpr long kRangeNotSatisfiable = 416;

/// The total of "bytes 0-99/1000" and "bytes */1000".
std::optional<uint64_t> total_of(const std::string& content_range) {
  return number_of<uint64_t>(std::string_view(content_range).substr(content_range.rfind('/') + 1));
}

/// Waits before another try: longer after each failure, by a random part, so that nodes that failed together do not
/// return together. `wanted`: the seconds that the server asks for.
Status pause_after(int failures, const std::string& wanted, const HttpOptions& options) {
  const double random = static_cast<double>(system_random() >> 11) * 0x1p-53;
  double seconds = kFirstPause * std::exp2(failures - 1) * (0.5 + random);
  if (const auto asked = number_of<uint64_t>(wanted)) seconds = std::max(seconds, static_cast<double>(*asked));
  const SteadyClock clock;
  const double end = clock.now() + std::min(seconds, kLongestPause);
  while (clock.now() < end) {
    if (options.check) AH_TRY(options.check());
    Task::sleep(std::min(kCheckSeconds, std::max(0.0, end - clock.now())));
  }
  return {};
}

class RangedSource final : public HttpSource {
 public:
  RangedSource(HttpRequest request, HttpOptions options, const HttpRange& range)
      : request_(std::move(request)), options_(std::move(options)), range_(range), position_(range.begin) {}

  Result<size_t> read(std::span<std::byte> out) override {
    while (!out.empty() && !done_) {
      if (!transfer_) begin();
      auto got = transfer_->read(out);
      if (!got) {
        AH_TRY(retry(std::move(got).error()));
        continue;
      }
      if (!std::exchange(checked_, true)) AH_TRY(check_reply());
      position_ += *got;
      if (*got > 0) {
        failures_ = 0;
        return got;
      }
      transfer_.reset();
      done_ = !size_ || position_ >= *size_ || range_.end == HttpRange().end;
    }
    return size_t{0};
  }

  std::optional<uint64_t> size() const override { return size_; }

 private:
  /// Requests the rest of the range, or bytes beyond it.
  void begin() {
    const uint64_t last = std::max(range_.end, position_ + (position_ < range_.end ? 0 : kFurtherBytes)) - 1;
    request_.range = {};
    if (range_.end != HttpRange().end) {
      request_.range = std::to_string(position_) + "-" + std::to_string(last);
    } else if (position_ > 0) {
      request_.range = std::to_string(position_) + "-";
    }
    transfer_.emplace(connections_, request_, options_, position_);
    checked_ = false;
  }

  /// Checks that the reply has the requested bytes of an unchanged content.
  Status check_reply() {
    const bool is_part = transfer_->status() == kPartialContent;
    const bool is_packed = !transfer_->header("content-encoding").empty();
    const auto size = is_part ? total_of(transfer_->header("content-range"))
                              : number_of<uint64_t>(is_packed ? "" : transfer_->header("content-length"));
    if (!is_part && !request_.range.empty()) {
      return Error{Code::io, request_.shown +
                                 ": the server does not send parts of it, so that reading cannot begin at "
                                 "byte " +
                                 std::to_string(position_)};
    }
    if (range_.planned && size && *size != *range_.planned) return changed_file(request_.shown, *range_.planned, *size);
    const std::string etag = transfer_->header("etag");
    if (position_ > range_.begin && (etag != etag_ || size != size_)) {
      return Error{Code::bad_data, request_.shown + ": has changed while it was read"};
    }
    size_ = size;
    etag_ = etag;
    has_ranges_ = is_part || transfer_->header("accept-ranges") == "bytes";
    return {};
  }

  /// Prepares another try, or returns the error of the last.
  Status retry(Error error) {
    if (transfer_->status() == kRangeNotSatisfiable && range_.planned) {
      const auto size = total_of(transfer_->header("content-range"));
      if (size && *size != *range_.planned) return changed_file(request_.shown, *range_.planned, *size);
    }
    const bool may_continue = position_ == range_.begin || (has_ranges_ && !etag_.empty());
    if (!transfer_->is_temporary() || !may_continue || ++failures_ == kMostTries) return error;
    const std::string wanted = transfer_->header("retry-after");
    transfer_.reset();
    return pause_after(failures_, wanted, options_);
  }

  HttpRequest request_;
  const HttpOptions options_;
  const HttpRange range_;
  const HttpConnections connections_{Curl::get().load_error().empty() ? Curl::get().multi_init() : nullptr};
  std::optional<HttpTransfer> transfer_;
  uint64_t position_;  // in the whole content
  std::optional<uint64_t> size_;
  std::string etag_;
  int failures_ = 0;  // since the last byte
  bool checked_ = false;
  bool has_ranges_ = false;
  bool done_ = false;
};

}  // namespace

struct HttpClient::Connections {
  HttpConnections connections{Curl::get().load_error().empty() ? Curl::get().multi_init() : nullptr};
};

HttpClient::HttpClient(HttpOptions options)
    : options_(std::move(options)), connections_(std::make_unique<Connections>()) {}
HttpClient::~HttpClient() = default;

Result<HttpReply> HttpClient::send(const HttpRequest& request, const HttpOptions& options) {
  for (int failures = 0;;) {
    HttpTransfer transfer(connections_->connections, request, options);
    HttpReply reply;
    Status status;
    for (;;) {
      const size_t had = reply.body.size();
      reply.body.resize(had + kReplyBytes);
      auto got = transfer.read(std::as_writable_bytes(std::span(reply.body)).subspan(had));
      reply.body.resize(had + (got ? *got : 0));
      if (!got) status = std::move(got).error();
      if (!got || *got == 0) break;
    }
    status_ = transfer.status();
    reply.etag = transfer.header("etag");
    if (status.ok()) return reply;
    if (!transfer.is_temporary() || ++failures == kMostTries) return status.error();
    AH_TRY(pause_after(failures, transfer.header("retry-after"), options));
  }
}

std::string shown_url(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const size_t host_end = url.find_first_of("/?#", begin + 3);
  const size_t at = url.rfind('@', host_end == std::string::npos ? url.size() : host_end);
  if (at == std::string::npos || at < begin) return url;
  return url.substr(0, begin + 3) + url.substr(at + 1);
}

std::unique_ptr<HttpSource> http_source(HttpRequest request, HttpOptions options, const HttpRange& range) {
  return std::make_unique<RangedSource>(std::move(request), std::move(options), range);
}

}  // namespace actorhost
