#pragma once
// The listening address of the page and the metrics, as users give it in --dashboard and --metrics. A pure function;
// thread-safe; does not block.

#include <string>

#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

inline constexpr const char* kPageAddress = "127.0.0.1:8787";

/// Parses "HOST:PORT", or "PORT" for a port on 127.0.0.1. For port 0 the system chooses a port. Code::bad_argument for
/// any other text.
inline Result<Endpoint> parse_page_address(const std::string& text) {
  const bool port_only = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  auto endpoint = parse_endpoint(port_only ? "127.0.0.1:" + text : text);
  if (endpoint && endpoint->scheme == Endpoint::Scheme::tcp && text.find("://") == std::string::npos) return endpoint;
  const std::string why = endpoint ? "" : " (" + endpoint.error().message + ")";
  return Error{Code::bad_argument, "a page's address is HOST:PORT or a port, as " + std::string(kPageAddress) +
                                       ", got '" + text + "'" + why};
}

}  // namespace actorhost
