#pragma once
// Barrier and all-reduce in their plainest form: everybody sends to the lowest rank, which combines in rank order and
// sends the result back (2 messages a rank; n(p-1) bytes through the root each way). The result is the same bits on
// every rank and does not depend on timing. Used by one node on its own thread.
//
// Every call carries where it stands (actions entered, the call's number, a signature, the script line), so that nodes
// that do not do the same thing hear of it: Code::mismatch names both ranks and both lines, on all ranks. A worker that
// is lost ends the call on the others with Code::peer_lost ("allreduce: rank 2 lost") and leaves their inputs intact. A
// call that failed leaves nothing behind for the next one.

#include <cstdint>
#include <string>
#include <vector>

#include "host/cluster/node.hpp"
#include "host/kernel/kernels.hpp"

namespace actorhost {

enum class CollectiveOp : uint8_t { sum, mean, min, max, prod };

/// "sum" -> CollectiveOp::sum; false for an unknown name.
bool parse_collective_op(std::string_view name, CollectiveOp& op) noexcept;

/// A contiguous tensor as a collective sees it.
struct FlatTensor {
  kernel::Dtype dtype = kernel::Dtype::f32;
  std::vector<int64_t> shape;
  Blob data;

  int64_t count() const noexcept;
};

class PlainCollective {
 public:
  explicit PlainCollective(Node& node) : node_(node) {}

  /// Returns when every live worker has called it. `where` is the script's line.
  Status barrier(const std::string& where, double timeout = kForever);
  /// The elementwise combination of every live worker's `input`, in a new tensor. `timeout` in seconds; a rank that
  /// waits for the root gives it a moment longer to say who is missing.
  Result<FlatTensor> allreduce(const FlatTensor& input, CollectiveOp op, const std::string& where,
                               double timeout = kForever);

 private:
  struct Call {
    uint32_t number = 0;
    std::string name;       // "allreduce"
    std::string signature;  // "allreduce sum float32[3,4]"
    std::string where;
    size_t bytes = 0;  // of every rank's input
    double deadline = kForever;
    std::vector<Address> workers;  // live, in rank order
    bool root = false;             // this node is the lowest rank
  };

  Status begin(Call& call, std::string name, std::string signature, const std::string& where, double timeout);
  Status drop_leftovers();
  /// The root's part: every other rank's input, in rank order; a failure is told to all of them.
  Result<std::vector<Blob>> gather(const Call& call);
  Status gather_into(const Call& call, std::vector<Blob>& parts);
  /// Everybody else's part: sends the input, waits for the result.
  Result<Blob> exchange(const Call& call, const Blob& input);
  Result<Frame> wait_for(const Call& call, const Port::Match& match, const std::vector<Address>& from, double deadline);
  Status send_part(const Call& call, const Blob& input);
  void answer_all(const Call& call, Kind kind, std::string_view meta, const Blob& body);
  Status check_part(const Call& call, const Frame& frame, size_t rank) const;
  Status check_whereabouts(const Call& call, const std::vector<Address>& from);
  size_t rank_in(const Call& call, Address address) const;
  std::string rank_name(const Call& call, Address address) const;
  Error describe(const Call& call, const Error& error, const std::vector<Address>& from);

  Node& node_;
  uint32_t calls_ = 0;
};

}  // namespace actorhost
