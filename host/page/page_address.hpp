#pragma once
// The address of a page, as flags give it.

#include <string>

#include "host/cluster/endpoint.hpp"

namespace actorhost {

inline constexpr const char* kPageAddress = "127.0.0.1:8787";

/// "8787", a port of this machine only, and "HOST:PORT"; port 0: the system chooses. Code::bad_argument.
Result<Endpoint> parse_page_address(const std::string& text);

}  // namespace actorhost
