#pragma once
// From the state of a run to what one page shows of it: all that is there for a run of a few nodes; for many nodes a
// window of them, and aggregates over all. The size of a message does not grow with the run. Pure functions, any
// thread.

#include <compare>
#include <string>

#include <nlohmann/json.hpp>

namespace actorhost {

inline constexpr size_t kWindowNodes = 64;   // nodes in one message
inline constexpr size_t kNotableNodes = 16;  // lost, silent or straggling ones, wherever they are

/// What one viewer looks at.
struct PageView {
  size_t offset = 0;        // the first node of the window, in the order
  std::string sort = "id";  // id, state, step (who is behind first), ahead, wait, updates, sent, host
  auto operator<=>(const PageView&) const = default;
};

/// The message for a view, in the form that host/page/README.md describes.
nlohmann::json page_message(const nlohmann::json& state, const PageView& view);

}  // namespace actorhost
