#pragma once
// The sending half of one connection. Frames are gathered into a batch while the previous batch is being written. The
// sender's thread writes the first frame after a quiet period directly, and a large frame whenever no write is in
// progress; this saves two thread switches. Bounded by bytes. Thread-safe.

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "host/net/byte_stream.hpp"
#include "host/net/mailbox.hpp"
#include "host/net/send_batch.hpp"

namespace actorhost {

class LinkWriter {
 public:
  /// `stream` outlives the writer, and nothing else writes it.
  LinkWriter(Stream& stream, size_t max_queued_bytes);
  /// Writes to another stream from now on. Called before the first `put`.
  void use(Stream& stream);

  struct Outcome {
    Mailbox::Put put;
    bool write;  // the caller must call `write` soon, without locks; frames queued until then leave together
  };
  /// Queues the frame (moved from only on `ok`) unless the queue would exceed `bound_factor` times its bound.
  Outcome put(Frame&& frame, size_t bound_factor);
  void write();

  /// Calls the callback once, when a write after a refusal has finished or the writer is closed; at once if nothing is
  /// queued.
  void when_room(std::function<void()> callback);
  /// Refuses further frames, drops the queued frames and notifies waiting senders. A write in progress ends by itself.
  void close();

  struct Counters {
    uint64_t frames = 0, bytes = 0, writes = 0;  // written
    uint64_t queued = 0;                         // bytes to be written
    uint64_t queued_frames = 0;                  // approximate number of frames in them
  };
  Counters counters() const;

 private:
  bool has_room(size_t cost, size_t bound_factor) const;
  void sent(IoResult result);
  bool write_now();
  void start_write();
  void gather() const;
  /// The batch is written: starts the next batch. False if there is none.
  bool next_batch();
  void fail();

  Stream* stream_;
  const size_t max_queued_bytes_;
  const SteadyClock clock_;
  mutable std::mutex mutex_;
  SendBatch filling_;
  bool writing_ = false;
  bool closed_ = false;
  double last_written_ = 0;
  std::vector<std::function<void()>> room_callbacks_;
  std::atomic<size_t> in_flight_bytes_{0};  // bytes of in_flight_
  SendBatch in_flight_;                     // belongs to the thread that has set writing_
  bool at_once_ = false;                    // likewise
  Counters counters_;
};

}  // namespace actorhost
