#pragma once
// Compresses bytes as another program would, for tests of the readers.

#include <archive.h>
#include <archive_entry.h>

#include "tests/test.hpp"

namespace actorhost {

/// `filter` is libarchive's name: "gzip", "zstd", "xz", "bzip2".
inline std::string packed(std::string_view bytes, const char* filter) {
  std::string out(bytes.size() + 65536, '\0');
  size_t used = 0;
  archive* a = archive_write_new();
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, "data");
  archive_entry_set_filetype(entry, AE_IFREG);
  REQUIRE(archive_write_set_format_raw(a) == ARCHIVE_OK);
  REQUIRE(archive_write_add_filter_by_name(a, filter) == ARCHIVE_OK);
  REQUIRE(archive_write_set_bytes_in_last_block(a, 1) == ARCHIVE_OK);
  REQUIRE(archive_write_open_memory(a, out.data(), out.size(), &used) == ARCHIVE_OK);
  REQUIRE(archive_write_header(a, entry) == ARCHIVE_OK);
  REQUIRE(archive_write_data(a, bytes.data(), bytes.size()) == static_cast<la_ssize_t>(bytes.size()));
  REQUIRE(archive_write_close(a) == ARCHIVE_OK);
  archive_entry_free(entry);
  archive_write_free(a);
  out.resize(used);
  return out;
}

}  // namespace actorhost
