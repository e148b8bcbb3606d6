#include "host/rehearsal/message_chart.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "host/wire/frame.hpp"

namespace actorhost::rehearsal {

namespace {

constexpr double kLeft = 110;         // width of the column of times
constexpr double kTop = 60;           // height of the legend and of the hosts' names
constexpr double kPerSecond = 100e3;  // height of a second; of a step between two events at least and at most:
constexpr double kLeastStep = 4;
constexpr double kMostStep = 40;
constexpr double kLabelStep = 30;  // between two times in the column
constexpr const char* kColours[] = {"#999999", "#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd",
                                    "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#444444"};

const char* colour_of(std::string_view layer) {
  for (size_t i = 0; i < kKindRanges.size(); ++i) {
    if (layer == kKindRanges[i].layer) return kColours[i];
  }
  return "#cccccc";
}

template <typename... Values>
void append(std::string& out, const char* format, Values... values) {
  char line[400];
  std::snprintf(line, sizeof line, format, values...);
  out += line;
}

}  // namespace

std::string_view layer_of(std::string_view bytes) {
  uint16_t magic = 0;
  uint16_t kind = 0;
  if (bytes.size() < kHeaderBytes) return "";
  std::memcpy(&magic, bytes.data(), sizeof magic);
  std::memcpy(&kind, bytes.data() + 4, sizeof kind);
  if (magic != kFrameMagic) return "";
  for (const KindRange& range : kKindRanges) {
    if (within(Kind{kind}, range)) return range.layer;
  }
  return "";
}

void MessageChart::add(uint32_t from, uint32_t to, Time sent, Time arrives, std::string_view layer, size_t bytes) {
  messages_.push_back({from, to, sent, arrives, bytes, layer});
  if (messages_.size() > kMost) messages_.pop_front();
}

std::string MessageChart::svg(const std::vector<Fault>& faults) const {
  std::set<uint32_t> hosts;
  std::set<std::string_view> layers;
  std::map<Time, double> y;  // heights of times: an idle time takes a limited height
  for (const Message& message : messages_) {
    hosts.insert({message.from, message.to});
    layers.insert(message.layer);
    y[message.sent] = y[message.arrives] = 0;
  }
  const auto has = [&](Time at) {
    return !messages_.empty() && at >= messages_.front().sent && at <= y.rbegin()->first;
  };
  for (const Fault& fault : faults) {
    if (has(kStart + fault.at)) y[kStart + fault.at] = 0;
  }
  double height = kTop;
  Time previous = messages_.empty() ? 0 : messages_.front().sent;
  for (auto& [time, place] : y) {
    place = height += std::clamp(kPerSecond * seconds(time - previous), kLeastStep, kMostStep);
    previous = time;
  }
  const double column = hosts.size() > 12 ? 60 : 120;
  const double width = kLeft + column * static_cast<double>(hosts.size()) + 20;
  const auto x = [&](uint32_t host) {
    return kLeft + column * (0.5 + static_cast<double>(std::distance(hosts.begin(), hosts.find(host))));
  };

  std::string out;
  append(out,
         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
         "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
         std::max(width, kLeft + 110.0 * static_cast<double>(layers.size())), height + 30);
  double at = 10;
  for (const std::string_view layer : layers) {
    append(out, "<text x=\"%.0f\" y=\"18\" fill=\"%s\">%s</text>\n", at, colour_of(layer),
           layer.empty() ? "handshakes, parts" : layer.data());
    at += 110;
  }
  for (const uint32_t host : hosts) {
    append(out, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">host %u</text>\n", x(host), kTop - 14, host);
    append(out, "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#bbbbbb\"/>\n", x(host), kTop, x(host),
           height);
  }
  double labelled = 0;
  for (const auto& [time, place] : y) {
    if (place < labelled + kLabelStep) continue;
    append(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#666666\">%.6f s</text>\n", kLeft - 20,
           place + 4, seconds(time - kStart));
    labelled = place;
  }
  for (const Message& message : messages_) {
    const double x1 = x(message.from);
    const double y1 = y.at(message.sent);
    const double x2 = x(message.to);
    const double y2 = y.at(message.arrives);
    const char* const colour = colour_of(message.layer);
    append(out,
           "<g stroke=\"%s\" fill=\"%s\"><title>host %u to host %u: %s, %zu bytes, sent at %.6f s, arrives at %.6f "
           "s</title>",
           colour, colour, message.from, message.to, message.layer.empty() ? "part" : message.layer.data(),
           message.bytes, seconds(message.sent - kStart), seconds(message.arrives - kStart));
    append(out,
           "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/></g>\n", x1,
           y1, x2, y2, x2, y2);
  }
  for (const Fault& fault : faults) {
    const Time time = kStart + fault.at;
    if (!has(time)) continue;
    append(out, "<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" stroke=\"red\" stroke-dasharray=\"4\"/>\n",
           kLeft, y.at(time), width - 10, y.at(time));
    append(out, "<text x=\"%.0f\" y=\"%.1f\" fill=\"red\">", kLeft, y.at(time) - 4);
    out += line_of(fault) + "</text>\n";
  }
  return out + "</svg>\n";
}

}  // namespace actorhost::rehearsal
