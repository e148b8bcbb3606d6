#pragma once
// The content of an http or https URL as a ByteSource, fetched through libcurl while it is read. Follows redirections
// (to http and https only), verifies certificates, and uses the proxies of the environment. A source belongs to the
// thread that reads it, which blocks on the network.

#include <functional>
#include <memory>
#include <string>

#include "host/data/file/byte_source.hpp"

namespace actorhost {

struct HttpOptions {
  double seconds = 30;  // timeout without a byte; at most 10 seconds of it for connecting
  /// Called regularly during a wait; an error ends the wait.
  std::function<Status()> check = {};
  /// PEM certificates to verify the server with; by default $CURL_CA_BUNDLE or $SSL_CERT_FILE, else the system's.
  std::string ca_file = {};
};

/// A URL for messages: without its user and password.
std::string shown_url(const std::string& url);

/// Connects at the first read, not here. Errors are Code::io with the URL (without a password): an unreachable or
/// unresponsive server, a status from 400 on, or a connection that ends before the announced length.
std::unique_ptr<ByteSource> http_source(const std::string& url, HttpOptions options = {});

}  // namespace actorhost
