#pragma once
// The messages between the processes' clusters, and between nodes and the rendezvous host (kinds 0x01xx).

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
inline constexpr auto join = Kind{0x0101};           // process -> head, on a link that belongs to no process yet
inline constexpr auto welcome = Kind{0x0102};        // head -> process: its number, the job, the head's settings
inline constexpr auto refuse = Kind{0x0103};         // head -> process: why not; the link closes behind it
inline constexpr auto membership = Kind{0x0104};     // head -> processes: the table of a new epoch (body)
inline constexpr auto stop = Kind{0x0105};           // head -> processes: the run is over, with how
inline constexpr auto node_error = Kind{0x0106};     // process -> head: a node's script raised
inline constexpr auto node_ended = Kind{0x0107};     // process -> head: a worker's script has ended
inline constexpr auto want_link = Kind{0x0108};      // process -> head -> process: dial me
inline constexpr auto link_broken = Kind{0x0109};    // process -> head: my link to a live process broke
inline constexpr auto action_enter = Kind{0x0110};   // node -> head: I am at action tag
inline constexpr auto action_reply = Kind{0x0111};   // head -> node
inline constexpr auto action_done = Kind{0x0112};    // node -> head: action tag is over, with its value
inline constexpr auto action_agree = Kind{0x0119};   // node -> head: action_done, and a reply with the first value
inline constexpr auto module_find = Kind{0x0113};    // node -> head: is my copy of this module right; else its text
inline constexpr auto module_reply = Kind{0x0114};   // head -> node
inline constexpr auto servers_start = Kind{0x0115};  // node -> head: make sure that shards are there
inline constexpr auto servers_ready = Kind{0x0116};  // head -> node
inline constexpr auto whereabouts = Kind{0x0117};    // node -> head: where are these workers? (a wait has become long)
inline constexpr auto whereabouts_reply = Kind{0x0118};
inline constexpr auto observe = Kind{0x0120};        // observer -> head: the run's state, please
inline constexpr auto observed = Kind{0x0121};       // head -> observer: the state as JSON (body); tag as asked
inline constexpr auto report_wanted = Kind{0x0122};  // head -> processes: your part of it, for look tag
inline constexpr auto report = Kind{0x0123};         // process -> head: as JSON (body)
inline constexpr auto control = Kind{0x0124};        // observer -> head: do something; JSON (body)
inline constexpr auto control_reply = Kind{0x0125};  // head -> observer: JSON (body); tag as asked
inline constexpr auto pushed = Kind{0x0126};         // head -> observer: news of what it has asked for; JSON (body)
inline constexpr auto spans = Kind{0x0127};          // process -> head: what node src has done, for the trace
inline constexpr auto outlive = Kind{0x0128};        // process -> head -> processes: the run can go on without its head
inline constexpr auto attach = Kind{0x0129};         // process -> its next head: the one before is lost
inline constexpr auto attached = Kind{0x012a};       // head -> process: it is in; a table follows
inline constexpr auto elsewhere = Kind{0x012b};      // process -> one that takes it for the head: where that is
inline constexpr auto beat = Kind{0x012c};           // head -> process, and its answer (coordinator_lease.hpp)
inline constexpr auto proposal = Kind{0x012d};       // head -> processes: the next table, to be accepted (body)
inline constexpr auto takes_part = Kind{0x012e};     // process -> head: worker src is a peer (tag 1), or has left (0)
}  // namespace cluster_kind
/// In servers_start: whichever action the shards serve is fine.
inline constexpr uint32_t kAnyAction = 0xffffffffU;

/// A process asks to belong to the run.
struct JoinMessage {
  std::string run_id;
  std::string job_name;
  uint64_t job_hash = 0;  // 0: has no copy of the script, wants it
  std::string host;       // "alpha:4711"
  std::string url;        // where other processes reach it
  uint64_t group = 0;     // random number that the processes of one `--isolate` host share; its own otherwise
  uint32_t group_size = 1;
  uint32_t group_index = 0;
  int32_t node_rank = -1;                       // -1: any
  uint32_t nodes = 0;                           // workers in this process
  std::map<std::string, std::string> settings;  // flags as given here, to be compared with the head's

  static void fields(auto& m, auto&& field) {
    field(m.run_id, words(m.job_name), m.job_hash, words(m.host), m.url, m.group, m.group_size, m.group_index,
          m.node_rank, m.nodes, m.settings);
  }
};

/// The head's answer; the frame's body holds the script's text.
struct WelcomeMessage {
  ProcessId process = kNoProcess;
  std::string run_id;
  std::string job_name;
  uint64_t job_hash = 0;
  std::map<std::string, std::string> settings;  // the head's, which win
  std::vector<std::string> args;
  ProcessId head = 0;  // which process answers
  uint32_t min_hosts = 1;
  uint32_t max_hosts = 1;
  bool outlives = false;  // the run goes on when its head is lost

