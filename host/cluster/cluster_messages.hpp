#pragma once
// The messages between the clusters of processes, and between nodes and the coordinator (kinds 0x01xx).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/base/span_sink.hpp"
#include "host/cluster/membership.hpp"
#include "host/wire/message.hpp"

namespace actorhost {

namespace cluster_kind {
inline constexpr auto join = Kind{0x0101};           // process -> coordinator, on a link without a process
inline constexpr auto welcome = Kind{0x0102};        // coordinator -> process: its number, the job, the run's settings
inline constexpr auto refuse = Kind{0x0103};         // coordinator -> process: the reason; the link then closes
inline constexpr auto membership = Kind{0x0104};     // coordinator -> processes: the table of a new epoch (body)
inline constexpr auto stop = Kind{0x0105};           // coordinator -> processes: the run is over; its result
inline constexpr auto node_error = Kind{0x0106};     // process -> coordinator: a node's script raised
inline constexpr auto node_ended = Kind{0x0107};     // process -> coordinator: a worker's script has ended
inline constexpr auto want_link = Kind{0x0108};      // process -> coordinator -> process: dial me
inline constexpr auto link_broken = Kind{0x0109};    // process -> coordinator: the link to a live process broke
inline constexpr auto action_enter = Kind{0x0110};   // node -> coordinator: the node enters action tag
inline constexpr auto action_reply = Kind{0x0111};   // coordinator -> node
inline constexpr auto action_done = Kind{0x0112};    // node -> coordinator: action tag has ended, with its value
inline constexpr auto module_find = Kind{0x0113};    // node -> coordinator: compares a module's hash, or requests it
inline constexpr auto module_reply = Kind{0x0114};   // coordinator -> node
inline constexpr auto servers_start = Kind{0x0115};  // node -> coordinator: make sure that servers run
inline constexpr auto servers_ready = Kind{0x0116};  // coordinator -> node
inline constexpr auto whereabouts = Kind{0x0117};    // node -> coordinator: requests the workers' positions
inline constexpr auto whereabouts_reply = Kind{0x0118};
inline constexpr auto action_agree = Kind{0x0119};   // node -> coordinator: action_done with the first value as reply
inline constexpr auto action_agreed = Kind{0x011a};  // coordinator -> node: that value
inline constexpr auto observe = Kind{0x0120};        // observer -> coordinator: request for the run's state
inline constexpr auto observed = Kind{0x0121};       // coordinator -> observer: the state as JSON (body); same tag
inline constexpr auto report_wanted = Kind{0x0122};  // coordinator -> processes: requests a report, number tag
inline constexpr auto report = Kind{0x0123};         // process -> coordinator: the report as JSON (body)
inline constexpr auto control = Kind{0x0124};        // observer -> coordinator: a command; JSON (body)
inline constexpr auto control_reply = Kind{0x0125};  // coordinator -> observer: JSON (body); tag of the command
inline constexpr auto pushed = Kind{0x0126};         // coordinator -> observer: a subscribed event; JSON (body)
inline constexpr auto spans = Kind{0x0127};          // process -> coordinator: spans of node src, for the trace
inline constexpr auto outlive = Kind{0x0128};        // process -> coordinator -> all: the run outlives its coordinator
inline constexpr auto attach = Kind{0x0129};         // process -> candidate: the coordinator has failed
inline constexpr auto attached = Kind{0x012a};       // coordinator -> process: accepted; a table follows
inline constexpr auto redirect = Kind{0x012b};       // process -> sender of a misdirected request: coordinator's url
inline constexpr auto lease_renewal = Kind{0x012c};  // coordinator -> process, and the reply (coordinator_lease.hpp)
inline constexpr auto proposal = Kind{0x012d};       // coordinator -> processes: the next table, to be accepted (body)
inline constexpr auto participation = Kind{0x012e};  // process -> coordinator: worker src is a peer (1), or left (0)
}  // namespace cluster_kind

/// In servers_start: the shards may serve any action.
inline constexpr uint32_t kAnyAction = 0xffffffffU;

/// A process's request to join the run.
struct JoinMessage {
  std::string run_id;
  std::string job_name;
  uint64_t job_hash = 0;  // 0: has no copy of the script and requests it
  std::string host;       // "alpha:4711"
  std::string url;        // where other processes reach it
  // random number: shared by the processes of one `--isolate` host, else unique
  uint64_t group = 0;
  uint32_t group_size = 1;
  uint32_t group_index = 0;
  int32_t node_rank = -1;                       // -1: any
  uint32_t nodes = 0;                           // workers in this process
  std::map<std::string, std::string> settings;  // flags as given to this process, compared with the coordinator's

  static void fields(auto& m, auto&& field) {
    field(m.run_id, words(m.job_name), m.job_hash, words(m.host), m.url, m.group, m.group_size, m.group_index,
          m.node_rank, m.nodes, m.settings);
  }
};

/// The coordinator's reply; the frame's body holds the script's text.
struct WelcomeMessage {
  ProcessId process = kNoProcess;
  std::string run_id;
  std::string job_name;
  uint64_t job_hash = 0;
  std::map<std::string, std::string> settings;  // the coordinator's, which override the process's
  std::vector<std::string> args;
  ProcessId coordinator = 0;  // the replying process
  uint32_t min_hosts = 1;
  uint32_t max_hosts = 1;
  bool outlives = false;  // the run continues if its coordinator fails

