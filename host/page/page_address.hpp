#pragma once
// The listening address of the page and the metrics, as users give it in --dashboard and --metrics. A pure function;
// thread-safe; does not block.

#include <string>

#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

inline constexpr const char* kPageAddress = "127.0.0.1:8787";

/// Parses "HOST:PORT", or "PORT" for a port on 127.0.0.1. For port 0 the system chooses a port. Code::bad_argument for
/// any other text.
Result<Endpoint> parse_page_address(const std::string& text);

}  // namespace actorhost
