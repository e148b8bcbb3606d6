#pragma once
// The XML of an object storage's replies (the interface of Amazon S3). Any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

struct StoredObject {
  std::string key;
  uint64_t bytes = 0;
};

/// A page of a list of objects, or of uploads that are not complete.
struct ObjectPage {
  std::vector<StoredObject> objects;
  std::vector<std::string> folders;  // beginnings that keys share, up to the delimiter (CommonPrefixes)
  std::string next;                  // names the next page; empty at the last
};

struct PendingUpload {
  std::string key;
  std::string id;
};

struct UploadPage {
  std::vector<PendingUpload> uploads;
  std::string next_key, next_id;  // name the next page; empty at the last
};

struct UploadedPart {
  int number = 0;  // from 1
  std::string etag;
};

struct PartPage {
  std::vector<UploadedPart> parts;
  std::string next;  // names the next page; empty at the last
};

/// "NoSuchKey: The specified key does not exist." of the reply to a failed request; empty if `body` explains nothing.
std::string storage_error(std::string_view body);

// The content of successful replies. Code::bad_data for other content.
Result<ObjectPage> object_page(std::string_view body);
Result<UploadPage> upload_page(std::string_view body);
Result<PartPage> part_page(std::string_view body);
Result<std::string> upload_id(std::string_view body);

/// The request that completes an upload.
std::string parts_text(const std::vector<UploadedPart>& parts);

}  // namespace actorhost
