#include <string>

#include "bindings/modules/mapreduce/mapreduce_api.hpp"
#include "host/mapreduce/rows/sample.hpp"
#include "host/mapreduce/tables/group_source.hpp"
#include "host/mapreduce/tasks/wide_sinks.hpp"

namespace actorhost::mapreduce_wide {

namespace {

template <typename Sink>
Sink& as(ah_mr_sink* sink) {
  return static_cast<Sink&>(*sink->rows);
}

int32_t outcome(TaskStreams* streams, const Status& status) {
  if (status.ok()) return 0;
  streams->fail(status.error());
  return -1;
}

ah_mr_sink* output(TaskStreams* streams, std::unique_ptr<TaskSink> sink) {
  ah_mr_sink* added = streams->add(std::move(sink));
  streams->set_output(added);
  return added;
}

ah_mr_source* failed(TaskStreams* streams, const Error& error) {
  return streams->add(Result<std::unique_ptr<RowSource>>(error));
}

SortOrder order_of(uint32_t descending) { return descending != 0 ? SortOrder::descending : SortOrder::ascending; }

/// Takes the rows of all sorters. Returns false and sets `failed` when a sorter cannot be read.
bool take_sorted(TaskStreams* streams, ah_mr_sink** sorters, uint32_t count,
                 std::vector<std::unique_ptr<SortedRows>>& out) {
  for (uint32_t i = 0; i < count; ++i) {
    auto rows = as<SorterSink>(sorters[i]).sorted();
    if (!rows) {
      failed(streams, rows.error());
      return false;
    }
    out.push_back(std::move(*rows));
  }
  return true;
}

}  // namespace

ah_mr_source* needed_of(ah_mr_streams* streams, uint32_t k, uint32_t bucket) {
  return streams->add(streams->place().needed(k, bucket));
}

ah_mr_sink* keyed(ah_mr_streams* streams, uint32_t buckets) {
  const TaskRoom at = streams->place().room();
  const BucketOptions options{buckets, KeyOf::first, at.budget.share(), &at.budget};
  return output(streams, std::make_unique<WriterSink>(options, at.output));
}

ah_mr_sink* placed(ah_mr_streams* streams, uint32_t buckets) {
  const TaskRoom at = streams->place().room();
  return output(streams, std::make_unique<PlacedSink>(buckets, at.budget.share(), &at.budget, at.output));
}

int32_t into(ah_mr_streams* streams, ah_mr_sink* sink, uint32_t bucket) {
  if (as<PlacedSink>(sink).into(bucket)) return 0;
  return outcome(streams, Error{Code::internal, "there is no bucket " + std::to_string(bucket)});
}

ah_mr_sink* sampled(ah_mr_streams* streams, uint32_t most) {
  const TaskRoom at = streams->place().room();
  return output(streams, std::make_unique<SampledSink>(most, at.budget.share(), &at.budget, at.output));
}

int32_t splitters(ah_mr_streams* streams, ah_mr_source* samples, ah_mr_sink* to, uint32_t ranges, uint32_t descending) {
  return outcome(streams, choose_splitters(*samples->rows, ranges, order_of(descending), *to->rows));
}

ah_mr_sink* ranges(ah_mr_streams* streams, ah_mr_source* splitters, uint32_t descending) {
  std::string bytes;
  for (;;) {
    if (outcome(streams, splitters->rows->next(splitters->batch)) != 0) return nullptr;
    if (splitters->batch.count == 0) break;
    for (uint32_t i = 0; i < splitters->batch.count; ++i) RowWriter(bytes).value(splitters->batch.first[i]);
  }
  auto made = KeyRanges::make(bytes, order_of(descending));
  if (!made) {
    streams->fail(made.error());
    return nullptr;
  }
  const TaskRoom at = streams->place().room();
  BucketOptions options;
  options.memory = at.budget.share();
  options.budget = &at.budget;
  return output(streams, std::make_unique<WriterSink>(options, std::move(*made), at.output));
}

int32_t put_under(ah_mr_streams* streams, ah_mr_sink* sink, const ah_mr_value* key, const ah_mr_row* row) {
  static thread_local std::string bytes;
  const auto* first = reinterpret_cast<const RowValue*>(&row->first);
  const auto* second = reinterpret_cast<const RowValue*>(&row->second);
  bytes.clear();
  RowWriter writer(bytes);
  writer.value(*first, row->pair != 0);
  if (row->pair != 0) writer.value(*second);
  RowValue inner;
  inner.tag = static_cast<uint32_t>(RowTag::text);
  inner.bytes = bytes.data();
  inner.size = bytes.size();
  const auto* under = reinterpret_cast<const RowValue*>(key);
  return outcome(streams, sink->rows->put(*under, &inner));
}

ah_mr_sink* sorter(ah_mr_streams* streams, uint32_t order, uint32_t rows, uint32_t parts) {
  const TaskRoom at = streams->place().room();
  SortOptions options;
  options.order = static_cast<SortOrder>(order);
  options.rows = rows == AH_MR_SORT_UNDER ? SortRows::inner : SortRows::row;
  options.memory = at.budget.share() / parts;
  options.budget = &at.budget;
  options.spill = &at.spill;
  return streams->add(std::unique_ptr<TaskSink>(std::make_unique<SorterSink>(options, rows == AH_MR_SORT_WHOLE)));
}

ah_mr_source* sorted(ah_mr_streams* streams, ah_mr_sink* sorter) {
  auto rows = as<SorterSink>(sorter).sorted();
  if (!rows) return failed(streams, rows.error());
  return streams->add_own(std::move(*rows));
}

ah_mr_source* groups(ah_mr_streams* streams, ah_mr_sink** sorters, uint32_t count) {
  if (count > kMostInputs) return failed(streams, {Code::bad_argument, "at most 64 datasets can be grouped together"});
  std::vector<std::unique_ptr<SortedRows>> inputs;
  if (!take_sorted(streams, sorters, count, inputs)) return nullptr;
  return streams->add_own(std::make_unique<GroupSource>(std::move(inputs)));
}

ah_mr_source* set_of(ah_mr_streams* streams, ah_mr_sink* first, ah_mr_sink* second, uint32_t operation) {
  ah_mr_sink* sorters[] = {first, second};
  std::vector<std::unique_ptr<SortedRows>> inputs;
  if (!take_sorted(streams, sorters, 2, inputs)) return nullptr;
  return streams->add(
      std::unique_ptr<RowSource>(std::make_unique<SetSource>(std::move(inputs), static_cast<SetOperation>(operation))));
}

}  // namespace actorhost::mapreduce_wide
