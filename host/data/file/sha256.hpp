#pragma once
// SHA-256 of bytes, in one piece or in several. One thread at a time.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <sodium.h>

namespace actorhost {

class Sha256 {
 public:
  Sha256() { crypto_hash_sha256_init(&state_); }
  void add(std::span<const std::byte> bytes) {
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  /// 64 hexadecimal digits, as sha256sum prints them. Call once, after all bytes.
  std::string hex() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> sum{};
    std::array<char, 2 * crypto_hash_sha256_BYTES + 1> text{};
    crypto_hash_sha256_final(&state_, sum.data());
    sodium_bin2hex(text.data(), text.size(), sum.data(), sum.size());
    return text.data();
  }

 private:
  crypto_hash_sha256_state state_{};
};

inline std::string sha256_of(std::string_view bytes) {
  Sha256 sum;
  sum.add(std::as_bytes(std::span(bytes)));
  return sum.hex();
}

}  // namespace actorhost
