#pragma once
// Parses the address of a page from a flag.

#include <string>

#include "host/cluster/place/endpoint.hpp"

namespace actorhost {

inline constexpr const char* kPageAddress = "127.0.0.1:8787";

/// Accepts "8787", a port on 127.0.0.1, and "HOST:PORT"; port 0: the system chooses. Code::bad_argument.
Result<Endpoint> parse_page_address(const std::string& text);

}  // namespace actorhost
