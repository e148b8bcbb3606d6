#pragma once
// Reads the content of an http or https URL as a ByteSource. libcurl fetches the content while the caller reads it. The
// source follows redirections (to http and https only), verifies certificates, and uses the proxies of the environment.
// It belongs to the thread that reads it; reads block on the network.

#include <functional>
#include <memory>
#include <string>

#include "host/data/file/byte_source.hpp"

namespace actorhost {

struct HttpOptions {
  double seconds = 30;  // the longest time without a byte; connecting may take no longer, and 10 seconds at most
  /// Called regularly during a wait; an error ends the wait.
  std::function<Status()> check = {};
  /// PEM certificates to verify the server with; by default $CURL_CA_BUNDLE or $SSL_CERT_FILE, else the system's.
  std::string ca_file = {};
};

/// The URL without its user name and password, for messages.
std::string shown_url(const std::string& url);

/// Makes the source, which connects at the first read. Errors of the transfer are Code::io and name the shown_url: a
/// server does not reply, replies with a status from 400 on, or ends the connection before the announced length.
std::unique_ptr<ByteSource> http_source(const std::string& url, HttpOptions options = {});

}  // namespace actorhost
