#include "host/data/file/object_xml.hpp"

#include <sstream>

#include <pugixml.hpp>

namespace actorhost {

namespace {

Result<pugi::xml_document> parsed(std::string_view body, const char* root) {
  pugi::xml_document document;
  const auto outcome = document.load_buffer(body.data(), body.size());
  if (outcome && document.child(root)) return document;
  return Error{Code::bad_data, std::string("the server's reply has no ") + root};
}

std::string text_of(const pugi::xml_node& node, const char* name) { return node.child(name).text().get(); }

bool has_more(const pugi::xml_node& list) { return list.child("IsTruncated").text().as_bool(); }

}  // namespace

std::string storage_error(std::string_view body) {
  const auto document = parsed(body, "Error");
  if (!document) return "";
  const pugi::xml_node error = document->child("Error");
  const std::string message = text_of(error, "Message");
  return text_of(error, "Code") + (message.empty() ? "" : ": " + message);
}

Result<ObjectPage> object_page(std::string_view body) {
  AH_LET(const auto document, parsed(body, "ListBucketResult"));
  const pugi::xml_node list = document.child("ListBucketResult");
  ObjectPage page;
  for (const pugi::xml_node& object : list.children("Contents")) {
    page.objects.push_back({text_of(object, "Key"), object.child("Size").text().as_ullong()});
  }
  for (const pugi::xml_node& folder : list.children("CommonPrefixes"))
    page.folders.push_back(text_of(folder, "Prefix"));
  if (has_more(list)) page.next = text_of(list, "NextContinuationToken");
  return page;
}

Result<UploadPage> upload_page(std::string_view body) {
  AH_LET(const auto document, parsed(body, "ListMultipartUploadsResult"));
  const pugi::xml_node list = document.child("ListMultipartUploadsResult");
  UploadPage page;
  for (const pugi::xml_node& upload : list.children("Upload")) {
    page.uploads.push_back({text_of(upload, "Key"), text_of(upload, "UploadId")});
  }
  if (has_more(list)) {
    page.next_key = text_of(list, "NextKeyMarker");
    page.next_id = text_of(list, "NextUploadIdMarker");
  }
  return page;
}

Result<PartPage> part_page(std::string_view body) {
  AH_LET(const auto document, parsed(body, "ListPartsResult"));
  const pugi::xml_node list = document.child("ListPartsResult");
  PartPage page;
  for (const pugi::xml_node& part : list.children("Part")) {
    page.parts.push_back({part.child("PartNumber").text().as_int(), text_of(part, "ETag")});
  }
  if (has_more(list)) page.next = text_of(list, "NextPartNumberMarker");
  return page;
}

Result<std::string> upload_id(std::string_view body) {
  AH_LET(const auto document, parsed(body, "InitiateMultipartUploadResult"));
  std::string id = text_of(document.child("InitiateMultipartUploadResult"), "UploadId");
  if (id.empty()) return Error{Code::bad_data, "the server's reply has no UploadId"};
  return id;
}

std::string parts_text(const std::vector<UploadedPart>& parts) {
  pugi::xml_document document;
  pugi::xml_node upload = document.append_child("CompleteMultipartUpload");
  for (const UploadedPart& part : parts) {
    pugi::xml_node node = upload.append_child("Part");
    node.append_child("PartNumber").text().set(part.number);
    node.append_child("ETag").text().set(part.etag.c_str());
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw | pugi::format_no_declaration);
  return text.str();
}

}  // namespace actorhost
