#pragma once
// Builds the message of a page from the state of a run. A run of a few nodes is shown whole; for many nodes the message
// holds a window of them and aggregates over all. The size of a message does not grow with the run. Pure functions;
// thread-safe.

#include <compare>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace actorhost {

inline constexpr size_t kWindowNodes = 64;   // nodes in one message
inline constexpr size_t kNotableNodes = 16;  // lost, silent or straggling nodes outside the window
inline constexpr size_t kStreamNodes = 16;   // nodes of the window with their recent spans

/// The view that a viewer has chosen.
struct PageView {
  size_t offset = 0;        // first node of the window, in the order of `sort`
  std::string sort = "id";  // id, state, step (slowest first), ahead, wait, updates, sent, host
  std::string node = "";    // the node whose log and output are shown, "worker 3" or "server 0"; empty: none
  bool stream = false;      // with the recent spans of the first nodes of the window
  auto operator<=>(const PageView&) const = default;
};

/// The message for a view, in the form that host/page/README.md describes.
nlohmann::json page_message(const nlohmann::json& state, const PageView& view);

/// The name of a node in a view and in the name of a section: "worker 3", "server 0".
std::string node_key(const nlohmann::json& node);
/// The sections of the next state that a viewer of this message needs, besides those of each state.
std::vector<std::string> sections_for(const nlohmann::json& message, const PageView& view);

}  // namespace actorhost
