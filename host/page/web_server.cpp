#include "host/page/web_server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/base/clock.hpp"

namespace actorhost {

/// The functions of libmicrohttpd, without their prefix. The library is loaded when a page is served, so a run without
/// a page starts without its cost.
class MicroHttp {
  std::string load_error_;  // declared first: the initialisers of the functions set it

 public:
  static const MicroHttp& get() {
    static const MicroHttp kMicroHttp;
    return kMicroHttp;
  }

// NOLINTNEXTLINE(bugprone-macro-parentheses): a name
#define ACTORHOST_MHD(name) decltype(&MHD_##name) name = function<decltype(&MHD_##name)>("MHD_" #name)
  ACTORHOST_MHD(start_daemon);
  ACTORHOST_MHD(stop_daemon);
  ACTORHOST_MHD(quiesce_daemon);
  ACTORHOST_MHD(suspend_connection);
  ACTORHOST_MHD(resume_connection);
  ACTORHOST_MHD(get_connection_info);
  ACTORHOST_MHD(get_connection_values);
  ACTORHOST_MHD(lookup_connection_value);
  ACTORHOST_MHD(create_response_from_buffer);
  ACTORHOST_MHD(create_response_from_callback);
  ACTORHOST_MHD(add_response_header);
  ACTORHOST_MHD(queue_response);
  ACTORHOST_MHD(destroy_response);
#undef ACTORHOST_MHD

  /// The reason why it cannot be used; empty when it can.
  const std::string& load_error() const { return load_error_; }

 private:
  template <class Function>
  Function function(const char* name) {
    static void* const kLibrary = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    void* const found = kLibrary != nullptr ? dlsym(kLibrary, name) : nullptr;
    if (found == nullptr && load_error_.empty()) {
      load_error_ = std::string("libmicrohttpd cannot be loaded; install the package libmicrohttpd12: ") + dlerror();
    }
    return reinterpret_cast<Function>(found);
  }
};

/// A request and its response, until the end of both.
struct WebExchange {
  uint64_t id = 0;
  MHD_Connection* connection = nullptr;
  int socket = -1;
  bool suspended = false;                        // this and the next three members: guarded by the server's mutex
  std::optional<WebResponse> response = {};      // a response to write when the library calls again
  std::shared_ptr<const std::string> next = {};  // the newest message, not begun yet
  bool last = false;
  std::shared_ptr<const std::string> current = {};  // used by the server thread only, like `written`
  size_t written = 0;
};

namespace {

constexpr unsigned kConnections = 512;             // including closing connections; WebPlaces stays far below
constexpr unsigned kIdleSeconds = 15;              // without a byte read or written
constexpr size_t kStreamBlock = size_t{16} << 10;  // bytes copied at once for a connection
constexpr int kBacklog = 256;
// Unsent bytes that the system keeps for a connection. A message about 1,000 nodes has about 13 kB, and a viewer that
// takes no bytes is closed once this buffer is full for `response_seconds`.
constexpr int kSendBuffer = 128 << 10;
constexpr std::chrono::seconds kCloseSeconds{1};

/// Allows this server's own files only, and no script or style within the page itself.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string value_of(MHD_Connection* connection, const char* header) {
  const char* value = MicroHttp::get().lookup_connection_value(connection, MHD_HEADER_KIND, header);
  return value != nullptr ? value : "";
}

/// The address that a connection counts for: with IPv6 the network of 64 bits, since one machine may own all of it.
std::string address_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address != nullptr && address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(), text.size());
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    in6_addr network = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(&network)) std::fill_n(network.s6_addr + 8, 8, uint8_t{0});
    inet_ntop(AF_INET6, &network, text.data(), text.size());
  }
  return text.data();
}

/// Binds and listens; returns the socket or the error.
Result<int> listening_socket(const Endpoint& at) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(at.port);
  const std::string where = endpoint_text(at);
  if (const int failed = getaddrinfo(at.host.c_str(), port.c_str(), &hints, &found); failed != 0) {
    return Error{Code::io, where + ": " + gai_strerror(failed)};
  }
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);  // connections inherit it
    if (fd >= 0 && bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, kBacklog) == 0) {
      freeaddrinfo(found);
      return fd;
    }
    error = errno;
    if (fd >= 0) close(fd);
  }
  freeaddrinfo(found);
  if (error == EADDRINUSE) {
    return Error{Code::io, where + " is taken by another program: choose another port, or 0 for any that is free"};
  }
  return Error{Code::io, where + " cannot be listened on: " + std::strerror(error)};
}

uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXSERV> port{};
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(fd, raw, &size) != 0 ||
      getnameinfo(raw, size, nullptr, 0, port.data(), port.size(), NI_NUMERICSERV) != 0) {
    return 0;
  }
  return static_cast<uint16_t>(std::stoul(port.data()));
}

}  // namespace

WebResponse web_sentence(unsigned status, const std::string& sentence) {
  WebResponse response;
  response.status = status;
  response.body = std::make_shared<const std::string>(sentence + "\n");
  return response;
}

struct WebServer::Impl {
  const MicroHttp& http = MicroHttp::get();
  WebSite& site;
  int listener = -1;
  MHD_Daemon* daemon = nullptr;
  std::mutex
      mutex;  // guards the members below and exchanges; locked before libmicrohttpd's own, never within its locks
  std::map<uint64_t, std::shared_ptr<WebExchange>> exchanges;
  uint64_t last_id = 0;
  WebPlaces places;  // all connections, including those without a request
  std::condition_variable changed;
  bool stopping = false;

  const SteadyClock clock;
  std::thread ends_overdue;

  Impl(WebSite& served, WebLimits limits) : site(served), places(limits) {}

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                               const char* /*version*/, const char* /*upload*/, size_t* upload_size, void** state) {
    return static_cast<Impl*>(self)->take(connection, url, method, *upload_size, state) ? MHD_YES : MHD_NO;
  }
  static void on_end(void* self, MHD_Connection* /*connection*/, void** state, MHD_RequestTerminationCode /*how*/) {
    static_cast<Impl*>(self)->ended(state);
  }
  static void on_connection(void* self, MHD_Connection* connection, void** /*context*/,
                            MHD_ConnectionNotificationCode what) {
    static_cast<Impl*>(self)->connection_changed(connection, what == MHD_CONNECTION_NOTIFY_STARTED);
  }
  static MHD_Result on_query(void* query, MHD_ValueKind /*kind*/, const char* name, const char* value) {
    (*static_cast<std::map<std::string, std::string>*>(query))[name] = value != nullptr ? value : "";
    return MHD_YES;
  }
  static ssize_t on_room(void* stream, uint64_t /*position*/, char* room, size_t size);
  static void stream_done(void* stream) { delete static_cast<std::pair<Impl*, std::shared_ptr<WebExchange>>*>(stream); }

  bool take(MHD_Connection* connection, const char* url, const char* method, size_t upload_size, void** state);
  void ended(void** state);
  void connection_changed(MHD_Connection* connection, bool begun);
  void end_overdue();
  void set(const WebExchange& exchange, WebPlaces::State state);
  bool send(const WebExchange& exchange, const WebResponse& response);
  bool send_stream(const std::shared_ptr<WebExchange>& exchange, const WebResponse& response);
  bool queue(MHD_Connection* connection, const WebResponse& response, MHD_Response* mhd_response);
  bool wait_for_response(WebExchange& exchange);
  ssize_t fill(WebExchange& exchange, char* room, size_t size);
  void change(uint64_t request, const std::function<void(WebExchange&)>& how);
};

bool WebServer::Impl::take(MHD_Connection* connection, const char* url, const char* method, size_t upload_size,
                           void** state) {
  if (auto* known = static_cast<WebExchange*>(*state); known != nullptr) {  // has a response, or the server stops
    std::optional<WebResponse> response;
    {
      std::lock_guard lock(mutex);
      response.swap(known->response);
      set(*known, WebPlaces::State::responds);
    }
    return response && upload_size == 0 && send(*known, *response);
  }
  WebRequest request;
  request.method = method;
  request.path = url;
  request.host = value_of(connection, "Host");
  request.origin = value_of(connection, "Origin");
  request.cookie = value_of(connection, "Cookie");
  request.authorization = value_of(connection, "Authorization");
  http.get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &Impl::on_query, &request.query);
  auto exchange = std::make_shared<WebExchange>();
  exchange->connection = connection;
  exchange->socket = http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  {
    std::lock_guard lock(mutex);
    if (stopping) return false;
    request.id = exchange->id = ++last_id;
    exchanges[exchange->id] = exchange;
    set(*exchange, WebPlaces::State::responds);
  }
  *state = exchange.get();
  const WebResponse response = site.respond(request);
  if (response.when == WebResponse::When::later) return wait_for_response(*exchange);
  if (response.when == WebResponse::When::stream && request.method == "GET") return send_stream(exchange, response);
  if (request.method != "GET" && request.method != "HEAD") return send(*exchange, response);
  std::lock_guard lock(mutex);  // written in the library's next call, at once: then the connection stays open
  exchange->response = response;
  return true;
}

