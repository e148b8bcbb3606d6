#pragma once
// A node's questions about keys: finds out who answers for each key, asks, and asks again where an owner has changed or
// died. Each write is done once whatever happens: the answering side knows a writer's newest update of a key, and a
// node's writes of a key are done in the order in which they are asked for: each question names the newest push before
// it. A get sees the node's pushes that were asked for before it. A window limits the bytes of large values in flight,
// so that a slow reply can be told from a silent peer. A request never waits for window space that a later request
// holds, nor for space that a request which may wait for a Lua pull holds, unless it may wait for a pull itself: a pull
// can therefore get and set values of any size. Passive.

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "host/engine/param/assembler.hpp"
#include "host/engine/peer/peer_messages.hpp"
#include "host/overlay/overlay.hpp"

namespace actorhost {

class KeyClient {
 public:
  /// In the order of the keys, nil where there is nothing.
  using OnValues = std::function<void(Result<std::vector<ParamEntry>>)>;
  using OnDone = std::function<void(Status)>;

  explicit KeyClient(Overlay& overlay) : overlay_(overlay) {}

  /// `mark`: of the steps that this node has completed. `shared`: values may share their bytes with others, and are
  /// only read.
  void get(std::vector<ParamKey> keys, Mark mark, double now, OnValues done, bool shared = false);
  /// `number`: greater than those of all sets of this node before. Code::timeout: for a minute nobody has answered for
  /// some key.
  void set(std::vector<ParamEntry> entries, Mark mark, uint64_t number, double now, OnDone done);
  /// Code::mismatch: a value is spread over other parts than the update (spread_value.hpp).
  /// A push that a Lua pull merges is neither waited for by later writes of its keys nor seen by gets: the pull itself
  /// may make them.
  /// `number`: of the attempt, for parts of values and their descriptions.
  void push(std::vector<ParamEntry> entries, Mark mark, const PushRule& rule, double now, OnDone done,
            uint64_t number = 0);
  /// This node's prepared update of the parts, which are entries without values, counts.
  void count(std::vector<ParamEntry> parts, Mark mark, double now, OnDone done);
  /// Whether the writer's update of a spread value counts; if it is undecided, that attempt of it never will
  /// (Code::mismatch).
  void outcome(const ParamKey& key, NodeId writer, Mark mark, uint64_t number, double now, OnDone done);

  /// All live workers have completed that step.
  void pass(Mark mark) { passed_ = std::max(passed_, mark); }

  /// Questions that have no answer so far, eight at most: what keeps this node waiting, for its messages.
  struct Open {
    ParamKey key;
    std::optional<NodeId> owner = {};  // nothing: none is known
    std::vector<NodeId> awaited = {};  // for which the owner waits in turn
  };
  std::vector<Open> open() const;

  void on_told(Frame&& frame, const Told& told, Unpacker& in, double now);
  /// What is asked of this process's peers is asked of others.
  void lose_process(ProcessId process, double now);
  double tick(double now);
  std::vector<Frame> take_frames() { return std::exchange(frames_, {}); }

 private:
  struct Request {
    Ask ask;
    std::vector<ParamKey> keys;   // of a get, each once
    std::vector<uint32_t> order;  // their places, as they were asked for
    std::unordered_map<ParamKey, uint32_t> places;
    std::vector<ParamEntry> entries;              // of the others
    std::vector<ParamAssembler::Partial> values;  // of a get
    std::vector<uint8_t> answered;                // by place
    size_t open = 0;
    double deadline = 0;
    bool shared = false;
    uint32_t silences = 0;
    std::optional<Error> error;
    OnValues got;
    OnDone done;

    /// A push that this node's later questions about its keys come after.
    bool ordered() const noexcept { return ask.what == Ask::What::push && !ask.rule.rule.is_lua(); }
    /// Its reply may come only after a Lua pull: it has a window of its own. A get of mark 0 waits for no update.
    bool may_wait_for_pull() const noexcept {
      if (ask.what == Ask::What::get) return ask.mark > 0;
      return ask.what == Ask::What::push && ask.rule.rule.is_lua();
    }
    size_t size() const noexcept { return keys.empty() ? entries.size() : keys.size(); }
    const ParamKey& key(size_t place) const { return keys.empty() ? entries[place].key : keys[place]; }
  };
  /// One message under way.
  struct Question {
    uint32_t request;
    std::vector<uint32_t> places;
    Peer to;
    size_t bytes;
    bool of_pull;  // in the window of requests that may wait for a pull
    double due;
    double wait;
    bool poked = false;
    std::vector<NodeId> awaited = {};  // by `to`, as it has told
  };
  /// Places that are to be asked for.
  struct Waiting {
    uint32_t request;
    std::vector<uint32_t> places;
    Peer to;
    size_t bytes;
    Mark own = 0;
  };
  struct Route {
    RingId from;
    Peer owner;
  };

  void write(const Ask& ask, std::vector<ParamEntry> entries, double now, OnDone done);
  void begin(Request&& request, double now);
  Mark own_before(const Request& request, size_t place) const;
  void route(uint32_t request, const std::vector<uint32_t>& places, double now, size_t lookups = 1);
  void ask(uint32_t request, const std::vector<uint32_t>& places, const Peer& to, double now);
  void ask_waiting(double now);
  bool may_go(const Waiting& question) const;
  void send(Waiting&& question, double now);
  std::map<uint32_t, Question>::node_type take(uint32_t tag);
  void look_up(uint32_t request, std::vector<uint32_t> places, double now);
  const Peer* owner_of(RingId place) const;
  void forget_route(const Peer& peer);
  static void take_values(Request& request, std::vector<ParamEntry>&& entries);
  void again(uint32_t tag, double now, double wait);
  void forget_push(const Request& request);
  void end(uint32_t request);

  Overlay& overlay_;
  std::map<uint32_t, Request> requests_;
  std::unordered_map<ParamKey, std::set<Mark>> pushed_;  // of pushes that are not acknowledged
  std::map<uint32_t, Question> questions_;
  std::deque<Waiting> waiting_;
  size_t under_way_ = 0;  // bytes of the questions and of their answers, as far as they are known, in both windows
  struct Later {
    double time;
    uint32_t request;
    std::vector<uint32_t> places;
  };
  std::vector<Later> later_;      // to be routed again
  std::map<RingId, Route> arcs_;  // by their ends
  double woken_ = kForever;       // when the next tick was asked for
  Mark passed_ = 0;
  uint32_t begun_ = 0;
  uint32_t asked_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace actorhost
