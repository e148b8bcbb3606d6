#pragma once
// What a server has under an http or https URL, as a ByteSource: fetched while it is read, through libcurl.
// Redirections are followed (to http and https only), certificates are checked, proxies are those of the environment. A
// source belongs to the thread that reads it, which blocks on the network.

#include <functional>
#include <memory>
#include <string>

#include "host/data/byte_source.hpp"

namespace actorhost {

struct HttpOptions {
  double seconds = 30;  // without a byte until it is an error; at most 10 of them for connecting
  /// Asked every so often; an error ends the wait.
  std::function<Status()> check = {};
  /// PEM certificates that a server's is checked against; without it those of $CURL_CA_BUNDLE or $SSL_CERT_FILE, else
  /// the system's.
  std::string ca_file = {};
};

/// A URL as messages show it: without a password.
std::string shown_url(const std::string& url);

/// Opens nothing yet: the first read does. Errors are Code::io with the URL (without a password): a server that cannot
/// be reached or is silent, a status from 400 on, and a connection that ends before all that was announced has come.
std::unique_ptr<ByteSource> http_source(const std::string& url, HttpOptions options = {});

}  // namespace actorhost
