#include "host/cluster/cluster_messages.hpp"

#include "host/wire/packer.hpp"

namespace actorhost {

namespace {

using Settings = std::map<std::string, std::string>;

void put_settings(Packer& out, const Settings& settings) {
  out.put(static_cast<uint32_t>(settings.size()));
  for (const auto& [name, value] : settings) out.put(name).put(value);
}

Settings get_settings(Unpacker& in) {
  Settings settings;
  for (uint32_t left = in.count(8); left > 0; --left) {
    std::string name(in.text());
    settings[std::move(name)] = in.text();
  }
  return settings;
}

/// Of a version that knows more codes than this one: an error all the same.
Code get_code(Unpacker& in) {
  const auto code = in.get<uint8_t>();
  return code <= static_cast<uint8_t>(Code::internal) ? static_cast<Code>(code) : Code::internal;
}

/// A script chooses how long its errors and names are; a frame's metadata is bounded.
std::string_view clipped(std::string_view text) { return text.substr(0, kMaxTextBytes); }

template <typename T>
Result<T> finished(const Unpacker& in, T message, const char* what) {
  if (!in.done()) return Error{Code::bad_data, std::string("malformed ") + what + " message"};
  return message;
}

}  // namespace

std::string JoinMessage::encode() const {
  Packer out;
  out.put(run_id).put(job_name).put(job_hash).put(host).put(url).put(group).put(group_size).put(group_index);
  out.put(node_rank).put(nodes);
  put_settings(out, settings);
  return std::move(out).bytes();
}

Result<JoinMessage> JoinMessage::decode(std::string_view bytes) {
  Unpacker in(bytes);
  JoinMessage m;
  m.run_id = in.text();
  m.job_name = in.words();
  m.job_hash = in.get<uint64_t>();
  m.host = in.words();
  m.url = in.text();
  m.group = in.get<uint64_t>();
  m.group_size = in.get<uint32_t>();
  m.group_index = in.get<uint32_t>();
  m.node_rank = in.get<int32_t>();
  m.nodes = in.get<uint32_t>();
  m.settings = get_settings(in);
  return finished(in, std::move(m), "join");
}

std::string WelcomeMessage::encode() const {
  Packer out;
  out.put(process).put(run_id).put(job_name).put(job_hash);
  put_settings(out, settings);
  out.put(static_cast<uint32_t>(args.size()));
  for (const std::string& arg : args) out.put(arg);
  return std::move(out).bytes();
}

Result<WelcomeMessage> WelcomeMessage::decode(std::string_view bytes) {
  Unpacker in(bytes);
  WelcomeMessage m;
  m.process = in.get<ProcessId>();
  m.run_id = in.text();
  m.job_name = in.words();
  m.job_hash = in.get<uint64_t>();
  m.settings = get_settings(in);
  for (uint32_t left = in.count(4); left > 0; --left) m.args.emplace_back(in.text());
  return finished(in, std::move(m), "welcome");
}

std::string EndMessage::encode() const {
  Packer out;
  out.put(static_cast<uint8_t>(code)).put(static_cast<uint8_t>(ok)).put(clipped(message)).put(origin);
  return std::move(out).bytes();
}

Result<EndMessage> EndMessage::decode(std::string_view bytes) {
  Unpacker in(bytes);
  EndMessage m;
  m.code = get_code(in);
  m.ok = in.get<uint8_t>() != 0;
  m.message = in.lines();
  m.origin = in.get<Address>();
  return finished(in, std::move(m), "end");
}

std::string ActionEnter::encode() const {
  Packer out;
  out.put(clipped(kind)).put(clipped(where));
  return std::move(out).bytes();
}

Result<ActionEnter> ActionEnter::decode(std::string_view bytes) {
  Unpacker in(bytes);
  ActionEnter m;
  m.kind = in.words();
  m.where = in.words();
  return finished(in, std::move(m), "action");
}

std::string ActionReply::encode() const {
  Packer out;
  out.put(static_cast<uint8_t>(ok)).put(static_cast<uint8_t>(replayed)).put(static_cast<uint8_t>(code));
  out.put(clipped(message));
  return std::move(out).bytes();
}

Result<ActionReply> ActionReply::decode(std::string_view bytes) {
  Unpacker in(bytes);
  ActionReply m;
  m.ok = in.get<uint8_t>() != 0;
  m.replayed = in.get<uint8_t>() != 0;
  m.code = get_code(in);
  m.message = in.words();
  return finished(in, std::move(m), "action reply");
}

std::string ModuleFind::encode() const {
  Packer out;
  out.put(clipped(name)).put(hash);
  return std::move(out).bytes();
}

Result<ModuleFind> ModuleFind::decode(std::string_view bytes) {
  Unpacker in(bytes);
  ModuleFind m;
  m.name = in.text();
  m.hash = in.get<uint64_t>();
  return finished(in, std::move(m), "module");
}

std::string ModuleReply::encode() const {
  Packer out;
  out.put(static_cast<uint8_t>(ok)).put(static_cast<uint8_t>(code)).put(clipped(chunk)).put(clipped(message));
  return std::move(out).bytes();
}

Result<ModuleReply> ModuleReply::decode(std::string_view bytes) {
  Unpacker in(bytes);
  ModuleReply m;
  m.ok = in.get<uint8_t>() != 0;
  m.code = get_code(in);
  m.chunk = in.words();
  m.message = in.words();
  return finished(in, std::move(m), "module reply");
}

namespace {

void put_waiting(Packer& out, const LongWait& waiting) {
  out.put(waiting.number).put(clipped(waiting.what)).put(static_cast<uint32_t>(waiting.absent.size()));
  for (const NodeId id : waiting.absent) out.put(id);
  out.put(static_cast<uint8_t>(waiting.outside));
}

LongWait get_waiting(Unpacker& in) {
  LongWait waiting;
  waiting.number = in.get<uint32_t>();
  waiting.what = in.words();
  waiting.absent.resize(in.count(sizeof(NodeId)));
  for (NodeId& id : waiting.absent) id = in.get<NodeId>();
  waiting.outside = in.get<uint8_t>() != 0;
  return waiting;
}

}  // namespace

std::string LongWait::encode() const {
  Packer out;
  put_waiting(out, *this);
  return std::move(out).bytes();
}

Result<LongWait> LongWait::decode(std::string_view bytes) {
  Unpacker in(bytes);
  LongWait waiting = get_waiting(in);
  return finished(in, std::move(waiting), "wait");
}

std::string Whereabouts::encode(const std::vector<Whereabouts>& list) {
  Packer out;
  out.put(static_cast<uint32_t>(list.size()));
  for (const Whereabouts& w : list) {
    out.put(w.id).put(w.actions).put(static_cast<uint8_t>(w.ended)).put(static_cast<uint8_t>(w.in_action));
    out.put(clipped(w.kind)).put(clipped(w.where));
    put_waiting(out, w.waiting);
    out.put(w.waiting.told);
  }
  return std::move(out).bytes();
}

Result<std::vector<Whereabouts>> Whereabouts::decode(std::string_view bytes) {
  Unpacker in(bytes);
  std::vector<Whereabouts> list(in.count(35));
  for (Whereabouts& w : list) {
    w.id = in.get<NodeId>();
    w.actions = in.get<uint32_t>();
    w.ended = in.get<uint8_t>() != 0;
    w.in_action = in.get<uint8_t>() != 0;
    w.kind = in.words();
    w.where = in.words();
    w.waiting = get_waiting(in);
    w.waiting.told = in.get<uint32_t>();
  }
  return finished(in, std::move(list), "whereabouts");
}

Frame make_frame(Kind kind, Address src, Address dst, uint32_t tag, std::string_view meta, Blob body) {
  Frame frame;
  frame.kind = kind;
  frame.src = src;
  frame.dst = dst;
  frame.tag = tag;
  frame.meta.assign(meta.data(), meta.size());
  frame.body = std::move(body);
  return frame;
}

}  // namespace actorhost
