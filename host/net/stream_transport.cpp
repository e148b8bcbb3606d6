#include "host/net/stream_transport.hpp"

#include <bit>
#include <system_error>
#include <utility>

namespace actorhost {

namespace {

constexpr const char* kLogSource = "network";
constexpr double kAcceptPause = 0.1;  // seconds after a failed accept, usually for lack of file descriptors

std::string without_scheme(const std::string& url) {
  const size_t at = url.find("://");
  return at == std::string::npos ? url : url.substr(at + 3);
}

bool for_transport(Kind kind) { return kind == Kind::heartbeat || kind == Kind::farewell; }

}  // namespace

Result<std::string> StreamTransport::listen(const std::string& url) {
  auto listener = options_.network->listen(url, options_.tls);
  if (!listener.ok()) return listener.error();
  auto listening = std::make_unique<Listening>();
  listening->listener = std::move(*listener);
  StreamListener& at = *listening->listener;
  std::lock_guard lock(mutex_);
  if (closing_) return Error{Code::interrupted, "the transport of this host is closed"};
  listening->thread = Task([this, &at] { accept(at); });
  listening_.push_back(std::move(listening));
  return at.url();
}

void StreamTransport::accept(StreamListener& listener) {
  for (;;) {
    auto stream = listener.accept();
    if (stream.ok()) {
      reap();
      admit(std::move(*stream));
      continue;
    }
    if (closing_ || stream.error().code == Code::interrupted) return;
    log_.warn(kLogSource, stream.error().message);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kAcceptPause, [this] { return closing_.load(); });
  }
}

void StreamTransport::admit(std::unique_ptr<Stream> stream) {
  if (unproved_.fetch_add(1) >= options_.max_unproved) {
    unproved_.fetch_sub(1);
    return refuse_connection("too many connections at a time have not proved the token; closed one");
  }
  const auto link = add_link(false, std::move(stream));
  if (link && start_thread(link, false)) return;
  unproved_.fetch_sub(1);
}

Result<LinkId> StreamTransport::dial(const std::string& url, double seconds, ProcessId process) {
  reap();
  {
    std::lock_guard lock(mutex_);
    if (closing_) return Error{Code::interrupted, "the transport of this host is closed"};
    ++dials_;
  }
  auto link = dial_link(url, clock_.now() + seconds, process);
  std::lock_guard lock(mutex_);
  --dials_;
  changed_.notify_all();
  return link;
}

Result<LinkId> StreamTransport::dial_link(const std::string& url, double deadline, ProcessId process) {
  auto stream = connect(url, deadline - clock_.now());
  if (!stream.ok()) return stream.error();
  const auto link = add_link(true, std::move(*stream));
  if (!link) return Error{Code::interrupted, "the transport of this host is closed"};
  const Status proved = prove(*link, without_scheme(url), deadline - clock_.now());
  if (!proved.ok()) {
    retire(*link);
    return proved.error();
  }
  events_.on_link_up(link->id(), process, link->peer());
  if (!start_thread(link, true)) {
    events_.on_link_down(link->id(), link->process(), "no thread could be started");
    return Error{Code::io, "no thread could be started for the link to " + url};
  }
  return link->id();
}

Result<std::unique_ptr<Stream>> StreamTransport::connect(const std::string& url, double seconds) {
  auto dialer = options_.network->dialer(url, options_.tls);
  if (!dialer.ok()) return dialer.error();
  {
    std::lock_guard lock(mutex_);
    if (closing_) return Error{Code::interrupted, "the transport of this host is closed"};
    dialers_.insert(dialer->get());
  }
  auto stream = (*dialer)->dial(seconds);
  std::lock_guard lock(mutex_);
  dialers_.erase(dialer->get());
  return stream;
}

