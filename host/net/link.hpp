#pragma once
// One connection to another process: its stream, the proof of the token, the sending half (`writer`) and the reading of
// frames. Created and read by StreamTransport. The link's own thread reads in `read`; a node that waits reads in
// `poll`. One thread reads at a time. `poll`, `close`, `writer` and the getters are thread-safe.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/tasks.hpp"
#include "host/net/byte_stream.hpp"
#include "host/net/directory.hpp"
#include "host/net/frame_reader.hpp"
#include "host/net/link_writer.hpp"
#include "host/wire/frame.hpp"

namespace actorhost {

/// Identifies one connection for its lifetime; never reused. 0: no link.
using LinkId = uint64_t;

class Link : public std::enable_shared_from_this<Link>, private NonCopyable {
 public:
  /// Takes the received frames; false ends the link.
  using Take = std::function<bool(std::vector<Frame>&)>;

  /// Reads bodies into the receive buffers of `directory`, which outlives the link.
  Link(LinkId id, bool dialled, std::unique_ptr<Stream> stream, size_t max_queued_bytes, const FrameLimits& limits,
       const Directory& directory);

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
  /// With `share`, a link between processes of one machine then goes on through shared memory, if both ends can.
  Status prove(const std::string& token, const std::string& name, double seconds, bool share);
  /// Why the two processes of one machine share no memory; empty if they do, or did not try. Constant after the proof.
  const std::string& sharing_problem() const noexcept { return sharing_problem_; }
  /// The other end has dialled and has proved the reading token only. Constant after the proof.
  bool reads_only() const noexcept { return reads_only_; }
  /// Reads on the calling thread until the link is over; returns the reason.
  std::string read(const Take& take);
  /// Reads the arrived frames, unless another thread reads the link. Does not block if `take` does not. True if it has
  /// read any bytes.
  bool poll(const Take& take);
  /// Called inside `take`: `poll` reads nothing more until `dst` may have room.
  void pause_polls(Address dst);
  PollCost poll_cost() const noexcept { return stream_->poll_cost(); }
  /// StreamReader::thread is the thread in `read`; it reads alone while the polls are paused.
  void set_reader(StreamReader reader);
  /// As Stream::bell.
  Bell* bell() noexcept { return stream_->bell(); }
  /// Called inside `take`: blocks until `dst` may have room. False when the link is closed.
  bool wait_for_room(Address dst);

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
  Status share(double deadline);
  bool receive(const Take& take);
  std::string reason_or(const std::string& otherwise) const;
  Error handshake_error(const IoResult& result, const std::string& name, double seconds, bool replied) const;

  const LinkId id_;
  const bool dialled_;
  const SteadyClock clock_;
  std::unique_ptr<Stream> stream_;  // replaced by the shared memory after the proof
  const std::string peer_;
  LinkWriter writer_;
  const Directory& directory_;
  std::mutex reading_;  // held by the thread that reads and delivers frames; guards the next three members
  FrameReader reader_;
  std::vector<Frame> frames_;
  std::optional<std::string> over_;  // why no more can be read
  std::atomic<bool> polls_paused_{false};
  bool reads_only_ = false;
  std::string sharing_problem_;
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
