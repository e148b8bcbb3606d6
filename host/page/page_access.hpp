#pragma once
// Who may see a page: checks of a request before anything else is done for it. Values only, any thread.

#include <optional>
#include <string>

#include "host/page/web_server.hpp"

namespace actorhost {

struct PageAccess {
  Endpoint bound;  // where the server listens
  bool loopback = true;
  std::string token;               // wanted when the address is not loopback: this page's own, or
  std::string reading_token = {};  // the run's for those who only look; empty: there is none

  /// The name of the cookie that carries the token.
  std::string cookie_name() const;
  /// Why a request is refused, as a sentence; nothing when it may be answered. A page of another site is refused by its
  /// Host (a name that was made to point here) or its Origin.
  std::optional<std::string> why_not(const WebRequest& request) const;
};

}  // namespace actorhost
