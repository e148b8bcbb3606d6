#include "bindings/modules/mapreduce/mapreduce_api.hpp"

#include <cstring>
#include <string>
#include <type_traits>

#include "bindings/vm/vm.hpp"
#include "host/base/out_of_memory.hpp"
#include "host/mapreduce/rows/pair_rows.hpp"
#include "host/mapreduce/rows/sampler.hpp"
#include "host/mapreduce/rows/tuple_key.hpp"
#include "host/mapreduce/tasks/native_ops.hpp"

namespace actorhost {

namespace {

static_assert(sizeof(ah_mr_value) == sizeof(RowValue) && sizeof(ah_mr_batch) == sizeof(RowBatch));
static_assert(offsetof(ah_mr_batch, pair) == offsetof(RowBatch, pair) && sizeof(ah_mr_slot) == sizeof(CombineSlot));
static_assert(sizeof(ah_mr_sampler) == sizeof(RowSampler));
static_assert(sizeof(ah_mr_flat) == sizeof(FlatTable) && offsetof(ah_mr_flat, values) == offsetof(FlatTable, values));
static_assert(offsetof(ah_mr_slot, tag) == offsetof(CombineSlot, tag));

// ---- small streams ----

/// The rows first + step * i.
class RangeSource final : public RowSource {
 public:
  RangeSource(double first, double step, uint64_t from, uint64_t to) : first_(first), step_(step), at_(from), to_(to) {}
  Status next(RowBatch& batch) override {
    batch.count = 0;
    RowValue value;
    value.tag = static_cast<uint32_t>(RowTag::number);
    for (; at_ < to_ && batch.count < kBatchRows; ++at_) {
      value.number = first_ + step_ * static_cast<double>(at_);
      batch.add(value);
    }
    return {};
  }