bool WebServer::Impl::wait_for_response(WebExchange& exchange) {
  std::lock_guard lock(mutex);
  if (exchange.response || stopping) return true;  // the library calls again at once
  exchange.suspended = true;
  set(exchange, WebPlaces::State::held);
  http.suspend_connection(exchange.connection);
  return true;
}

void WebServer::Impl::ended(void** state) {
  const auto* exchange = static_cast<const WebExchange*>(*state);
  if (exchange == nullptr) return;
  *state = nullptr;
  const uint64_t id = exchange->id;
  std::shared_ptr<WebExchange> last;  // destroyed without the lock
  {
    std::lock_guard lock(mutex);
    last = std::move(exchanges[id]);
    exchanges.erase(id);
    set(*last, WebPlaces::State::waits);
    changed.notify_all();
  }
  site.on_request_ended(id);
}

void WebServer::Impl::connection_changed(MHD_Connection* connection, bool begun) {
  const int fd = http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  std::lock_guard lock(mutex);
  if (begun) {
    const auto* address = http.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    const auto victim = places.open(fd, address_of(address), clock.now());
    if (victim) shutdown(*victim, SHUT_RDWR);
    if (stopping) shutdown(fd, SHUT_RDWR);
  } else {
    places.close(fd);
  }
  changed.notify_all();
}

/// Ends overdue connections until the server stops. A socket in `places` is open.
void WebServer::Impl::end_overdue() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    for (const int fd : places.overdue(clock.now())) shutdown(fd, SHUT_RDWR);
    const auto next = places.next_deadline();
    if (next) {
      changed.wait_for(lock, std::chrono::duration<double>(*next - clock.now()));
    } else {
      changed.wait(lock);
    }
  }
}

/// The caller holds the mutex.
void WebServer::Impl::set(const WebExchange& exchange, WebPlaces::State state) {
  places.set(exchange.socket, state, clock.now());
}

bool WebServer::Impl::queue(MHD_Connection* connection, const WebResponse& response, MHD_Response* mhd_response) {
  if (mhd_response == nullptr) return false;
  const std::pair<const char*, const char*> always[] = {
      {"Content-Type", response.type},       {"Content-Security-Policy", kPolicy},
      {"X-Content-Type-Options", "nosniff"}, {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},    {"Cache-Control", "no-store"},
  };
  for (const auto& [name, value] : always) http.add_response_header(mhd_response, name, value);
  for (const auto& [name, value] : response.headers)
    http.add_response_header(mhd_response, name.c_str(), value.c_str());
  const bool queued = http.queue_response(connection, response.status, mhd_response) == MHD_YES;
  http.destroy_response(mhd_response);  // the library retains it until it has been sent
  return queued;
}

bool WebServer::Impl::send(const WebExchange& exchange, const WebResponse& response) {
  const std::string_view body = response.body ? std::string_view(*response.body) : response.lasting;
  const auto how = response.body ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT;
  auto* bytes = const_cast<char*>(body.data());  // NOLINT: the library only reads
  return queue(exchange.connection, response, http.create_response_from_buffer(body.size(), bytes, how));
}

bool WebServer::Impl::send_stream(const std::shared_ptr<WebExchange>& exchange, const WebResponse& response) {
  auto* stream = new std::pair<Impl*, std::shared_ptr<WebExchange>>(this, exchange);
  return queue(
      exchange->connection, response,
      http.create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamBlock, &Impl::on_room, stream, &Impl::stream_done));
}

ssize_t WebServer::Impl::on_room(void* stream, uint64_t /*position*/, char* room, size_t size) {
  auto& [self, exchange] = *static_cast<std::pair<Impl*, std::shared_ptr<WebExchange>>*>(stream);
  return self->fill(*exchange, room, size);
}

