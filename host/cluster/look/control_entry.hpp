#pragma once
// The entry of a run for observers on this machine: a socket that only this user may open. It is separate from the
// run's transport, so a run without sockets has one too. Its links have their own numbers, which differ from the
// transport's by a bit. Callbacks run on the links' threads and must not block.

#include <functional>
#include <string>
#include <utility>

#include "host/net/stream_transport.hpp"

namespace actorhost {

class ControlEntry final : private LinkEvents {
 public:
  static constexpr LinkId kBit = LinkId{1} << 62;
  static constexpr bool is_one(LinkId link) noexcept { return (link & kBit) != 0; }

  struct Events {
    std::function<void(LinkId, Frame&&)> frame;
    std::function<void(LinkId, Frame&&)> reader_frame;  // of an observer with only the reading token
    std::function<void(LinkId)> down;
  };

  ControlEntry(StreamOptions options, Log& log, Events events)
      : events_(std::move(events)), transport_(std::move(options), log, static_cast<LinkEvents&>(*this)) {}
  ~ControlEntry() override { close(); }

  /// Code::io if the socket is in use.
  Status listen(const std::string& url) {
    const auto bound = transport_.listen(url);
    return bound ? Status() : Status(bound.error());
  }
  /// Never blocks. Code::full if the other end does not read.
  Status send(LinkId link, Frame&& frame) { return transport_.send_on(link & ~kBit, std::move(frame)); }
  /// Closes a link once the other end has read the queued frames, or after `seconds`.
  void finish(LinkId link, double seconds) { transport_.finish_link(link & ~kBit, seconds); }
  size_t queued(LinkId link) const { return transport_.queued(link & ~kBit); }
  void close_link(LinkId link, const std::string& reason) { transport_.close_link(link & ~kBit, reason); }
  void close() { transport_.close(); }

 private:
  void on_link_up(LinkId, std::optional<ProcessId>, const std::string&) override {}
  void on_link_down(LinkId link, ProcessId, const std::string&) override { events_.down(link | kBit); }
  void on_service_frame(LinkId link, Frame&& frame) override { events_.frame(link | kBit, std::move(frame)); }
  void on_reader_frame(LinkId link, Frame&& frame) override { events_.reader_frame(link | kBit, std::move(frame)); }
  void on_link_wanted(ProcessId) override {}

  Events events_;
  StreamTransport transport_;
};

}  // namespace actorhost
