#include "host/net/handshake.hpp"

#include <cassert>
#include <cstring>

#include <sodium.h>

#include "host/wire/frame.hpp"

namespace actorhost {

namespace {

constexpr char kMagic[8] = {'A', 'C', 'T', 'O', 'R', 'H', 'S', 'T'};

struct Hello {
  char magic[8];
  uint16_t version;
  unsigned char shares;
  unsigned char zero[5];
  unsigned char nonce[32];
};
static_assert(sizeof(Hello) == Handshake::kHelloBytes);

struct Proof {
  unsigned char verdict;
  unsigned char zero[7];
  unsigned char mac[32];
};
static_assert(sizeof(Proof) == Handshake::kProofBytes);
static_assert(crypto_auth_BYTES == sizeof(Proof::mac));
static_assert(crypto_auth_KEYBYTES == 32);

/// The hashed data. It includes the version and `shares`, so that an attacker between the ends cannot change them.
struct Proven {
  char role[8];
  unsigned char dialler_nonce[32];
  unsigned char listener_nonce[32];
  uint32_t version;
  uint16_t dialler_shares;
  uint16_t listener_shares;
};
static_assert(sizeof(Proven) == 80);

bool all_zero(const unsigned char* bytes, size_t size) { return sodium_is_zero(bytes, size) == 1; }

void start_sodium() {
  [[maybe_unused]] const int started = sodium_init();  // idempotent and thread-safe
  assert(started >= 0);
}

std::array<unsigned char, 32> hash_of(std::string_view token) {
  std::array<unsigned char, 32> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(token.data()), token.size(),
                     nullptr, 0);
  return hash;
}

constexpr std::string_view kReading = "read-";
constexpr size_t kReadingBytes = 32;

}  // namespace

bool is_reading_token(std::string_view token) {
  return token.starts_with(kReading) && token.size() == kReading.size() + 2 * kReadingBytes &&
         token.find_first_not_of("0123456789abcdef", kReading.size()) == std::string_view::npos;
}

std::string reading_token(std::string_view token) {
  if (is_reading_token(token)) return std::string(token);
  start_sodium();
  constexpr std::string_view kPurpose = "actorhost reading token";
  const auto* purpose = reinterpret_cast<const unsigned char*>(kPurpose.data());
  const auto key = hash_of(token);
  std::array<unsigned char, kReadingBytes> bytes{};
  crypto_generichash(bytes.data(), bytes.size(), purpose, kPurpose.size(), key.data(), key.size());
  std::array<char, 2 * kReadingBytes + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  return std::string(kReading) + hex.data();
}

Handshake::Nonce Handshake::fresh_nonce() {
  start_sodium();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Handshake::Handshake(Side side, std::string_view token, const Nonce& nonce, std::string peer, bool shares)
    : side_(side), nonce_(nonce), peer_(std::move(peer)), shares_(shares) {
  start_sodium();
  key_ = hash_of(token);
  if (side_ == Side::listener) reading_key_ = hash_of(reading_token(token));
  if (side_ == Side::dialler) put_hello();
}

size_t Handshake::wanted() const noexcept {
  switch (state_) {
    case State::await_hello: return kHelloBytes;
    case State::await_proof: return kProofBytes;
    case State::proved:
    case State::failed: return 0;
  }
  return 0;
}

Status Handshake::input(std::span<const std::byte> bytes) {
  assert(bytes.size() == wanted());
  return state_ == State::await_hello ? take_hello(bytes) : take_proof(bytes);
}

Status Handshake::take_hello(std::span<const std::byte> bytes) {
  Hello hello;
  std::memcpy(&hello, bytes.data(), sizeof hello);
  if (std::memcmp(hello.magic, kMagic, sizeof kMagic) != 0) {
    return fail(peer_ + " does not answer as an actorhost");
  }
  if (hello.version != kWireVersion) {
    if (side_ == Side::listener) put_hello();  // so that the other end reports the same error
    return fail(peer_ + " speaks version " + std::to_string(hello.version) + " of the protocol, this host " +
                std::to_string(kWireVersion) + ": install the same version of actorhost on both");
  }
  if (hello.shares > 1 || !all_zero(hello.zero, sizeof hello.zero)) {
    return fail(peer_ + " does not answer as an actorhost");
  }
  peer_shares_ = hello.shares == 1;
  std::memcpy(peer_nonce_.data(), hello.nonce, sizeof hello.nonce);
  if (side_ == Side::listener) {
    put_hello();
  } else {
    put_proof(Verdict::ok);
  }
  state_ = State::await_proof;
  return {};
}

Status Handshake::take_proof(std::span<const std::byte> bytes) {
  Proof proof;
  std::memcpy(&proof, bytes.data(), sizeof proof);
  const auto right = [&] {
    const Mac expected = mac_of(side_ == Side::dialler ? Side::listener : Side::dialler);
    return proof.verdict == static_cast<unsigned char>(Verdict::ok) && all_zero(proof.zero, sizeof proof.zero) &&
           sodium_memcmp(proof.mac, expected.data(), expected.size()) == 0;
  };
  bool proves = right();
  if (!proves && side_ == Side::listener) {
    key_ = reading_key_;
    reads_only_ = proves = right();
  }
  if (!proves) {
    if (side_ == Side::listener) put_proof(Verdict::wrong_token);
    return fail("the token of " + peer_ + " differs from ours");
  }
  if (side_ == Side::listener) put_proof(Verdict::ok);
  state_ = State::proved;
  return {};
}

void Handshake::put_hello() {
  Hello hello{};
  std::memcpy(hello.magic, kMagic, sizeof kMagic);
  hello.version = kWireVersion;
  hello.shares = shares_ ? 1 : 0;
  std::memcpy(hello.nonce, nonce_.data(), nonce_.size());
  output_.append(reinterpret_cast<const char*>(&hello), sizeof hello);
}

void Handshake::put_proof(Verdict verdict) {
  Proof proof{};
  proof.verdict = static_cast<unsigned char>(verdict);
  if (verdict == Verdict::ok) {
    const Mac mac = mac_of(side_);
    std::memcpy(proof.mac, mac.data(), mac.size());
  }
  output_.append(reinterpret_cast<const char*>(&proof), sizeof proof);
}

Handshake::Mac Handshake::mac_of(Side prover) const {
  Proven proven{};
  std::memcpy(proven.role, prover == Side::dialler ? "dialler " : "listener", sizeof proven.role);
  const bool dialled = side_ == Side::dialler;
  const Nonce& dialler_nonce = dialled ? nonce_ : peer_nonce_;
  const Nonce& listener_nonce = dialled ? peer_nonce_ : nonce_;
  std::memcpy(proven.dialler_nonce, dialler_nonce.data(), dialler_nonce.size());
  std::memcpy(proven.listener_nonce, listener_nonce.data(), listener_nonce.size());
  proven.version = kWireVersion;
  proven.dialler_shares = dialled ? shares_ : peer_shares_;
  proven.listener_shares = dialled ? peer_shares_ : shares_;
  Mac mac;
  crypto_auth(mac.data(), reinterpret_cast<const unsigned char*>(&proven), sizeof proven, key_.data());
  return mac;
}

Error Handshake::fail(std::string message) {
  state_ = State::failed;
  return {Code::refused, std::move(message)};
}

}  // namespace actorhost