/// Copies more of the current message; begins the newest message when the current one is complete.
ssize_t WebServer::Impl::fill(WebExchange& exchange, char* room, size_t size) {
  if (!exchange.current || exchange.written == exchange.current->size()) {
    std::lock_guard lock(mutex);
    if (!exchange.next) {
      if (exchange.last || stopping) return MHD_CONTENT_READER_END_OF_STREAM;
      exchange.suspended = true;
      set(exchange, WebPlaces::State::held);
      http.suspend_connection(exchange.connection);
      return 0;
    }
    set(exchange, WebPlaces::State::streams);
    changed.notify_all();
    exchange.current = std::move(exchange.next);
    exchange.next.reset();
    exchange.written = 0;
  }
  const size_t count = std::min(size, exchange.current->size() - exchange.written);
  std::copy_n(exchange.current->data() + exchange.written, count, room);
  exchange.written += count;
  return static_cast<ssize_t>(count);
}

/// Changes an exchange and resumes its connection. Only the thread that cleared `suspended` resumes, so the connection
/// still exists.
void WebServer::Impl::change(uint64_t request, const std::function<void(WebExchange&)>& how) {
  MHD_Connection* waiting = nullptr;
  {
    std::lock_guard lock(mutex);
    const auto at = exchanges.find(request);
    if (at == exchanges.end()) return;
    how(*at->second);
    if (std::exchange(at->second->suspended, false)) waiting = at->second->connection;
  }
  if (waiting != nullptr) http.resume_connection(waiting);
}

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

WebServer::~WebServer() { stop(); }

Result<std::unique_ptr<WebServer>> WebServer::open(const Endpoint& at, WebSite& site, WebLimits limits) {
  auto impl = std::make_unique<Impl>(site, limits);
  if (!impl->http.load_error().empty()) return Error{Code::unsupported, impl->http.load_error()};
  AH_LET(auto fd, listening_socket(at));
  impl->listener = fd;
  std::unique_ptr<WebServer> server(new WebServer(std::move(impl)));
  server->bound_ = at_port(at, port_of(fd));
  Impl& made = *server->impl_;
  made.daemon = made.http.start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr,
                                       &Impl::on_request, &made, MHD_OPTION_LISTEN_SOCKET, fd,
                                       MHD_OPTION_NOTIFY_COMPLETED, &Impl::on_end, &made, MHD_OPTION_NOTIFY_CONNECTION,
                                       &Impl::on_connection, &made, MHD_OPTION_CONNECTION_LIMIT, kConnections,
                                       MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_END);
  if (made.daemon == nullptr) return Error{Code::io, endpoint_text(at) + ": the web server cannot be started"};
  made.ends_overdue = std::thread([&made] { made.end_overdue(); });
  return server;
}

void WebServer::reply(uint64_t request, WebResponse response) {
  impl_->change(request, [&](WebExchange& exchange) { exchange.response = std::move(response); });
}

void WebServer::push(uint64_t request, std::shared_ptr<const std::string> message, bool last) {
  impl_->change(request, [&](WebExchange& exchange) {
    if (exchange.last) return;
    exchange.next = std::move(message);
    exchange.last = last;
  });
}

/// Closes the connections before it stops the server: libmicrohttpd 0.9.75 crashes when it refuses a malformed request
/// while it stops, since it does not accept its own refusal then.
void WebServer::stop() {
  if (impl_->listener < 0) return;
  if (impl_->daemon != nullptr) impl_->http.quiesce_daemon(impl_->daemon);
  std::vector<MHD_Connection*> waiting;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    for (const auto& [id, exchange] : impl_->exchanges) {
      if (std::exchange(exchange->suspended, false)) waiting.push_back(exchange->connection);
    }
  }
  for (MHD_Connection* connection : waiting) impl_->http.resume_connection(connection);
  {
    std::unique_lock lock(impl_->mutex);
    impl_->places.each([](int fd) { shutdown(fd, SHUT_RDWR); });
    impl_->changed.notify_all();
    impl_->changed.wait_for(lock, kCloseSeconds, [&] { return impl_->places.empty(); });
  }
  if (impl_->ends_overdue.joinable()) impl_->ends_overdue.join();
  if (impl_->daemon != nullptr) impl_->http.stop_daemon(impl_->daemon);
  close(std::exchange(impl_->listener, -1));
}

}  // namespace actorhost
