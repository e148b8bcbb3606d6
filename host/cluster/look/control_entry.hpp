#pragma once
// The entry of a run for observers on this machine: a socket that only this user may open. It is separate from the
// run's transport, so a run without sockets has one too. Its links have their own numbers, which differ from the
// transport's by a bit. Callbacks run on the links' threads and must not block.

#include <functional>
#include <string>

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

  ControlEntry(StreamOptions options, Log& log, Events events);
  ~ControlEntry() override;

  /// Code::io if the socket is in use.
  Status listen(const std::string& url);
  /// Never blocks. Code::full if the other end does not read.
  Status send(LinkId link, Frame&& frame);
  /// Closes a link once the other end has read the queued frames, or after `seconds`.
  void finish(LinkId link, double seconds);
  size_t queued(LinkId link) const { return transport_.queued(link & ~kBit); }
  void close_link(LinkId link, const std::string& reason);
  void close();

 private:
  void on_link_up(LinkId, bool, const std::string&) override {}
  void on_link_down(LinkId link, ProcessId process, const std::string& reason) override;
  void on_service_frame(LinkId link, Frame&& frame) override;
  void on_reader_frame(LinkId link, Frame&& frame) override;
  void on_link_wanted(ProcessId) override {}

  Events events_;
  StreamTransport transport_;
};

}  // namespace actorhost
