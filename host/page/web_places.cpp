#include "host/page/web_places.hpp"

namespace actorhost {

std::optional<int> WebPlaces::open(int socket, const std::string& address, double now) {
  connections_[socket] = {address, State::waits, now};
  const auto victim = oldest_of_most(socket);
  if (victim) connections_[*victim].ending = true;
  return victim;
}

void WebPlaces::set(int socket, State state, double now) {
  const auto at = connections_.find(socket);
  if (at == connections_.end()) return;
  at->second.state = state;
  at->second.since = now;
}

std::vector<int> WebPlaces::overdue(double now) {
  std::vector<int> sockets;
  for (auto& [socket, connection] : connections_) {
    const auto until = deadline(connection);
    if (!until || *until > now) continue;
    connection.ending = true;
    sockets.push_back(socket);
  }
  return sockets;
}

std::optional<double> WebPlaces::next_deadline() const {
  std::optional<double> next;
  for (const auto& [socket, connection] : connections_) {
    const auto until = deadline(connection);
    if (until && (!next || *until < *next)) next = until;
  }
  return next;
}

void WebPlaces::each(const std::function<void(int)>& visit) const {
  for (const auto& [socket, connection] : connections_) visit(socket);
}

std::optional<double> WebPlaces::deadline(const Connection& connection) const {
  if (connection.ending || connection.state == State::held) return std::nullopt;
  return connection.since + (connection.state == State::waits ? limits_.request_seconds : limits_.response_seconds);
}

/// The connection to end, if more places are taken than exist. A new connection never ends itself.
std::optional<int> WebPlaces::oldest_of_most(int new_socket) const {
  const auto has_place = [](const Connection& connection) {
    return !connection.ending && (connection.state == State::waits || connection.state == State::responds);
  };
  std::map<std::string, size_t> counts;
  size_t taken = 0;
  for (const auto& [socket, connection] : connections_) {
    if (!has_place(connection)) continue;
    ++counts[connection.address];
    ++taken;
  }
  if (taken <= limits_.places) return std::nullopt;
  std::optional<int> found;
  for (const auto& [socket, connection] : connections_) {
    if (socket == new_socket || !has_place(connection)) continue;
    if (!found) {
      found = socket;
      continue;
    }
    const Connection& other = connections_.at(*found);
    const size_t mine = counts[connection.address];
    const size_t others = counts[other.address];
    if (mine != others ? mine > others : connection.since < other.since) found = socket;
  }
  return found;
}

}  // namespace actorhost