  static void fields(auto& m, auto&& field) {
    field(m.process, m.run_id, words(m.job_name), m.job_hash, m.settings, m.args, m.coordinator, m.min_hosts,
          m.max_hosts, m.outlives);
  }
};

/// The state of a worker, as its process reports it.
struct AttachedWorker {
  NodeId id = 0;
  uint32_t actions = 0;  // entered so far
  bool ended = false;
  bool left = false;  // it has not become a peer yet, or has left the peers

  static void fields(auto& m, auto&& field) { field(m.id, m.actions, m.ended, m.left); }
};

/// A lease renewal of the coordinator, or a process's reply to it.
struct LeaseRenewal {
  uint64_t number = 0;        // of this message, in its direction
  uint64_t acknowledged = 0;  // the newest number that the sender has received
  double lease = 0;           // of the coordinator: remaining seconds of its lease
  uint64_t epoch = 0;         // of a process: the newest table that it has accepted from this coordinator

  static void fields(auto& m, auto&& field) { field(m.number, m.acknowledged, m.lease, m.epoch); }
  bool is_valid() const noexcept { return lease >= 0 && lease < 1e18; }
};

/// A process attaches to a candidate after its coordinator has failed.
struct AttachMessage {
  ProcessId process = kNoProcess;
  ProcessId lost = kNoProcess;  // the failed coordinator
  uint32_t loss = 0;            // number of coordinators that this process has lost; `attached` returns it as its tag
  JoinMessage self;             // as it joined
  std::vector<AttachedWorker> workers;
  std::vector<Membership> tables;  // in the order of Quorum::merge

  static void fields(auto& m, auto&& field) { field(m.process, m.lost, m.loss, m.self, m.workers); }
  static void body_fields(auto& m, auto&& field) { field(m.tables); }
};

/// Empty while there is no coordinator; the sender may retry.
struct RedirectMessage {
  std::string url;

  static void fields(auto& m, auto&& field) { field(m.url); }
};

/// The result of a run, or of one process's part in it.
struct EndMessage {
  Code code = Code::internal;  // valid if !ok
  bool ok = true;
  std::string message;  // one line: which node, and what
  /// The node whose script raised: its host prints the traceback. If it is a process's service, only that process ends.
  Address origin = kNoAddress;

  static void fields(auto& m, auto&& field) { field(m.code, m.ok, lines(m.message), m.origin); }
};

/// The sections of the state that an observer requests (ProcessState).
struct ObserveMessage {
  std::vector<std::string> sections;

  static void fields(auto& m, auto&& field) { field(m.sections); }
};

/// Spans of a node, for the trace of --record FILE.json.
struct SpansMessage {
  double sent = 0;  // on the clock of the node's process, like the spans' times
  std::vector<TimeSpan> spans;

  static void fields(auto& m, auto&& field) { field(m.sent, m.spans); }
};

struct ActionEnter {
  std::string kind;   // "param.run"
  std::string where;  // "job.lua:12"

  static void fields(auto& m, auto&& field) { field(words(m.kind), words(m.where)); }
};

/// `replayed`: the action has ended, and the frame's body holds its value. `ok = false`: the node fails with the error.
struct ActionReply {
  bool ok = true;
  bool replayed = false;
  Code code = Code::mismatch;
  std::string message;

  static void fields(auto& m, auto&& field) { field(m.ok, m.replayed, m.code, words(m.message)); }
};

struct ModuleFind {
  std::string name;
  uint64_t hash = 0;  // of the requester's copy; 0: it has none

  static void fields(auto& m, auto&& field) { field(words(m.name), m.hash); }
};

/// The frame's body holds the text if the requester has none.
struct ModuleReply {
  bool ok = true;
  Code code = Code::mismatch;
  std::string chunk;  // name for messages, such as "rules.lua"
  std::string message;

  static void fields(auto& m, auto&& field) { field(m.ok, m.code, words(m.chunk), words(m.message)); }
};

/// A call in which a worker waits for other workers without a limit. The worker reports it to the coordinator when it
/// requests the others' whereabouts, so workers that wait for each other in a cycle detect the cycle.
struct LongWait {
  uint32_t number = 0;              // of the worker's waits; 0: it has reported none
  std::string what = {};            // "allreduce sum float32[3] at job.lua:7"
  std::vector<NodeId> absent = {};  // the workers that it waits for
  uint32_t reports = 0;             // number of its reports; the coordinator counts them
  bool outside = false;             // a late joiner that waits to enter the others' collectives
  uint64_t sequence = 0;            // of the call: all members make the calls of a sequence in the same order

  static void fields(auto& m, auto&& field) {
    field(m.number, words(m.what), m.absent, m.reports, m.outside, m.sequence);
  }
};

/// Where a worker is, for messages about long waits and order mismatches.
struct Whereabouts {
  NodeId id = 0;
  uint32_t actions = 0;  // entered so far
  bool ended = false;
  bool in_action = false;
  std::string kind = {};  // of the newest action
  std::string where = {};
  LongWait waiting = {};  // the newest reported wait, which may have ended

  static void fields(auto& m, auto&& field) {
    field(m.id, m.actions, m.ended, m.in_action, words(m.kind), words(m.where), m.waiting);
  }
};

}  // namespace actorhost
