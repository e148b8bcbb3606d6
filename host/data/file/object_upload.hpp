#pragma once
// Writes an object of an object storage in pieces, with the memory of one part. The object appears at `close`,
// complete, and replaces an object of its name; without `close` nothing changes. An object of up to one part is one
// request.
//
// A staged upload does not appear at `close`, but when another process completes it: the parts of a `save` appear when
// the save is complete (host/mapreduce/files/object_save.hpp).

#include <memory>
#include <string>
#include <vector>

#include "host/data/file/byte_sink.hpp"
#include "host/data/file/object_store.hpp"

namespace actorhost {

class ObjectUpload final : public ByteSink {
 public:
  /// `staged`: the upload does not appear at `close`.
  static Result<std::unique_ptr<ObjectUpload>> begin(const std::string& url, bool staged = false);
  /// Aborts an upload without `close`.
  ~ObjectUpload() override;

  Status write(std::span<const std::byte> bytes) override;
  Status close() override;
  /// Of a closed staged upload, for ObjectStore::complete_upload; empty if no byte was written.
  const std::string& id() const noexcept { return id_; }

 private:
  ObjectUpload(ObjectStore store, ObjectUrl object, bool staged)
      : store_(std::move(store)), object_(std::move(object)), staged_(staged) {}
  Status send_part();

  ObjectStore store_;
  const ObjectUrl object_;
  const bool staged_;
  std::string id_;      // of the upload in parts, from its first part on
  std::string buffer_;  // the next part
  std::vector<UploadedPart> parts_;
  uint64_t sent_bytes_ = 0;  // of parts_
  bool closed_ = false;
};

}  // namespace actorhost
