#pragma once
// Where those who look into a run from this machine come in: a socket that only this user may open, beside the run's
// own transport, so that a run without sockets has it too. Links have numbers of their own here, told apart from the
// transport's by a bit. Callbacks come on the links' threads and must not block.

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
    std::function<void(LinkId, Frame&&)> reader_frame;  // of one that has proved the reading token only
    std::function<void(LinkId)> down;
  };

  ControlEntry(StreamOptions options, Log& log, Events events);
  ~ControlEntry() override;

  /// Code::io when the socket is taken.
  Status listen(const std::string& url);
  /// Never waits. Code::full when the other end does not read.
  Status send(LinkId link, Frame&& frame);
  /// Ends a link once the other end has read what is queued, at the latest after `seconds`.
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
