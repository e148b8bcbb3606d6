#pragma once
// The listening address of the run's page, as a flag gives it. Defined in page_server.cpp. Thread-safe.

#include <string>

#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

inline constexpr const char* kPageAddress = "127.0.0.1:8787";

/// Parses "HOST:PORT", or "PORT" for a port on 127.0.0.1. For port 0 the system chooses a port. Code::bad_argument for
/// any other text.
Result<Endpoint> parse_page_address(const std::string& text);

}  // namespace actorhost
