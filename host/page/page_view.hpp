#pragma once
// Builds the message of a page from the state of a run. A run of a few nodes is shown whole; for many nodes the message
// holds a window of them and aggregates over all. The size of a message does not grow with the run. Pure functions;
// thread-safe.

#include <compare>
#include <string>

#include <nlohmann/json.hpp>

namespace actorhost {

inline constexpr size_t kWindowNodes = 64;   // nodes in one message
inline constexpr size_t kNotableNodes = 16;  // lost, silent or straggling nodes outside the window

/// The view that a viewer has chosen.
struct PageView {
  size_t offset = 0;        // first node of the window, in the order of `sort`
  std::string sort = "id";  // id, state, step (slowest first), ahead, wait, updates, sent, host
  auto operator<=>(const PageView&) const = default;
};

/// The message for a view, in the form that host/page/README.md describes.
nlohmann::json page_message(const nlohmann::json& state, const PageView& view);

}  // namespace actorhost
