#include "host/cluster/look/control_entry.hpp"

#include <utility>

namespace actorhost {

ControlEntry::ControlEntry(StreamOptions options, Log& log, Events events)
    : events_(std::move(events)), transport_(std::move(options), log, static_cast<LinkEvents&>(*this)) {}

ControlEntry::~ControlEntry() { close(); }

Status ControlEntry::listen(const std::string& url) {
  const auto bound = transport_.listen(url);
  return bound ? Status() : Status(bound.error());
}

Status ControlEntry::send(LinkId link, Frame&& frame) { return transport_.send_on(link & ~kBit, std::move(frame)); }

void ControlEntry::finish(LinkId link, double seconds) { transport_.finish_link(link & ~kBit, seconds); }

void ControlEntry::close_link(LinkId link, const std::string& reason) { transport_.close_link(link & ~kBit, reason); }

void ControlEntry::close() { transport_.close(); }

void ControlEntry::on_link_down(LinkId link, ProcessId, const std::string&) { events_.down(link | kBit); }

void ControlEntry::on_service_frame(LinkId link, Frame&& frame) { events_.frame(link | kBit, std::move(frame)); }

void ControlEntry::on_reader_frame(LinkId link, Frame&& frame) { events_.reader_frame(link | kBit, std::move(frame)); }

}  // namespace actorhost
