#pragma once
// The proof at the start of each connection that both ends know the token, before any frame is decoded. A state machine
// over fixed-size messages without sockets or clocks: its owner sends `output` out, and gives `input` exactly
// `wanted` bytes. PROTOCOL.md gives the bytes; in short, all numbers little-endian:
//
//   dialler:   hello  = "ACTORHST" version:u16 zero[6] nonce[32]
//   listener:  hello
//   dialler:   proof  = verdict:u8 zero[7] mac[32]      mac = HMAC-SHA-512-256(key, role both-nonces version)
//   listener:  proof                                    key = BLAKE2b-256(token)
//
// A listener also takes the proof of the reading token, which follows from the token but not the other way round, and
// proves the same one in return: such a dialler only looks (`reads_only`).
//
// The nonces are fresh, so a recorded proof is of no use; the role is part of it, so it cannot be sent back to its
// maker. It proves knowledge of the token to whoever speaks then; keeping others from reading or changing the frames
// that follow takes TLS.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "host/base/result.hpp"

namespace actorhost {

/// The token of those who only look into a run: "read-" and 64 hex digits, derived from `token`. Of a reading token it
/// is that token itself.
std::string reading_token(std::string_view token);
bool is_reading_token(std::string_view token);

class Handshake {
 public:
  enum class Side { dialler, listener };
  using Nonce = std::array<unsigned char, 32>;

  static constexpr size_t kHelloBytes = 48;
  static constexpr size_t kProofBytes = 40;
  /// What `wanted` is at most.
  static constexpr size_t kMaxMessageBytes = 48;

  /// From the system's generator.
  static Nonce fresh_nonce();

  /// `peer` names the other end in messages.
  Handshake(Side side, std::string_view token, const Nonce& nonce, std::string peer);

  /// Bytes to send now; empties it. After an error of `input` there may be some too: the refusal for the other end.
  std::string output() { return std::exchange(output_, {}); }
  /// Bytes to be given to `input` next; 0 when the handshake is over.
  size_t wanted() const noexcept;
  /// Exactly `wanted` bytes. Code::refused with what to do about it; then the connection is to be closed.
  Status input(std::span<const std::byte> bytes);
  /// Both ends have proved that they know the token.
  bool proved() const noexcept { return state_ == State::proved; }
  /// Of a listener: the other end has proved the reading token only.
  bool reads_only() const noexcept { return reads_only_; }

 private:
  enum class State { await_hello, await_proof, proved, failed };
  enum class Verdict : unsigned char { ok = 0, wrong_token = 1 };
  using Mac = std::array<unsigned char, 32>;
  using Key = std::array<unsigned char, 32>;

  Status take_hello(std::span<const std::byte> bytes);
  Status take_proof(std::span<const std::byte> bytes);
  void put_hello();
  void put_proof(Verdict verdict);
  Mac mac_of(Side prover) const;
  Error fail(std::string message);

  const Side side_;
  const Nonce nonce_;
  const std::string peer_;
  Key key_{};
  Key reading_key_{};  // of a listener
  bool reads_only_ = false;
  Nonce peer_nonce_{};
  State state_ = State::await_hello;
  std::string output_;
};

}  // namespace actorhost