PortState StreamTransport::probe(const std::string& url, double seconds) {
  const std::string plain = url.starts_with("tls+") ? url.substr(4) : url;
  const double deadline = clock_.now() + seconds;
  PortState state = PortState::unknown;
  for (double pause = 0.005; clock_.now() < deadline; pause *= 10) {
    auto dialer = options_.network->dialer(plain, {});
    if (!dialer.ok()) return PortState::unknown;
    {
      std::lock_guard lock(mutex_);
      if (closing_) return PortState::unknown;
      ++dials_;
      dialers_.insert(dialer->get());
    }
    state = (*dialer)->probe(std::min(40 * pause, deadline - clock_.now()));  // the first attempt 0.2 s
    std::unique_lock lock(mutex_);
    dialers_.erase(dialer->get());
    --dials_;
    changed_.notify_all();
    if (state == PortState::closed) return state;
    changed_.wait_for(lock, std::min(pause, seconds), [this] { return closing_.load(); });
  }
  return state;
}

std::shared_ptr<Link> StreamTransport::add_link(bool dialled, std::unique_ptr<Stream> stream) {
  std::lock_guard lock(mutex_);
  if (closing_) return nullptr;
  const LinkId id = ++last_link_;
  auto link =
      std::make_shared<Link>(id, dialled, std::move(stream), options_.max_queued_bytes, options_.limits, directory_);
  connections_[id].link = link;
  return link;
}

Status StreamTransport::prove(Link& link, const std::string& name, double seconds) {
  AH_TRY(link.prove(options_.token, name, seconds, options_.share_memory));
  if (!link.sharing_problem().empty() && !told_.exchange(true)) {
    log_.info(kLogSource, "no shared memory with " + name + " (" + link.sharing_problem() + "): using its connection");
  }
  return {};
}

bool StreamTransport::start_thread(const std::shared_ptr<Link>& link, bool proved) {
  try {
    std::lock_guard lock(mutex_);
    connections_.at(link->id()).thread = Task([this, link, proved] { serve(link, proved); });
    return true;
  } catch (const std::system_error& error) {
    log_.warn(kLogSource, "closed a connection, since no thread could be started: " + std::string(error.what()));
    retire(*link);
    return false;
  }
}

void StreamTransport::serve(const std::shared_ptr<Link>& link, bool proved) {
  if (!proved) {
    const Status status = prove(*link, link->peer(), options_.handshake_seconds);
    unproved_.fetch_sub(1);
    if (!status.ok()) {
      if (status.error().code != Code::interrupted) refuse_connection(status.error().message);
      return retire(*link);
    }
    if (!closing_) events_.on_link_up(link->id(), std::nullopt, link->peer());
  }
  if (!link->reads_only()) polls_.add(link);
  const std::string reason =
      link->read([this, &link](std::vector<Frame>& frames) { return take(*link, frames, OnFull::wait); });
  polls_.remove(link);
  link->close(reason);
  link->writer().close();
  link->set_ended();
  table_.remove(*link);
  log_.debug(kLogSource, "link to " + link->peer() + " is over: " + reason);
  if (!closing_) events_.on_link_down(link->id(), link->process(), reason);
  retire(*link);
}

bool StreamTransport::take(Link& link, std::vector<Frame>& frames, OnFull on_full) {
  for (size_t i = 0; i < frames.size();) {
    Frame& frame = frames[i];
    if (for_transport(frame.kind)) {
      if (frame.kind == Kind::farewell) return false;
      ++i;
      continue;
    }
    if (link.reads_only()) {
      if (closing_) return false;
      events_.on_reader_frame(link.id(), std::move(frame));
      ++i;
      continue;
    }
    const bool for_service = link.process() == kNoProcess || frame.dst == kNoAddress ||
                             frame.kind == Kind::link_hello || (is_service(frame.dst) && !directory_.has(frame.dst));
    if (for_service) {
      if (closing_) return false;
      events_.on_service_frame(link.id(), std::move(frame));
      ++i;
      continue;
    }
    const Address dst = frame.dst;
    const bool control = is_control(frame.kind);
    size_t end = i + 1;
    while (end < frames.size() && frames[end].dst == dst && is_control(frames[end].kind) == control &&
           !for_transport(frames[end].kind)) {
      ++end;
    }
    if (!take_run(link, std::span(frames).subspan(i, end - i), on_full)) return false;
    i = end;
  }
  return true;
}

