#pragma once
// The sending half of one connection: frames are appended to a batch while an earlier one is being written, and go out
// together when that is done. The first frame after a quiet moment, and a large one whenever none is being written, is
// written at once on the sender's thread, which saves it two thread switches. Bounded by bytes. Any thread may call.

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "host/net/mailbox.hpp"
#include "host/net/send_batch.hpp"
#include "host/net/stream_io.hpp"

namespace actorhost {

class LinkWriter {
 public:
  /// `stream` outlives the writer and is not written by anybody else.
  LinkWriter(Stream& stream, size_t max_queued_bytes);

  struct Outcome {
    Mailbox::Put put;
    bool write;  // the caller has to call `write` soon, holding no locks; frames until then leave together
  };
  /// Takes the frame (moved from only on `ok`) unless it exceeds `times_bound` times the bound.
  Outcome put(Frame&& frame, size_t times_bound);
  void write();

  /// Calls `told` once when something was written after a refusal; at once when there is nothing queued or it is
  /// closed.
  void when_room(std::function<void()> told);
  /// Takes nothing more, drops what is queued and tells waiting senders. A write in flight ends by itself.
  void close();

  struct Counters {
    uint64_t frames = 0, bytes = 0, writes = 0;  // written
    uint64_t queued = 0;                         // bytes that are to be written
    uint64_t queued_frames = 0;                  // in them, about
  };
  Counters counters() const;

 private:
  bool has_room(size_t cost, size_t times_bound) const;
  void sent(IoResult result);
  bool write_now();
  void start_write();
  void gather() const;
  /// The batch is written: takes up the next one, if there is one. Returns whether there is.
  bool next_batch();
  void fail();

  Stream& stream_;
  const size_t max_queued_bytes_;
  const SteadyClock clock_;
  mutable std::mutex mutex_;
  SendBatch filling_;
  bool writing_ = false;
  bool closed_ = false;
  double last_written_ = 0;
  std::vector<std::function<void()>> want_room_;
  std::atomic<size_t> in_flight_{0};  // bytes of flying_
  SendBatch flying_;                  // belongs to the thread that has set writing_
  bool at_once_ = false;              // as flying_
  Counters counters_;
};

}  // namespace actorhost
