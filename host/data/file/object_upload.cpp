#include "host/data/file/object_upload.hpp"

#include <algorithm>
#include <string_view>

namespace actorhost {

namespace {

constexpr size_t kLeastPartBytes = size_t{8} << 20;
constexpr size_t kPartsOfOneSize = 1000;  // of the 10,000 that an upload may have
constexpr size_t kMostParts = 10'000;

/// Later parts are larger, so that an upload may have 440 GB.
size_t part_bytes(size_t parts) { return kLeastPartBytes * (1 + parts / kPartsOfOneSize); }

}  // namespace

Result<std::unique_ptr<ObjectUpload>> ObjectUpload::begin(const std::string& url, bool staged) {
  AH_LET(auto object, parse_object_url(url));
  if (object.key.empty() || object.key.ends_with('/')) {
    return Error{Code::bad_argument, "'" + url + "' names no object; s3://BUCKET/KEY is needed"};
  }
  AH_LET(auto store, ObjectStore::open());
  return std::unique_ptr<ObjectUpload>(new ObjectUpload(std::move(store), std::move(object), staged));
}

ObjectUpload::~ObjectUpload() {
  if (!closed_ && !id_.empty()) (void)store_.abort_upload(object_, id_);
}

Status ObjectUpload::write(std::span<const std::byte> bytes) {
  std::string_view left(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!left.empty()) {
    const size_t wanted = part_bytes(parts_.size());
    if (buffer_.size() == wanted) AH_TRY(send_part());
    const std::string_view taken = left.substr(0, part_bytes(parts_.size()) - buffer_.size());
    buffer_ += taken;
    left.remove_prefix(taken.size());
  }
  return {};
}

Status ObjectUpload::close() {
  if (id_.empty() && !staged_) {
    AH_TRY(store_.put(object_, buffer_));
  } else {
    if (!buffer_.empty()) AH_TRY(send_part());
    if (!staged_) AH_TRY(store_.complete_upload(object_, id_, parts_, sent_bytes_));
  }
  closed_ = true;
  return {};
}

Status ObjectUpload::send_part() {
  if (parts_.size() == kMostParts) return Error{Code::io, object_.text() + ": is too large for one object"};
  if (id_.empty()) {
    AH_LET(id_, store_.begin_upload(object_));
  }
  AH_LET(auto part, store_.upload_part(object_, id_, static_cast<int>(parts_.size() + 1), buffer_));
  parts_.push_back(std::move(part));
  sent_bytes_ += buffer_.size();
  buffer_.clear();
  return {};
}

}  // namespace actorhost