/// Puts frames into one mailbox. While the mailbox is full, the link is not read, so its sender has to wait.
bool StreamTransport::take_run(Link& link, std::span<Frame> run, OnFull on_full) {
  const Address dst = run.front().dst;
  for (;;) {
    size_t taken = 0;
    auto put = directory_.deliver_run(run, false, taken);
    if (put == Mailbox::Put::ok) return true;
    run = run.subspan(taken);
    if (put == Mailbox::Put::full && on_full == OnFull::exceed) {
      link.pause_polls(dst);
      put = directory_.deliver_run(run, true, taken);
      run = run.subspan(taken);
    }
    if (put != Mailbox::Put::full) {
      dropped_.fetch_add(run.size(), std::memory_order_relaxed);
      return true;
    }
    if (!link.wait_for_room(dst)) return false;
  }
}

bool StreamTransport::pop_all(Mailbox& inbox, SpinWait& spin, std::vector<Frame>& out, double seconds) {
  if (seconds <= 0) return inbox.pop_all(out, seconds);
  const auto ready = [&inbox] { return inbox.ready(); };
  const bool has_bells = polls_.has_bells();
  const double deadline =
      has_bells ? clock_.now() + seconds : 0;  // no bells in a rehearsal, where the clock takes time
  double left = seconds;
  while (!polls_.until(ready, spin, directory_.nodes())) {
    if (left <= 0) return false;
    if (!has_bells || !polls_.sleep(inbox, left)) {
      const LinkPolls::Sleep sleep(polls_);
      return inbox.pop_all(out, left);
    }
    left = deadline - clock_.now();
  }
  return inbox.pop_all(out, seconds);
}

void StreamTransport::retire(Link& link) {
  const auto sent = link.writer().counters();
  std::lock_guard lock(mutex_);
  const auto found = connections_.find(link.id());
  past_.frames_sent += sent.frames;
  past_.bytes_sent += sent.bytes;
  past_.writes += sent.writes;
  past_.frames_received += link.frames_received();
  past_.bytes_received += link.bytes_received();
  if (found->second.thread.joinable()) ended_.push_back(std::move(found->second.thread));
  connections_.erase(found);
  changed_.notify_all();
}

