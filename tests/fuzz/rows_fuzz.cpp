// Reads bytes from outside as rows of map-reduce. The first byte chooses the form: rows sent by another process, a
// packed block of a file, or a part of a file of JSON lines or CSV, with its limits in the next two bytes. A row read
// from text can be decoded; a row of JSON can be written as JSON again.

#include <cstdlib>
#include <string>

#include "host/mapreduce/files/csv_rows.hpp"
#include "host/mapreduce/files/json_rows.hpp"
#include "host/mapreduce/files/value_text.hpp"
#include "host/mapreduce/rows/block_packing.hpp"
#include "host/mapreduce/rows/flat_table.hpp"
#include "host/mapreduce/rows/key.hpp"
#include "host/mapreduce/rows/pair_rows.hpp"
#include "host/mapreduce/rows/value_hash.hpp"
#include "host/wire/value_check.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace {

using namespace actorhost;

void inspect(const RowValue& value) {
  std::string out;
  bool first = true;
  RowValue a;
  RowValue b;
  (void)describe(value);
  (void)append_csv(out, value, ',', first, true);
  if (is_record(value)) (void)append_csv_record(out, value, ',', {"a", "b"});
  if (value.kind() != RowTag::value) return;
  (void)value_hash(value.text());
  FlatTable flat;
  if (FlatReader().read(value.text(), flat) != 0 && flat.count > kFlatValues) std::abort();
  for (uint32_t i = 0; i < flat.count; ++i) {
    if (flat.values[i].kind() == RowTag::text) (void)append_text(out, flat.values[i]);
  }
  if (split_pair(value, a, b)) (void)append_text(out, b);
}

void read_rows(std::string_view bytes) {
  RowReader reader(bytes);
  for (RowReader::Row row; reader.next(row);) {
    inspect(row.first);
    if (row.pair) inspect(row.second);
    std::string again;
    RowWriter(again).value(row.first);
    RowReader::Row back;
    if (!RowReader(again).next(back) || back.key_tag() != row.key_tag()) std::abort();
  }
}

void read_packed(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const uint64_t raw = static_cast<uint8_t>(bytes[0]) | uint64_t{static_cast<uint8_t>(bytes[1])} << 8;
  const auto block = unpack_block(Blob::copy_of(bytes.substr(2)), raw);
  if (block && block->size() != raw) std::abort();
}

struct TextFile {
  std::unique_ptr<TextInput> part(uint64_t begin, uint64_t end) const {
    auto input = TextInput::open_part(path, begin, end, size);
    if (!input.ok()) std::abort();
    return std::move(*input);
  }

  const std::string& path;
  const uint64_t size;
};

void read_all(RowSource& rows, bool json) {
  RowBatch batch;
  while (rows.next(batch).ok() && batch.count != 0) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      const RowValue& value = batch.first[i];
      if (value.kind() == RowTag::value && !check_value(value.text()).ok()) std::abort();
      inspect(value);
      std::string text;
      if (json && !append_json(text, value).ok()) std::abort();
    }
  }
}

void read_json(const TextFile& text, uint64_t begin, uint64_t end) {
  read_all(*json_rows(text.part(begin, end), "rows.jsonl", [](const Error&) { return true; }), true);
}

void read_csv(const TextFile& text, uint64_t begin, uint64_t end, const CsvFormat& format) {
  auto start = begin > 0 ? text.part(0, text.size) : nullptr;
  auto rows = csv_rows(text.part(begin, end), "rows.csv", format, std::move(start), [](const Error&) { return true; });
  if (rows.ok()) read_all(**rows, false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const unsigned form = data[0] % 6;
  if (form == 0) return read_rows(bytes), 0;
  if (form == 1) return read_packed(bytes), 0;
  const TextFile text{memory_file(bytes), bytes.size()};
  const uint64_t begin = std::min<uint64_t>(data[1], bytes.size());
  const uint64_t end = data[2] == 255 ? bytes.size() : std::min<uint64_t>(begin + data[2], bytes.size());
  switch (form) {
    case 2: read_json(text, begin, end); break;
    case 3: read_csv(text, begin, end, {}); break;
    case 4: read_csv(text, begin, end, {.separator = ';', .header = true, .missing = "\x02", .whole = true}); break;
    default:
      read_csv(text, begin, end, {.names = {"a", "b"}, .kind = CsvKind::number, .kinds = {{"b", CsvKind::text}}});
  }
  return 0;
}
