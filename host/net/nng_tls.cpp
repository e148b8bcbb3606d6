#include "host/net/nng_tls.hpp"

#include <fstream>
#include <iterator>
#include <utility>

#include <nng/nng.h>
#include <nng/supplemental/tls/tls.h>

namespace actorhost {

void TlsConfigFree::operator()(nng_tls_config* config) const { nng_tls_config_free(config); }

Error io_error(Code code, const std::string& what, int error) { return {code, what + ": " + nng_strerror(error)}; }

namespace {

Result<std::string> read_pem(const std::string& path, const char* what) {
  if (path.empty()) return Error{Code::bad_argument, std::string("TLS needs a file with the ") + what};
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || text.empty()) return Error{Code::io, path + ": cannot read the " + what};
  return text;
}

Result<TlsConfig> make_tls(nng_tls_mode mode, const char* of) {
  nng_tls_config* raw = nullptr;
  if (const int error = nng_tls_config_alloc(&raw, mode)) return io_error(Code::unsupported, of, error);
  return TlsConfig(raw);
}

}  // namespace

Result<TlsConfig> listener_tls(const TlsFiles& files) {
  auto cert = read_pem(files.cert, "certificate");
  if (!cert.ok()) return cert.error();
  auto key = read_pem(files.key, "private key");
  if (!key.ok()) return key.error();
  auto config = make_tls(NNG_TLS_MODE_SERVER, "TLS");
  if (!config.ok()) return config.error();
  if (const int error = nng_tls_config_own_cert(config->get(), cert->c_str(), key->c_str(), nullptr)) {
    return io_error(Code::bad_data, files.cert + " and " + files.key + ": not a certificate and its key in PEM form",
                    error);
  }
  return config;
}

Result<TlsConfig> dialer_tls(const TlsFiles& files, const std::string& host) {
  auto ca = read_pem(files.ca, "certificate authority");
  if (!ca.ok()) return ca.error();
  auto config = make_tls(NNG_TLS_MODE_CLIENT, "TLS");
  if (!config.ok()) return config.error();
  if (const int error = nng_tls_config_ca_chain(config->get(), ca->c_str(), nullptr)) {
    return io_error(Code::bad_data, files.ca + ": not a certificate in PEM form", error);
  }
  nng_tls_config_auth_mode(config->get(), NNG_TLS_AUTH_MODE_REQUIRED);
  nng_tls_config_server_name(config->get(), host.c_str());
  return config;
}

}  // namespace actorhost