void StreamTransport::reap() {
  std::vector<Task> ended;
  {
    std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (Task& thread : ended) thread.join();
}

/// Logs a refused connection. A port scan must not fill the log: logs the first few, and then each doubling of their
/// number.
void StreamTransport::refuse_connection(const std::string& reason) {
  const uint64_t count = refused_.fetch_add(1) + 1;
  if (count > 10 && !std::has_single_bit(count)) return;
  log_.warn(kLogSource, "connection refused: " + reason + " (" + std::to_string(count) + " so far)");
}

std::shared_ptr<Link> StreamTransport::find(LinkId id) const {
  std::lock_guard lock(mutex_);
  const auto found = connections_.find(id);
  return found != connections_.end() ? found->second.link : nullptr;
}

void StreamTransport::assign(LinkId id, ProcessId process) {
  const auto link = find(id);
  if (!link) return;
  if (!table_.assign(link, process)) {
    link->close("a second connection to " + address_name(service_address(process)));
    return;
  }
  // The link's reader sets `ended` before it removes the link, so the reader or this line removes an ended link.
  if (link->ended()) table_.remove(*link);
}

void StreamTransport::forget(ProcessId process) {
  const auto link = table_.forget(process);
  if (link) link->close("given up by this host");
}

Status StreamTransport::send_frame(Frame&& frame, Writes* writes) {
  const Address dst = frame.dst;
  const auto put = directory_.deliver(std::move(frame));
  if (put) return delivery_status(put, dst, closing_);
  if (closing_) return Error{Code::interrupted, "the transport of this host is closed"};
  if (is_service(dst) && address_index(dst) == self_) {
    events_.on_service_frame(0, std::move(frame));
    return {};
  }
  const auto outcome = table_.send(std::move(frame));
  if (outcome.write && writes != nullptr) {
    writes->push_back([link = outcome.write] { link->writer().write(); });
  } else if (outcome.write) {
    outcome.write->writer().write();
  }
  if (outcome.wanted != kNoProcess) events_.on_link_wanted(outcome.wanted);
  switch (outcome.sent) {
    case LinkTable::Sent::ok: return {};
    case LinkTable::Sent::full: return Error{Code::full, "no room on the way to " + address_name(dst)};
    case LinkTable::Sent::no_route: break;
  }
  return delivery_status(std::nullopt, dst, closing_);
}

Status StreamTransport::send_on(LinkId id, Frame&& frame) {
  const auto link = find(id);
  if (!link) return Error{Code::peer_lost, "the connection is over"};
  const size_t times = is_control(frame.kind) ? Mailbox::kUrgentFactor : 1;
  const auto outcome = link->writer().put(std::move(frame), times);
  if (outcome.write) link->writer().write();
  if (outcome.put == Mailbox::Put::ok) return {};
  if (outcome.put == Mailbox::Put::full) return Error{Code::full, "no room on the way to " + link->peer()};
  return Error{Code::peer_lost, "the connection to " + link->peer() + " is over"};
}

void StreamTransport::when_room(Address dst, std::function<void()> callback) {
  if (directory_.has(dst)) {
    directory_.when_room(dst, std::move(callback));
  } else {
    table_.when_room(dst, std::move(callback));
  }
}

std::vector<StreamTransport::LinkCounters> StreamTransport::links() const {
  std::vector<LinkCounters> out;
  std::lock_guard lock(mutex_);
  for (const auto& [id, connection] : connections_) {
    Link& link = *connection.link;
    if (link.process() == kNoProcess) continue;
    const auto sent = link.writer().counters();
    out.push_back(
        {link.process(), sent.frames, link.frames_received(), sent.bytes, link.bytes_received(), sent.queued});
  }
  return out;
}

StreamTransport::Counters StreamTransport::counters() const {
  std::lock_guard lock(mutex_);
  Counters all = past_;
  for (const auto& [id, connection] : connections_) {
    const auto sent = connection.link->writer().counters();
    all.frames_sent += sent.frames;
    all.bytes_sent += sent.bytes;
    all.writes += sent.writes;
    all.frames_received += connection.link->frames_received();
    all.bytes_received += connection.link->bytes_received();
  }
  all.refused = refused_;
  all.dropped = dropped_;
  return all;
}

void StreamTransport::close() {
  std::call_once(closed_once_, [this] {
    std::vector<std::unique_ptr<Listening>> listening;
    std::vector<std::shared_ptr<Link>> links;
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
      listening.swap(listening_);
      for (StreamDialer* dialer : dialers_) dialer->cancel();
      for (const auto& [id, connection] : connections_) links.push_back(connection.link);
    }
    changed_.notify_all();
    directory_.close();
    for (const auto& at : listening) at->listener->close();
    for (const auto& link : links) link->close("closed by this host");
    for (const auto& at : listening) at->thread.join();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return connections_.empty() && dials_ == 0; });
    }
    reap();
    polls_.close();
    table_.close();
  });
}

size_t StreamTransport::queued(LinkId id) const {
  constexpr size_t kFrame = 256;  // memory of a queued frame in addition to its bytes
  const auto link = find(id);
  if (!link) return 0;
  const auto counters = link->writer().counters();
  return counters.queued + kFrame * counters.queued_frames;
}

void StreamTransport::close_link(LinkId id, const std::string& reason) {
  if (const auto link = find(id)) link->close(reason);
}

void StreamTransport::finish_link(LinkId id, double seconds) {
  if (const auto link = find(id)) link->finish(seconds);
}

double StreamTransport::last_received(ProcessId process) const {
  const auto link = table_.link_of(process);
  return link ? link->last_received() : 0;
}

}  // namespace actorhost
