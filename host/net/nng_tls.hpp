#pragma once
// The TLS settings of NNG's streams, from the user's files. Free functions, any thread; they read files.

#include <memory>
#include <string>

#include "host/base/result.hpp"
#include "host/net/byte_stream.hpp"

struct nng_tls_config;

namespace actorhost {

struct TlsConfigFree {
  void operator()(nng_tls_config* config) const;
};
using TlsConfig = std::unique_ptr<nng_tls_config, TlsConfigFree>;

/// "WHAT: reason", from an error of NNG.
Error io_error(Code code, const std::string& what, int error);

/// Code::bad_argument, Code::io, Code::bad_data: a file is missing, or is no certificate or key.
Result<TlsConfig> listener_tls(const TlsFiles& files);
/// As listener_tls. `host` is the name that the listener's certificate must contain.
Result<TlsConfig> dialer_tls(const TlsFiles& files, const std::string& host);

}  // namespace actorhost