 private:
  double first_;
  double step_;
  uint64_t at_;
  uint64_t to_;
};

/// Rows in one piece of memory, written first and then read.
class RowBuffer final : public TaskSink {
 public:
  Status put(const RowValue& first, const RowValue* second) override {
    RowWriter writer(bytes_);
    writer.value(first, second != nullptr);
    if (second != nullptr) writer.value(*second);
    return {};
  }
  Status finish() override { return {}; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class BufferSource final : public RowSource {
 public:
  explicit BufferSource(std::string bytes) : bytes_(std::move(bytes)), reader_(bytes_) {}
  Status next(RowBatch& batch) override {
    batch.count = 0;
    RowReader::Row row;
    while (batch.count < kBatchRows && reader_.next(row)) batch.add(row);
    return {};
  }

 private:
  std::string bytes_;
  RowReader reader_;
};

// ---- the table ----

ah_mr_source* range(ah_mr_streams* streams, double first, double step, double from, double to) {
  return streams->add(std::unique_ptr<RowSource>(
      std::make_unique<RangeSource>(first, step, static_cast<uint64_t>(from), static_cast<uint64_t>(to))));
}

ah_mr_source* needed(ah_mr_streams* streams, uint32_t k) { return streams->add(streams->place().needed(k, {})); }
ah_mr_source* results(ah_mr_streams* streams) { return streams->add(streams->place().results({})); }
ah_mr_source* results_of(ah_mr_streams* streams, uint32_t task) { return streams->add(streams->place().results(task)); }

ah_mr_sink* buffer(ah_mr_streams* streams) {
  return streams->add(std::unique_ptr<TaskSink>(std::make_unique<RowBuffer>()));
}
ah_mr_source* buffer_rows(ah_mr_streams* streams, ah_mr_sink* sink) {
  auto& rows = static_cast<RowBuffer&>(*sink->rows);
  return streams->add(std::unique_ptr<RowSource>(std::make_unique<BufferSource>(rows.take())));
}

ah_mr_batch* batch(ah_mr_source* source) { return reinterpret_cast<ah_mr_batch*>(&source->batch); }

void count_rows(ah_mr_streams* streams, double rows) { streams->count(static_cast<uint64_t>(rows)); }

int32_t next(ah_mr_streams* streams, ah_mr_source* source) {
  if (const Status status = source->rows->next(source->batch); !status) {
    streams->fail(status.error());
    return -1;
  }
  if (!source->own) streams->count(source->batch.count);
  return static_cast<int32_t>(source->batch.count);
}

ah_mr_sink* buckets(ah_mr_streams* streams, uint32_t count) {
  ah_mr_sink* sink = streams->add(streams->place().buckets(count));
  streams->set_output(sink);
  return sink;
}

ah_mr_sink* rows(ah_mr_streams* streams) { return buckets(streams, 1); }

int32_t put_row(ah_mr_streams* streams, ah_mr_sink* sink, const ah_mr_row* row) {
  const auto* first = reinterpret_cast<const RowValue*>(&row->first);
  const auto* second = row->pair != 0 ? reinterpret_cast<const RowValue*>(&row->second) : nullptr;
  if (const Status status = sink->rows->put(*first, second); !status) {
    streams->fail(status.error());
    return -1;
  }
  return 0;
}

bool parse_combine(std::string_view name, Combine& out) {
  if (name.empty()) return out = Combine::script, true;
  if (name == "sum" || name == "count") return out = Combine::sum, true;
  if (name == "min") return out = Combine::min, true;
  if (name == "max") return out = Combine::max, true;
  if (name == "row") return out = Combine::row, true;
  return false;
}

ah_mr_sink* combine(ah_mr_streams* streams, const char* native, uint32_t count) {
  Combine kind{};
  if (!parse_combine(native, kind)) {
    streams->fail({Code::bad_argument, "no native combiner '" + std::string(native) + "'"});
    return nullptr;
  }
  if (count > 0) {
    ah_mr_sink* sink = streams->add(streams->place().combine(kind, count));
    streams->set_output(sink);
    return sink;
  }
  std::unique_ptr<ScratchRows> scratch;
  ah_mr_sink* sink = streams->add(streams->place().combine_here(kind, scratch));
  if (sink != nullptr) sink->scratch = std::move(scratch);
  return sink;
}

int32_t take_value(ah_mr_streams* /*streams*/, ah_mr_sink* sink, const ah_mr_value* key) {
  return static_cast<int32_t>(static_cast<CombineSink&>(*sink->rows).take(*reinterpret_cast<const RowValue*>(key)));
}

ah_mr_slot** locate(ah_mr_streams* streams, ah_mr_sink* sink) {
  auto& combiner = static_cast<CombineSink&>(*sink->rows);
  CombineSlot** slots = combiner.locate();
  if (slots == nullptr) streams->fail(combiner.table().status().error());
  return reinterpret_cast<ah_mr_slot**>(slots);
}

int32_t set_slot(ah_mr_streams* streams, ah_mr_sink* sink, ah_mr_slot* at, const ah_mr_value* value) {
  auto& table = static_cast<CombineSink&>(*sink->rows).table();
  if (table.set_value(*reinterpret_cast<CombineSlot*>(at), *reinterpret_cast<const RowValue*>(value))) return 0;
  streams->fail(table.status().error());
  return -1;
}

int32_t tuple_array(ah_mr_streams* /*streams*/, const ah_mr_value* tuple, ah_mr_value* array) {
  static thread_local std::string bytes;
  *reinterpret_cast<RowValue*>(array) = array_of(*reinterpret_cast<const RowValue*>(tuple), bytes);
  return 0;
}

void get_slot(const ah_mr_slot* at, ah_mr_value* value) {
  const RowValue found = CombineTable::value_of(*reinterpret_cast<const CombineSlot*>(at));
  std::memcpy(value, &found, sizeof found);
}

/// A source that takes its rows from another source.
ah_mr_source* behind(ah_mr_streams* streams, const ah_mr_source* before, std::unique_ptr<RowSource> rows) {
  ah_mr_source* source = streams->add(std::move(rows));
  source->own = before->own;
  return source;
}

ah_mr_source* through(ah_mr_streams* streams, ah_mr_source* source, const char* native) {
  const std::string_view name = native;
  std::unique_ptr<RowSource> rows = std::move(source->rows);
  if (name == "pairs") return behind(streams, source, pairs_of(std::move(rows)));
  if (name == "keys") return behind(streams, source, keys_of(std::move(rows)));
  if (name == "values") return behind(streams, source, values_of(std::move(rows)));
  if (name == "words") return behind(streams, source, words_of(std::move(rows)));
  if (name == "one") return behind(streams, source, with_one(std::move(rows)));
  if (name == "tonumber") return behind(streams, source, as_numbers(std::move(rows)));
  if (name == "lower") return behind(streams, source, in_case(std::move(rows), LetterCase::lower));
  if (name == "upper") return behind(streams, source, in_case(std::move(rows), LetterCase::upper));
  streams->fail({Code::bad_argument, "no native operation '" + std::string(name) + "'"});
  return nullptr;
}

int32_t pour(ah_mr_streams* streams, ah_mr_sink* sink, ah_mr_source* source) {
  uint64_t rows = 0;
  const Status status = sink->rows->pour(*source->rows, source->batch, rows);
  if (!source->own) streams->count(rows);
  if (status) return 0;
  streams->fail(status.error());
  return -1;
}

/// The rows of a table's runs; marks each row with the previous row's key.
class MergeSource final : public RowSource {
 public:
  explicit MergeSource(CombineTable::Merge merge) : merge_(std::move(merge)) {}
  Status next(RowBatch& batch) override {
    batch.count = 0;
    bytes_.clear();
    ends_.clear();
    RowReader::Row row;
    bool same = false;
    while (ends_.size() < kBatchRows && merge_.next(row, same)) {
      bytes_.append(row.bytes());
      ends_.push_back(same);
    }
    RowReader reader(bytes_);
    while (batch.count < ends_.size() && reader.next(row)) {
      batch.add(row);
      if (ends_[batch.count - 1]) batch.pair[batch.count - 1] |= 2;
    }
    return merge_.status();
  }

 private:
  CombineTable::Merge merge_;
  std::string bytes_;  // copies: a row of the merge is valid only until the next row
  std::vector<bool> ends_;
};

ah_mr_source* combined(ah_mr_streams* streams, ah_mr_sink* sink) {
  auto& combiner = static_cast<CombineSink&>(*sink->rows);
  if (combiner.table().spilled() && combiner.by_script()) {
    auto merge = combiner.table().merge();
    if (!merge) return streams->add(Result<std::unique_ptr<RowSource>>(merge.error()));
    return streams->add_own(std::make_unique<MergeSource>(std::move(*merge)));
  }
  if (const Status status = combiner.finish(); !status) {
    return streams->add(Result<std::unique_ptr<RowSource>>(status.error()));
  }
  return streams->add_own(ScratchRows::read(std::move(sink->scratch)));
}

/// Changes the case of the matches of `m`, in `changed`.
void change_case(ah_mr_matches* m, int32_t count, std::string& changed) {
  size_t total = 0;
  for (int32_t i = 0; i < count; ++i) total += static_cast<size_t>(m->sizes[i]);
  if (changed.size() < total) changed.resize(2 * total);
  char* at = changed.data();
  // As tolower and toupper of the C locale, which Lua uses here.
  const char first = m->change == AH_MR_CHANGE_LOWER ? 'A' : 'a';
  for (int32_t i = 0; i < count; ++i) {
    const char* const from = m->bytes[i];
    m->bytes[i] = at;
    for (int64_t k = 0; k < m->sizes[i]; ++k) {
      const char c = from[k];
      *at++ = static_cast<char>(static_cast<unsigned char>(c - first) < 26 ? c ^ 0x20 : c);
    }
  }
}

int32_t match(ah_mr_streams* streams, ah_mr_matches* m) {
  const char* at = m->at;
  int32_t count = 0;
  while (count < 64) {
    while (at != m->stop && m->wanted[static_cast<uint8_t>(*at)] == 0) ++at;
    if (at == m->stop) break;
    const char* const begin = at;
    while (at != m->stop && m->wanted[static_cast<uint8_t>(*at)] != 0) ++at;
    m->bytes[count] = begin;
    m->sizes[count++] = at - begin;
  }
  m->at = at;
  if (m->change != AH_MR_CHANGE_NONE) change_case(m, count, streams->changed_matches());
  return count;
}

int32_t draw(const ah_mr_sampler* sampler, double task, double row) {
  return static_cast<int32_t>(reinterpret_cast<const RowSampler*>(sampler)->draw(task, row));
}

ah_mr_source* sample(ah_mr_streams* streams, ah_mr_source* source, const ah_mr_sampler* sampler, double task) {
  return behind(streams, source,
                sample_of(std::move(source->rows), *reinterpret_cast<const RowSampler*>(sampler), task));
}

uint32_t flat(ah_mr_streams* streams, const ah_mr_value* value, ah_mr_flat* out) {
  const std::string_view bytes(value->bytes, static_cast<size_t>(value->size));
  return streams->flat().read(bytes, *reinterpret_cast<FlatTable*>(out));
}

void flat_shape(ah_mr_streams* streams, uint32_t shape, ah_mr_value* text) {
  const std::string_view found = streams->flat().shape(shape);
  text->bytes = found.data();
  text->size = static_cast<int64_t>(found.size());
}

int32_t find_text(ah_mr_streams* streams, const char* bytes, int64_t size) {
  return streams->texts().find(bytes, static_cast<uint64_t>(size));
}
void keep_text(ah_mr_streams* streams, int32_t place, const char* bytes, int64_t size) {
  streams->texts().keep(static_cast<uint32_t>(place), bytes, static_cast<uint64_t>(size));
}

Error error_of(const std::exception& thrown) {
  const bool lacks_memory = dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr;
  const bool has_message = dynamic_cast<const OutOfMemory*>(&thrown) != nullptr;
  return {lacks_memory ? Code::full : Code::internal, lacks_memory && !has_message ? "out of memory" : thrown.what()};
}

/// Calls `Function`; an exception fails the call in the same way as the function's own errors.
template <auto Function>
struct Reporting;
template <typename R, typename... A, R (*Function)(ah_mr_streams*, A...)>
struct Reporting<Function> {
  static R call(ah_mr_streams* streams, A... arguments) {
    try {
      return Function(streams, arguments...);
    } catch (const std::exception& e) {
      streams->fail(error_of(e));
    }
    if constexpr (std::is_pointer_v<R>) {
      return nullptr;
    } else {
      return -1;
    }
  }
};
template <auto Function>
constexpr auto reporting = &Reporting<Function>::call;

constexpr ah_mapreduce_api kFunctions = {
    nullptr, reporting<mapreduce_files::split>, reporting<range>, reporting<needed>, reporting<results>,
    reporting<results_of>, reporting<buffer>, reporting<buffer_rows>, batch, count_rows, reporting<next>,
    reporting<rows>, reporting<buckets>, reporting<put_row>, reporting<combine>, reporting<take_value>,
    reporting<locate>, reporting<set_slot>, get_slot, reporting<tuple_array>, reporting<through>, reporting<pour>,
    reporting<combined>, match, draw, reporting<sample>, reporting<mapreduce_files::part>,
    reporting<mapreduce_files::part_ready>, reporting<mapreduce_files::finish_part>,
    // Wide operations.
    reporting<mapreduce_wide::needed_of>, reporting<mapreduce_wide::keyed>, reporting<mapreduce_wide::placed>,
    reporting<mapreduce_wide::into>, reporting<mapreduce_wide::sampled>, reporting<mapreduce_wide::splitters>,
    reporting<mapreduce_wide::ranges>, reporting<mapreduce_wide::put_under>, reporting<mapreduce_wide::sorter>,
    reporting<mapreduce_wide::sorted>, reporting<mapreduce_wide::groups>, reporting<mapreduce_wide::set_of>,
    // Tables.
    flat, flat_shape, reporting<mapreduce_files::row_file>, find_text, keep_text,
    // The end: a last comment keeps clang-format from giving each name a line.
};

}  // namespace

void TaskStreams::begin() {
  sources_.clear();
  sinks_.clear();
  output_ = nullptr;
  rows_in_ = 0;
  skipped_ = 0;
  failure_.reset();
}

Status TaskStreams::finish() {
  if (output_ == nullptr) return {};
  Status finished = output_->rows->finish();
  if (!finished) fail(finished.error());
  return finished;
}

uint64_t TaskStreams::bytes_in() const noexcept {
  uint64_t bytes = 0;
  for (const auto& source : sources_) {
    if (source->rows) bytes += source->rows->bytes_read();  // otherwise another source has taken its rows
  }
  return bytes;
}

constexpr uint64_t kNamed = 3;  // limit of logged skipped rows per task; all skipped rows are counted

void TaskStreams::skip(const Error& error) {
  if (++skipped_ > kNamed) return;
  place_.log().warn("map-reduce", "skipped, as on_error requires: " + error.message);
}

ah_mr_source* TaskStreams::add(Result<std::unique_ptr<RowSource>> source) {
  if (!source) {
    fail(source.error());
    return nullptr;
  }
  sources_.push_back(std::make_unique<ah_mr_source>());
  sources_.back()->rows = std::move(*source);
  return sources_.back().get();
}

ah_mr_source* TaskStreams::add_own(std::unique_ptr<RowSource> source) {
  ah_mr_source* added = add(std::move(source));
  added->own = true;
  return added;
}

ah_mr_sink* TaskStreams::add(Result<std::unique_ptr<TaskSink>> sink) {
  if (!sink) {
    fail(sink.error());
    return nullptr;
  }
  sinks_.push_back(std::make_unique<ah_mr_sink>());
  sinks_.back()->rows = std::move(*sink);
  return sinks_.back().get();
}

ah_mapreduce_api mapreduce_api(ah_mr_streams& streams) {
  ah_mapreduce_api api = kFunctions;
  api.streams = &streams;
  return api;
}

}  // namespace actorhost
