#pragma once
// The places of a web server's connections: which of them wait for a request, answer one, or hold a viewer, and which
// connection has to end, because its time is over or because another one needs its place. A connection that waits or
// answers has a deadline. When such connections take all places, the address with the most of them loses its oldest
// one, so a newcomer is always let in and an address that holds few connections keeps them. Viewers and requests that
// wait for a state take no such place. Passive: sockets, events and the time go in, sockets to end come out. Guarded by
// its owner.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorhost {

struct WebLimits {
  size_t places = 128;          // connections that wait for a request or answer one, of all addresses
  double request_seconds = 10;  // from accepting a connection, or its last answer, to the end of a request's header
  double answer_seconds = 30;   // for writing an answer, or one message of a stream
};

class WebPlaces {
 public:
  explicit WebPlaces(WebLimits limits) : limits_(limits) {}

  enum class State {
    waits,    // for a request: has a place and a deadline
    answers,  // has a place and a deadline
    held,     // a viewer between two messages, or a request whose answer is not there yet
    streams,  // a viewer whose message is being written: has a deadline
  };

  /// A connection has been accepted from `address`. Returns a socket that has to be ended for it, if any.
  std::optional<int> open(int socket, const std::string& address, double now);
  void set(int socket, State state, double now);
  void close(int socket) { connections_.erase(socket); }
  /// Sockets whose deadline has passed. Each is told of once.
  std::vector<int> overdue(double now);
  /// When the next deadline passes, if there is one.
  std::optional<double> next_deadline() const;
  void each(const std::function<void(int socket)>& visit) const;
  bool empty() const noexcept { return connections_.empty(); }

 private:
  struct Connection {
    std::string address;
    State state = State::waits;
    double since = 0;
    bool ending = false;  // told of: it is about to be closed
  };

  std::optional<double> deadline(const Connection& connection) const;
  std::optional<int> oldest_of_most(int newcomer) const;

  const WebLimits limits_;
  std::map<int, Connection> connections_;
};

}  // namespace actorhost
