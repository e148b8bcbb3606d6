#pragma once
// Moves the data of a large collective call between the ranks, without the leader. A reduction and a broadcast follow a
// schedule and send pieces (ScheduleRun). In an exchange (gather, all-to-all) each rank sends one parcel to each rank
// that needs its data; a parcel takes one or more frames. Passive; owned by its CollectiveCall, which passes the frames
// and ends the call if the data is invalid (Code::bad_data).

#include <memory>
#include <utility>
#include <vector>

#include "host/base/non_copyable.hpp"
#include "host/engine/collective/call_spec.hpp"
#include "host/engine/collective/schedule_run.hpp"

namespace actorhost {

class CallTransfer : private NonCopyable {
 public:
  using Frames = std::vector<std::pair<uint32_t, Frame>>;

  /// All arguments outlive the transfer, which moves the outgoing parcels out of `spec` and puts the received data into
  /// `result`.
  CallTransfer(CallSpec& spec, const CallGroup& group, const CallWiring& wiring, const Loans& loans,
               CallResult& result) noexcept
      : spec_(spec), group_(group), wiring_(wiring), loans_(loans), result_(result) {}
  ~CallTransfer() { expect_nothing(); }

  /// Reserves the memory of an exchange's parcels before they arrive, so that a link can read them directly into place.
  /// Assumes that each parcel has the size of this rank's own; parcels of other sizes use other memory.
  void expect_parts();
  Status start_reduction();
  /// Starts a broadcast or an exchange, on the leader's `go`. Has no effect on other calls, and when repeated.
  Status start(const Go& go);
  /// Takes a piece or a parcel. Before the start it only stores the frame, and the call passes the stored frames again
  /// (`take_early`).
  Status take(uint32_t from, Frame&& frame);
  Frames take_early() { return std::exchange(early_, {}); }
  /// This rank has received all its data.
  bool done() const noexcept { return run_ ? run_->done() : exchanging_ && parcels_due_ == 0; }
  /// Puts the data of a successful call into the result, and releases all memory of the transfer.
  void end(bool succeeded);

  /// The name of the algorithm, such as "ring"; empty before the start.
  const char* algorithm() const noexcept { return algorithm_; }
  uint64_t bytes_sent() const noexcept { return bytes_sent_ + (run_ ? run_->bytes_sent() : 0); }

 private:
  Algorithm choose(size_t bytes);
  Status start_broadcast(const Go& go);
  Status start_exchange();
  Result<Blob> allocate(uint64_t bytes) const;
  Status run(const Schedule& schedule, ScheduleRun::Buffers buffers);
  bool is_remote(uint32_t from) const;
  Blob place_of_part(uint32_t from, uint64_t bytes) const;
  void expect_nothing() noexcept {
    if (wiring_.receive_buffers != nullptr) wiring_.receive_buffers->forget(this);
  }
  Status send_parcel(uint32_t to, PackedValue& parcel);
  Status take_piece(uint32_t from, Frame&& frame);
  Status take_parcel(uint32_t from, Frame&& frame);
  Status malformed(uint32_t from, Kind kind, const Error& why) const;
  void collect_result();

  CallSpec& spec_;
  const CallGroup& group_;
  const CallWiring& wiring_;
  const Loans& loans_;
  CallResult& result_;
  const char* algorithm_ = "";
  std::unique_ptr<ScheduleRun> run_;
  Frames early_;  // data that arrived before the start
  bool exchanging_ = false;
  size_t parcels_due_ = 0;                    // number of expected parcels that are not complete
  std::vector<PackedValue> partial_parcels_;  // by rank: the frames of an incomplete parcel
  Blob whole_;                                // the reserved memory: `part_` bytes for each rank, in rank order
  size_t part_ = 0;                           // assumed bytes of each parcel
  uint64_t bytes_sent_ = 0;
};

}  // namespace actorhost
