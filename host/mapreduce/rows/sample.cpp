#include "host/mapreduce/rows/sample.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace actorhost {

namespace {

/// A splitter need not be a whole key: the beginning of a long text is enough.
constexpr size_t kMostKeyBytes = 256;

struct Weight {
  uint64_t hash = 0;
  uint64_t count = 0;
};

RowValue text_of(const void* bytes, size_t size) {
  RowValue value;
  value.tag = static_cast<uint32_t>(RowTag::text);
  value.bytes = static_cast<const char*>(bytes);
  value.size = size;
  return value;
}

struct Candidate {
  RowValue key;
  uint64_t rank = 0;
  Weight weight;
};

/// The samples of several tasks.
class Samples {
 public:
  explicit Samples(SortOrder order) : order_(order), kinds_(order) {}

  Status read(RowSource& rows) {
    const auto batch = std::make_unique<RowBatch>();
    do {
      AH_TRY(rows.next(*batch));
      for (uint32_t i = 0; i < batch->count; ++i) AH_TRY(take(*batch, i));
    } while (batch->count != 0);
    return find_keys();
  }

  Status choose(uint32_t ranges, RowSink& sink) {
    std::erase_if(all_, [this](const Candidate& each) { return each.weight.hash >= below_; });
    std::sort(all_.begin(), all_.end(), [this](const Candidate& a, const Candidate& b) { return less(a, b); });
    uint64_t total = 0;
    for (const Candidate& each : all_) total += each.weight.count;
    uint64_t seen = 0;
    uint32_t chosen = 1;
    const Candidate* last = nullptr;
    for (const Candidate& each : all_) {
      const bool border = chosen < ranges && seen * ranges >= total * chosen;
      if (border && (last == nullptr || less(*last, each))) {
        AH_TRY(sink.put(each.key, nullptr));
        last = &each;
      }
      while (chosen < ranges && seen * ranges >= total * chosen) ++chosen;
      seen += each.weight.count;
    }
    return {};
  }

 private:
  Status take(const RowBatch& batch, uint32_t i) {
    Weight weight;
    if (batch.pair[i] == 0 || batch.second[i].kind() != RowTag::text || batch.second[i].size != sizeof weight) {
      return Error{Code::bad_data, "a sample of rows is broken"};
    }
    std::memcpy(&weight, batch.second[i].bytes, sizeof weight);
    if (weight.count == 0) {
      below_ = std::min(below_, weight.hash);
      return {};
    }
    const RowValue& key = batch.first[i];
    if (!kinds_.takes(key)) return kinds_.refused(key);
    RowWriter(bytes_).value(key);
    all_.push_back({{}, 0, weight});
    return {};
  }

  Status find_keys() {
    RowReader reader(bytes_);
    RowReader::Row row;
    for (Candidate& each : all_) {
      if (!reader.next(row)) return Error{Code::bad_data, "a sample of rows is broken"};
      each.key = row.first;
      each.rank = key_rank(row.first, order_);
    }
    return {};
  }

  bool less(const Candidate& a, const Candidate& b) const {
    return a.rank != b.rank ? a.rank < b.rank : compare_ties(a.key, b.key, order_) < 0;
  }

  SortOrder order_;
  KeyKinds kinds_;
  std::string bytes_;  // of the keys
  std::vector<Candidate> all_;
  uint64_t below_ = UINT64_MAX;
};

}  // namespace

void RowSample::keep(const RowValue& key, uint64_t hash) {
  Sampled& sampled = rows_[hash];
  if (sampled.count++ != 0) return;
  RowValue cut = key;
  if (cut.kind() == RowTag::text) cut.size = std::min<uint64_t>(cut.size, kMostKeyBytes);
  // A value that cannot be a key causes an error later; the message needs only its kind.
  if (cut.kind() == RowTag::value) cut.size = 0;
  RowWriter(sampled.key).value(cut);
  hashes_.push(hash);
  if (rows_.size() <= most_) return;
  below_ = hashes_.top();
  rows_.erase(below_);
  hashes_.pop();
}

Status RowSample::write(RowSink& sink) const {
  const Weight border{below_, 0};
  const RowValue border_value = text_of(&border, sizeof border);
  AH_TRY(sink.put(RowValue{}, &border_value));
  for (const auto& [hash, sampled] : rows_) {
    RowReader reader(sampled.key);
    RowReader::Row row;
    if (!reader.next(row)) return Error{Code::internal, "a sampled row is broken"};
    const Weight weight{hash, sampled.count};
    const RowValue value = text_of(&weight, sizeof weight);
    AH_TRY(sink.put(row.first, &value));
  }
  return {};
}

Status choose_splitters(RowSource& samples, uint32_t ranges, SortOrder order, RowSink& sink) {
  Samples all(order);
  AH_TRY(all.read(samples));
  return all.choose(ranges, sink);
}

}  // namespace actorhost
