#pragma once
// Proves at the start of each connection that both ends know the token, before any frame is decoded. A state machine
// over fixed-size messages, without sockets or clocks: its owner sends `output`, and passes exactly `wanted` bytes to
// `input`. PROTOCOL.md specifies the bytes; in short, all numbers little-endian:
//
//   dialler:   hello  = "ACTORHST" version:u16 shares:u8 zero[5] nonce[32]
//   listener:  hello
//   dialler:   proof  = verdict:u8 zero[7] mac[32]
//   listener:  proof
//
// where mac = HMAC-SHA-512-256(key, role both-nonces version both-shares) and key = BLAKE2b-256(token).
//
// A listener also accepts the proof of the reading token, and proves the same token in return. The reading token is
// derived from the token, not vice versa. Such a dialler may only read (`reads_only`).
//
// The nonces are fresh, so a recorded proof is worthless. The role is part of the proof, so a peer cannot send a proof
// back to its maker. The handshake authenticates both ends at this moment only; the secrecy and integrity of later
// frames need TLS.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "host/base/result.hpp"

namespace actorhost {

/// The token of observers, which may only read a run: "read-" and 64 hex digits, derived from `token`. The reading
/// token of a reading token is itself.
std::string reading_token(std::string_view token);
bool is_reading_token(std::string_view token);

class Handshake {
 public:
  enum class Side { dialler, listener };
  using Nonce = std::array<unsigned char, 32>;

  static constexpr size_t kHelloBytes = 48;
  static constexpr size_t kProofBytes = 40;
  /// The largest value of `wanted`.
  static constexpr size_t kMaxMessageBytes = 48;

  /// Uses the system's random generator.
  static Nonce fresh_nonce();

  /// `peer` is the name of the other end in messages. `shares`: this end can share memory with the other end.
  Handshake(Side side, std::string_view token, const Nonce& nonce, std::string peer, bool shares = false);

  /// Takes the bytes to send now. After an error of `input` these may be the refusal for the other end.
  std::string output() { return std::exchange(output_, {}); }
  /// Number of bytes that `input` needs next; 0 when the handshake is over.
  size_t wanted() const noexcept;
  /// Takes exactly `wanted` bytes. Code::refused with a message that explains the fix; then close the connection.
  Status input(std::span<const std::byte> bytes);
  /// Both ends have proved the token.
  bool proved() const noexcept { return state_ == State::proved; }
  /// On a listener: the other end has proved the reading token only.
  bool reads_only() const noexcept { return reads_only_; }
  /// Both ends can share memory: an offer of memory follows the proofs.
  bool both_share() const noexcept { return shares_ && peer_shares_ && !reads_only_; }

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
  Key reading_key_{};  // on a listener
  bool reads_only_ = false;
  const bool shares_;
  bool peer_shares_ = false;
  Nonce peer_nonce_{};
  State state_ = State::await_hello;
  std::string output_;
};

}  // namespace actorhost
