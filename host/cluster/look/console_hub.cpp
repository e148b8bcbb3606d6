#include "host/cluster/look/console_hub.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "host/base/outside_json.hpp"
#include "host/base/printable.hpp"

namespace actorhost {

namespace {

using nlohmann::json;

constexpr uint64_t kOutputLimit = uint64_t{64} << 10;  // bytes of a chunk's output on each node
constexpr size_t kMaxSource = size_t{1} << 20;
constexpr size_t kMaxChunks = 1000;  // in progress
constexpr size_t kMaxChunksOfOne = 250;
constexpr size_t kMaxSourcesOfOne = size_t{16} << 20;  // bytes of their source texts

/// Sources of commands. They run on server 0, whose waits run chunks; in a run of peers on each worker.
constexpr const char* kCheckpoint = "local into = require('actor.param').checkpoint_now() return into";
constexpr const char* kSwapRule =
    "local what, spec, text, name = ... "
    "local before = require('actor.param_rules').swap(what, spec, text, name) return before";
constexpr const char* kSwapRuleOfPeers =
    "local what, spec, text, name = ... "
    "local before = require('actor.peer').swap(what, spec, text, name) return before";

json refusal(Code code, const std::string& message) {
  return {{"ok", false}, {"message", message}, {"code", code_name(code)}};
}

std::string text_field(const json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// A node in an observer's notation: a worker by its id, a server as "server 0".
std::optional<Address> node_of(const json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= kAddressMask) return value.get<NodeId>();
  if (value != "server 0") return std::nullopt;
  return server_address(0);
}

}  // namespace

void ConsoleHub::command(uint64_t observer, const std::string& observer_name, const json& command, Callback reply,
                         Callback news) {
  const std::string op = text_field(command, "op");
  if (op == "chunk") return on_chunk(observer, command, reply, std::move(news));
  if (op == "interrupt") return reply(interrupt(command));
  if (op == "kill") return reply(kill(observer_name, command));
  if (op == "pause" || op == "go") return reply(hold(observer_name, op == "pause"));
  if (op == "barrier" || op == "merge") return swap_rule(observer, observer_name, command, std::move(reply));
  if (op == "checkpoint") {
    return run_on_nodes(observer, {server_address(0)}, kCheckpoint, {}, observer_name + " requests a checkpoint, into ",
                        std::move(reply));
  }
  reply(refusal(Code::unsupported, "there is no command '" + op + "' for a run"));
}

// ---- chunks ----

void ConsoleHub::on_chunk(uint64_t observer, const json& command, const Callback& reply, Callback news) {
  Chunk chunk;
  chunk.observer = chunk.quota_observer = observer;
  chunk.source = text_field(command, "source");
  chunk.news = std::move(news);
  chunk.request.name = text_field(command, "name");
  if (chunk.request.name.empty()) chunk.request.name = "=chunk";
  chunk.request.mode = text_field(command, "mode");
  chunk.request.limit =
      command.value("limit", json()).is_number_unsigned() ? command["limit"].get<uint64_t>() : kOutputLimit;
  if (chunk.source.size() > kMaxSource) return reply(refusal(Code::full, "a chunk has at most 1 MiB of text"));
  if (const Status room = has_room(observer, chunk.source.size()); !room) {
    return reply(refusal(room.error().code, room.error().message));
  }
  const MembershipPtr table = sources_.membership();
  const json nodes = command.value("nodes", json("all"));
  chunk.together = nodes == "spmd";
  if (chunk.together && !ready()) {
    return reply(refusal(Code::unsupported,
                         "the job of this run does not wait for chunks that run on all nodes together; send it to "
                         "nodes, or start `actorhost repl` for a cluster of your own"));
  }
  if (nodes.is_array()) {
    for (const json& value : nodes) {
      const auto node = node_of(value);
      if (!node || (is_worker(*node) && !table->alive(*node))) {
        return reply(refusal(Code::bad_argument, "there is no node " + json_text(value)));
      }
      chunk.missing.insert(*node);
    }
  } else {
    for (const Member& member : table->workers()) chunk.missing.insert(worker_address(member.id));
  }
  if (chunk.missing.empty()) return reply(refusal(Code::bad_argument, "the chunk is for no node"));
  json listed = json::array();
  for (const Address node : chunk.missing) listed.push_back(name_of(node));
  Chunk& added = add(std::move(chunk));
  reply({{"ok", true}, {"chunk", added.request.chunk}, {"nodes", std::move(listed)}});
  if (!added.together) return begin(added.request.chunk, added);
  together_.push_back(added.request.chunk);
  begin_next();
}

/// Whether an observer may have another chunk with so many bytes of source text.
Status ConsoleHub::has_room(uint64_t observer, size_t bytes) const {
  if (chunks_.size() >= kMaxChunks) return Error{Code::full, "1000 chunks are in progress already"};
  size_t count = 0;
  for (const auto& [id, chunk] : chunks_) {
    if (chunk.quota_observer != observer) continue;
    ++count;
    bytes += chunk.source.size();
    for (const std::string& argument : chunk.request.arguments) bytes += argument.size();
  }
  if (count < kMaxChunksOfOne && bytes <= kMaxSourcesOfOne) return {};
  return Error{Code::full, "an observer has at most 250 chunks in progress, with 16 MiB of text together"};
}

ConsoleHub::Chunk& ConsoleHub::add(Chunk chunk) {
  const ChunkId id = ++newest_;
  chunk.request.chunk = id;
  chunk.request.together = chunk.together;
  return chunks_[id] = std::move(chunk);
}

/// Sends a chunk to the processes of its nodes.
void ConsoleHub::begin(ChunkId id, Chunk& chunk) {
  chunk.begun = true;
  std::map<ProcessId, std::vector<Address>> by_process;
  std::vector<Address> lost;
  for (const Address node : chunk.missing) {
    const ProcessId process = home_of(node);
    if (process == kNoProcess)
      lost.push_back(node);
    else
      by_process[process].push_back(node);
  }
  if (chunk.together) by_process[0];  // servers, also later ones
  const Blob source = Blob::copy_of(chunk.source);
  for (auto& [process, nodes] : by_process) {
    ConsoleRequest request = chunk.request;
    request.nodes = std::move(nodes);
    sources_.send(process, make_frame(console_kind::request, service_address(0), service_address(process), 0,
                                      pack(request), source));
  }
  for (const Address node : lost) {
    ConsoleDone done{id, node, false, false, false};
    done.error = name_of(node) + " is lost";
    on_done(done, {});
  }
}

void ConsoleHub::begin_next() {
  while (!together_.empty()) {
    const auto at = chunks_.find(together_.front());
    if (at != chunks_.end() && at->second.begun) return;
    if (at == chunks_.end()) {
      together_.pop_front();
      continue;
    }
    at->second.request.restarts = restarts_;
    at->second.request.actions = sources_.actions(false);
    return begin(at->first, at->second);
  }
}

json ConsoleHub::interrupt(const json& command) {
  const json id = command.value("chunk", json());
  const auto at = id.is_number_unsigned() ? chunks_.find(id.get<ChunkId>()) : chunks_.end();
  if (at == chunks_.end()) return {{"ok", true}, {"running", false}};
  if (at->second.begun) {
    cut(at->second, "");
  } else {
    close(at);
  }
  return {{"ok", true}, {"running", true}};
}

/// Ends a chunk on all its nodes; with a non-empty `why` only its waits.
void ConsoleHub::cut(const Chunk& chunk, const std::string& why) {
  std::set<ProcessId> processes;
  if (chunk.together) processes.insert(0);
  for (const Address node : chunk.missing) processes.insert(home_of(node));
  processes.erase(kNoProcess);
  for (const ProcessId process : processes) {
    sources_.send(process, make_frame(console_kind::cut, service_address(0), service_address(process), 0,
                                      pack(ConsoleCut{chunk.request.chunk, why})));
  }
}

void ConsoleHub::leave(uint64_t observer) {
  std::vector<ChunkId> own;
  for (const auto& [id, chunk] : chunks_) {
    if (chunk.observer == observer) own.push_back(id);
  }
  for (const ChunkId id : own) {
    const auto at = chunks_.find(id);
    if (at == chunks_.end()) continue;
    at->second.news = nullptr;
    at->second.reply = nullptr;
    if (at->second.begun) {
      cut(at->second, "");
    } else {
      close(at);
    }
  }
}

// ---- frames of processes ----

Status ConsoleHub::take(const Frame& frame) {
  if (frame.kind == console_kind::done) {
    AH_LET(const auto done, unpack<ConsoleDone>(frame.meta.view()));
    on_done(done, frame.body.view());
    return {};
  }
  AH_LET(const auto from, unpack<ConsoleFrom>(frame.meta.view()));
  if (frame.kind == console_kind::output) on_output(from, frame.body.view());
  if (frame.kind == console_kind::ready) ready_.insert(from.node);
  return {};
}

json ConsoleHub::news_of(const char* event, ChunkId chunk, Address node) const {
  json news = {{"event", event}, {"chunk", chunk}, {"name", name_of(node)}};
  if (is_worker(node)) news["id"] = address_index(node);
  return news;
}

void ConsoleHub::on_output(const ConsoleFrom& from, std::string_view text) {
  const auto at = chunks_.find(from.chunk);
  if (at == chunks_.end() || !at->second.news) return;
  json news = news_of("output", from.chunk, from.node);
  news["text"] = text;
  at->second.news(news);
}

void ConsoleHub::on_done(const ConsoleDone& done, std::string_view values) {
  const auto at = chunks_.find(done.chunk);
  if (at == chunks_.end()) return;
  Chunk& chunk = at->second;
  if (chunk.together && is_server(done.node)) {
    if (done.ok || done.interrupted) return;
    chunk.server_error = name_of(done.node) + ": " + done.error;
    if (done.still || sources_.serving()) fail(chunk, chunk.server_error);
    return;
  }
  if (!chunk.missing.contains(done.node)) return;
  if (chunk.together && !done.ok && done.ran && !done.interrupted) fail(chunk, name_of(done.node) + ": " + done.error);
  if (done.still) return;
  // A lost node fails no chunk: engines recover from it. A node that ended the chunk before running it entered no
  // action.
  chunk.failed = chunk.failed || (!done.ok && (done.ran || done.interrupted));
  chunk.missing.erase(done.node);
  end_of(chunk, done, values);
  if (chunk.missing.empty()) close(chunks_.find(done.chunk));
}

/// Reports to the observer how the chunk has ended on a node.
void ConsoleHub::end_of(Chunk& chunk, const ConsoleDone& done, std::string_view values) {
  if (chunk.reply) {
    const Callback reply = std::exchange(chunk.reply, nullptr);
    if (!done.ok) return reply(refusal(Code::script, first_line(done.error)));
    return reply({{"ok", true}, {"before", values}});
  }
  if (!chunk.news) return;
  json news = news_of("result", done.chunk, done.node);
  news["ok"] = done.ok;
  news["interrupted"] = done.interrupted;
  news["ran"] = done.ran;
  news["text"] = values;
  if (!done.ok) news["error"] = done.error;
  news["seconds"] = done.seconds;
  news["left_out"] = done.left_out;
  chunk.news(news);
}

/// A node has failed in a chunk for all nodes: the other nodes' waits for it would never end.
void ConsoleHub::fail(Chunk& chunk, const std::string& why) {
  if (std::exchange(chunk.failed, true)) return;
  if (chunk.news && why == chunk.server_error) {
    json news = news_of("result", chunk.request.chunk, server_address(0));
    news["ok"] = false;
    news["error"] = why;
    chunk.news(news);
  }
  cut(chunk, "the chunk has failed on " + first_line(why));
}

void ConsoleHub::action_entered() {
  const auto at = together_.empty() ? chunks_.end() : chunks_.find(together_.front());
  if (at == chunks_.end() || at->second.server_error.empty() || !sources_.serving()) return;
  fail(at->second, at->second.server_error);
}

/// The chunk has ended on all nodes, or never began.
void ConsoleHub::close(Chunks::iterator at) {
  const Chunk chunk = std::move(at->second);
  chunks_.erase(at);
  if (chunk.together && chunk.begun) {
    if (chunk.failed) {
      ++restarts_;
      sources_.actions(true);
    }
    to_all(console_kind::over, pack(ConsoleOver{chunk.request.chunk, !chunk.failed}));
  }
  if (chunk.news) chunk.news({{"event", "over"}, {"chunk", chunk.request.chunk}, {"ok", chunk.begun && !chunk.failed}});
  if (chunk.together) begin_next();
}

void ConsoleHub::membership_changed() {
  const MembershipPtr table = sources_.membership();
  std::erase_if(ready_, [&](Address node) { return !table->alive(address_index(node)); });
  if (paused_) to_all(console_kind::hold, pack(ConsoleHold{true}));  // also to new processes
  std::vector<ConsoleDone> lost;
  for (const auto& [id, chunk] : chunks_) {
    if (!chunk.begun) continue;
    for (const Address node : chunk.missing) {
      if (!is_worker(node) || table->alive(address_index(node))) continue;
      ConsoleDone done{id, node, false, false, false};
      done.error = name_of(node) + " is lost";
      lost.push_back(std::move(done));
    }
  }
  for (const ConsoleDone& done : lost) on_done(done, {});
}

bool ConsoleHub::ready() const {
  const MembershipPtr table = sources_.membership();
  return !ready_.empty() && std::all_of(table->workers().begin(), table->workers().end(), [this](const Member& member) {
    return ready_.contains(worker_address(member.id));
  });
}

// ---- changing the run ----

json ConsoleHub::kill(const std::string& observer_name, const json& command) {
  const auto node = node_of(command.value("id", json()));
  const MembershipPtr table = sources_.membership();
  if (!node || !is_worker(*node) || !table->alive(*node)) {
    return refusal(Code::bad_argument, "kill takes the id of a live worker");
  }
  const ProcessId process = table->home_of(*node);
  if (process == 0) {
    return refusal(Code::unsupported, name_of(*node) +
                                          " is a thread of the coordinator's process, with which the "
                                          "run would end; start the run with --isolate, or on several "
                                          "hosts, to kill single nodes");
  }
  json names = json::array();
  std::string list;
  for (const Member& member : table->workers()) {
    if (member.process != process) continue;
    names.push_back(name_of(worker_address(member.id)));
    list += (list.empty() ? "" : ", ") + name_of(worker_address(member.id));
  }
  log_.warn("console", observer_name + " kills " + list);
  sources_.send(process, make_frame(console_kind::leave, service_address(0), service_address(process), 0));
  return {{"ok", true}, {"killed", std::move(names)}};
}

json ConsoleHub::hold(const std::string& observer_name, bool paused) {
  if (std::exchange(paused_, paused) != paused) {
    log_.warn("console", observer_name + (paused ? " has paused the run: its workers stop at their next engine call"
                                                 : " resumes the run"));
    to_all(console_kind::hold, pack(ConsoleHold{paused}));
  }
  return {{"ok", true}, {"paused", paused_}};
}

void ConsoleHub::swap_rule(uint64_t observer, const std::string& observer_name, const json& command, Callback reply) {
  const std::string what = text_field(command, "op");
  const std::string spec = text_field(command, "spec");
  const std::string name = text_field(command, "name");
  const std::string text = observer_name + " sets the " + (what == "merge" ? "merge rule" : what) + " to " +
                           (spec.empty() ? name : spec) + "; it was ";
  std::set<Address> nodes = {server_address(0)};
  const bool peers = sources_.peering();
  if (peers) {
    nodes.clear();
    for (const Member& member : sources_.membership()->workers()) nodes.insert(worker_address(member.id));
  }
  run_on_nodes(observer, std::move(nodes), peers ? kSwapRuleOfPeers : kSwapRule,
               {what, spec, text_field(command, "source"), name}, text, std::move(reply));
}

/// Runs a command's chunk on these nodes. The command replies with its first value as "before"; `what` is for the log.
void ConsoleHub::run_on_nodes(uint64_t observer, std::set<Address> nodes, const char* source,
                              std::vector<std::string> arguments, const std::string& what, Callback reply) {
  size_t bytes = 0;
  for (const std::string& argument : arguments) bytes += argument.size();
  if (const Status room = has_room(observer, bytes); !room) {
    return reply(refusal(room.error().code, room.error().message));
  }
  Chunk chunk;
  chunk.quota_observer = observer;
  chunk.source = source;
  chunk.request.name = "=command";
  chunk.request.mode = "plain";
  chunk.request.limit = kOutputLimit;
  chunk.request.arguments = std::move(arguments);
  chunk.missing = std::move(nodes);
  chunk.reply = [this, what, reply = std::move(reply)](const json& result) {
    if (result.value("ok", false)) log_.warn("console", what + result["before"].get<std::string>());
    reply(result);
  };
  Chunk& added = add(std::move(chunk));
  begin(added.request.chunk, added);
}

// ---- helpers ----

void ConsoleHub::to_all(Kind kind, const std::string& meta) {
  for (const ProcessInfo& info : sources_.membership()->processes()) {
    sources_.send(info.process, make_frame(kind, service_address(0), service_address(info.process), 0, meta));
  }
}

ProcessId ConsoleHub::home_of(Address node) const { return is_server(node) ? 0 : sources_.membership()->home_of(node); }

std::string ConsoleHub::name_of(Address node) const {
  if (!is_worker(node)) return address_name(node);
  const auto rank = sources_.membership()->rank_of(address_index(node));
  return rank ? "rank " + std::to_string(*rank) : address_name(node);
}

}  // namespace actorhost
