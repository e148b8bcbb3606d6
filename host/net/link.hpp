#pragma once
// One connection to another process: its stream, the proof of the token, the sending half (`writer`) and the loop that
// reads frames. Created and read by StreamTransport; `close`, `writer` and the getters are thread-safe.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/net/byte_stream.hpp"
#include "host/net/directory.hpp"
#include "host/net/link_writer.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

/// Identifies one connection for its lifetime; never reused. 0: no link.
using LinkId = uint64_t;

class Link : public std::enable_shared_from_this<Link>, private NonCopyable {
 public:
  /// Takes the received frames; false ends the loop.
  using Take = std::function<bool(std::vector<Frame>&)>;

  Link(LinkId id, bool dialled, std::unique_ptr<Stream> stream, size_t max_queued_bytes);

  ~Link();

  LinkId id() const noexcept { return id_; }
  bool dialled() const noexcept { return dialled_; }
  /// Address of the other end.
  const std::string& peer() const noexcept { return peer_; }
  LinkWriter& writer() noexcept { return writer_; }
  ProcessId process() const noexcept { return process_.load(std::memory_order_relaxed); }
  void set_process(ProcessId process) noexcept { process_.store(process, std::memory_order_relaxed); }

  /// Proves the token in both directions on the calling thread, for up to `seconds`. `name` is the other end in
  /// messages. Code::refused: the other end sent a wrong reply. Code::unreachable: it closed the connection before the
  /// proof. Code::timeout. Code::interrupted: this end closed the link meanwhile.
  Status prove(const std::string& token, const std::string& name, double seconds);
  /// The other end has dialled and has proved the reading token only. Constant after the proof.
  bool reads_only() const noexcept { return reads_only_; }
  /// Reads on the calling thread until the link is over; returns the reason. Reads bodies into the receive buffers of
  /// `directory`.
  std::string read(const FrameLimits& limits, const Directory& directory, const Take& take);
  /// Called inside `take`: blocks until `dst` may have room. False when the link is closed.
  bool wait_for_room(const Directory& directory, Address dst);

  /// Closes the link without blocking; the first reason counts.
  void close(const std::string& reason);
  /// Sends a farewell after all queued frames; the other end then closes the link. After `seconds` this end closes it.
  void finish(double seconds);

  /// Set by the reader at its end; afterwards the link must not be assigned.
  void set_ended() noexcept { ended_.store(true); }
  bool ended() const noexcept { return ended_.load(); }

  /// Time of the last received bytes, on the steady clock; now, while a full mailbox stops the reader.
  double last_received() const noexcept;
  uint64_t frames_received() const noexcept { return frames_received_.load(std::memory_order_relaxed); }
  uint64_t bytes_received() const noexcept { return bytes_received_.load(std::memory_order_relaxed); }

 private:
  std::string reason_or(const std::string& otherwise) const;
  Error handshake_error(const IoResult& result, const std::string& name, double seconds, bool replied) const;

  const LinkId id_;
  const bool dialled_;
  const SteadyClock clock_;
  const std::unique_ptr<Stream> stream_;
  const std::string peer_;
  LinkWriter writer_;
  bool reads_only_ = false;
  std::atomic<ProcessId> process_{kNoProcess};
  std::atomic<double> last_received_;
  std::atomic<bool> ended_{false};
  std::atomic<bool> held_back_{false};
  std::atomic<uint64_t> frames_received_{0};
  std::atomic<uint64_t> bytes_received_{0};
  mutable std::mutex mutex_;
  WaitPoint changed_;
  std::string reason_;
  bool closed_ = false;
  bool room_ = false;
};

}  // namespace actorhost
