#pragma once
// Access control of a page: checks each request first. Values only; thread-safe.

#include <optional>
#include <string>

#include "host/page/web_server.hpp"

namespace actorhost {

struct PageAccess {
  Endpoint bound;  // address of the server
  bool loopback = true;
  std::string token;               // this page's own; required if the address is not loopback
  std::string reading_token = {};  // the run's read-only token, accepted instead of `token`; empty: none

  /// The name of the cookie that carries the token.
  std::string cookie_name() const;
  /// The reason for a refusal, as a sentence; nothing when the request is allowed. Refuses a page of another site by
  /// its Host (a foreign name that points to this machine) or its Origin.
  std::optional<std::string> refusal(const WebRequest& request) const;
};

}  // namespace actorhost
