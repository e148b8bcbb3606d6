#pragma once
// Limits the connections of a web server. A connection that waits for a request or receives a response takes a place
// and has a deadline. When all places are taken, the address with the most places loses its oldest connection. So a new
// connection is always accepted, and an address with few connections keeps them. Viewers, and requests that wait for a
// state, take no place. Passive: inputs are sockets, events and the time; outputs are sockets to end. Not thread-safe;
// guarded by its owner.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorhost {

struct WebLimits {
  size_t places = 128;           // connections of all addresses that wait for a request or receive a response
  double request_seconds = 10;   // from accepting a connection, or its last response, to the end of a request's header
  double response_seconds = 30;  // for writing a response, or one message of a stream
};

class WebPlaces {
 public:
  explicit WebPlaces(WebLimits limits) : limits_(limits) {}

  enum class State {
    waits,     // waits for a request: has a place and a deadline
    responds,  // a response is being made or written: has a place and a deadline
    held,      // a viewer between two messages, or a request without a response yet
    streams,   // a message to a viewer is being written: has a deadline
  };

  /// Adds a connection from `address`. Returns a socket that must be ended for it, if any.
  std::optional<int> open(int socket, const std::string& address, double now);
  void set(int socket, State state, double now);
  void close(int socket) { connections_.erase(socket); }
  /// The sockets of overdue connections. Returns each socket once.
  std::vector<int> overdue(double now);
  /// The earliest deadline, if any.
  std::optional<double> next_deadline() const;
  void each(const std::function<void(int socket)>& visit) const;
  bool empty() const noexcept { return connections_.empty(); }

 private:
  struct Connection {
    std::string address;
    State state = State::waits;
    double since = 0;
    bool ending = false;  // returned by open or overdue, and about to be closed
  };

  std::optional<double> deadline(const Connection& connection) const;
  std::optional<int> oldest_of_most(int new_socket) const;

  const WebLimits limits_;
  std::map<int, Connection> connections_;
};

}  // namespace actorhost
