// The FFI table "series": actor.report.

#include <memory>
#include <string>
#include <vector>

#include "bindings/modules/engine/node_modules.hpp"
#include "bindings/modules/tool/ffi_series.h"
#include "bindings/process/node_context.hpp"
#include "bindings/process/process_shared.hpp"
#include "bindings/vm/vm.hpp"

namespace actorhost {

namespace {

struct ReportedSeries {
  SeriesBook& book;
  Node& node;
  std::vector<SeriesBook::Track*> tracks = {};
  ah_series_api api = {};
};

int32_t series_track(void* node, const char* name, size_t size) noexcept {
  auto& own = *static_cast<ReportedSeries*>(node);
  SeriesBook::Track* const track = own.book.track(std::string(name, size), own.node.address());
  if (track == nullptr) return -1;
  own.tracks.push_back(track);
  return static_cast<int32_t>(own.tracks.size()) - 1;
}

void series_add(void* node, int32_t track, double step, double value) noexcept {
  auto& own = *static_cast<ReportedSeries*>(node);
  own.tracks[static_cast<size_t>(track)]->add(step, value, own.node.clock().now());
}

}  // namespace

void open_series(Vm& vm) {
  NodeContext& context = *static_cast<NodeContext*>(vm.context());
  auto own = std::make_shared<ReportedSeries>(ReportedSeries{context.shared.series, context.node});
  own->api = {own.get(), series_track, series_add};
  vm.register_ffi("series", &own->api);
  vm.own(std::move(own));
}

}  // namespace actorhost