  static void fields(auto& m, auto&& field) {
    field(m.process, m.run_id, words(m.job_name), m.job_hash, m.settings, m.args, m.head, m.min_hosts, m.max_hosts,
          m.outlives);
  }
};

/// A worker as its process knows it.
struct AttachedWorker {
  NodeId id = 0;
  uint32_t actions = 0;  // entered so far
  bool ended = false;
  bool left = false;  // it is no peer yet, or none any more

  static void fields(auto& m, auto&& field) { field(m.id, m.actions, m.ended, m.left); }
};

/// A beat of the coordinator, or the answer of a process to it.
struct BeatMessage {
  uint64_t number = 0;   // of this message, in its direction
  uint64_t answers = 0;  // the newest number that the sender has got from the receiver
  double lease = 0;      // of the coordinator: seconds that its lease still lasts
  uint64_t epoch = 0;    // of a process: the newest table that it has accepted from this coordinator

  static void fields(auto& m, auto&& field) { field(m.number, m.answers, m.lease, m.epoch); }
  bool sound() const noexcept { return lease >= 0 && lease < 1e18; }
};

/// A process that has lost its head tells the next one who it is.
struct AttachMessage {
  ProcessId process = kNoProcess;
  ProcessId lost = kNoProcess;  // the head that it had
  uint32_t loss = 0;            // counts the heads that this process has lost; `attached` carries it back as its tag
  JoinMessage self;             // as it joined
  std::vector<AttachedWorker> workers;
  std::vector<Membership> tables;  // as Quorum::merge takes them

  static void fields(auto& m, auto&& field) { field(m.process, m.lost, m.loss, m.self, m.workers); }
  static void body_fields(auto& m, auto&& field) { field(m.tables); }
};

/// Empty while there is no head; there may be one soon.
struct ElsewhereMessage {
  std::string url;

  static void fields(auto& m, auto&& field) { field(m.url); }
};

/// How a run, or a node's part in it, ended.
struct EndMessage {
  Code code = Code::internal;  // meaningful when !ok
  bool ok = true;
  std::string message;  // one line: which node, and what
  /// The node whose script raised: its host shows the traceback. A process's service: the end is that process's alone.
  Address origin = kNoAddress;

  static void fields(auto& m, auto&& field) { field(m.code, m.ok, lines(m.message), m.origin); }
};

/// Which sections of the state somebody wants (ProcessState).
struct ObserveMessage {
  std::vector<std::string> sections;

  static void fields(auto& m, auto&& field) { field(m.sections); }
};

/// What a node has done, for the trace of --record FILE.json.
struct SpansMessage {
  double sent = 0;  // on the clock of the node's process, as the spans' times
  std::vector<TimeSpan> spans;

  static void fields(auto& m, auto&& field) { field(m.sent, m.spans); }
};

struct ActionEnter {
  std::string kind;   // "param.run"
  std::string where;  // "job.lua:12"

  static void fields(auto& m, auto&& field) { field(words(m.kind), words(m.where)); }
};

/// `replayed`: the action is over, its value is the frame's body. An error travels as `ok = false`.
struct ActionReply {
  bool ok = true;
  bool replayed = false;
  Code code = Code::mismatch;
  std::string message;

  static void fields(auto& m, auto&& field) { field(m.ok, m.replayed, m.code, words(m.message)); }
};

struct ModuleFind {
  std::string name;
  uint64_t hash = 0;  // of the asker's copy; 0: it has none

  static void fields(auto& m, auto&& field) { field(words(m.name), m.hash); }
};

/// The text, when the asker has none, is the frame's body.
struct ModuleReply {
  bool ok = true;
  Code code = Code::mismatch;
  std::string chunk;  // name for messages, such as "rules.lua"
  std::string message;

  static void fields(auto& m, auto&& field) { field(m.ok, m.code, words(m.chunk), words(m.message)); }
};

/// A call in which a worker waits for others without a limit. The worker tells the head of it when it asks where the
/// others are, so that workers that wait for each other in a circle find out.
struct LongWait {
  uint32_t number = 0;              // of the worker's waits; 0: it has told of none
  std::string what = {};            // "allreduce sum float32[3] at job.lua:7"
  std::vector<NodeId> absent = {};  // the workers that have to come
  uint32_t told = 0;                // how often it has said so; counted by the head
  bool outside = false;             // it has come late, and waits until it may take part in the others' collectives

  static void fields(auto& m, auto&& field) { field(m.number, words(m.what), m.absent, m.told, m.outside); }
};

/// Where a worker is, for messages about long waits and order mismatches.
struct Whereabouts {
  NodeId id = 0;
  uint32_t actions = 0;  // entered so far
  bool ended = false;
  bool in_action = false;
  std::string kind = {};  // of the newest action
  std::string where = {};
  LongWait waiting = {};  // the newest that it has told of, over or not

  static void fields(auto& m, auto&& field) {
    field(m.id, m.actions, m.ended, m.in_action, words(m.kind), words(m.where), m.waiting);
  }
};

}  // namespace actorhost
