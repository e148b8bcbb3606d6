#include "tests/bench/net_yardsticks.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nng/nng.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "tests/bench/net_figures.hpp"

namespace actorhost::bench {

namespace {

using Item = std::array<char, 64>;

class Queue {
 public:
  explicit Queue(size_t capacity) : capacity_(capacity) {}
  void push(const Item& item) {
    std::unique_lock lock(mutex_);
    writable_.wait(lock, [this] { return items_.size() < capacity_; });
    items_.push_back(item);
    lock.unlock();
    readable_.notify_one();
  }
  Item pop() {
    std::unique_lock lock(mutex_);
    readable_.wait(lock, [this] { return !items_.empty(); });
    const Item item = items_.front();
    items_.pop_front();
    lock.unlock();
    writable_.notify_one();
    return item;
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable readable_;
  std::condition_variable writable_;
  std::deque<Item> items_;
};

void must(bool right) {
  if (!right) std::abort();
}

nng_stream* nng_connect(const std::string& url) {
  nng_stream_dialer* dialer = nullptr;
  nng_aio* aio = nullptr;
  must(nng_stream_dialer_alloc(&dialer, url.c_str()) == 0 && nng_aio_alloc(&aio, nullptr, nullptr) == 0);
  nng_stream_dialer_dial(dialer, aio);
  nng_aio_wait(aio);
  must(nng_aio_result(aio) == 0);
  return static_cast<nng_stream*>(nng_aio_get_output(aio, 0));
}

/// Transfers 64 bytes one way and waits for completion.
void nng_transfer(nng_stream* stream, nng_aio* aio, bool send) {
  Item item{};
  nng_iov iov{item.data(), item.size()};
  while (iov.iov_len != 0) {
    nng_aio_set_iov(aio, 1, &iov);
    send ? nng_stream_send(stream, aio) : nng_stream_recv(stream, aio);
    nng_aio_wait(aio);
    must(nng_aio_result(aio) == 0);
    iov.iov_buf = static_cast<char*>(iov.iov_buf) + nng_aio_count(aio);
    iov.iov_len -= nng_aio_count(aio);
  }
}

void nng_echo(size_t rounds, const std::function<void(const std::string&)>& announce) {
  nng_stream_listener* listener = nullptr;
  nng_aio* aio = nullptr;
  must(nng_stream_listener_alloc(&listener, "tcp://127.0.0.1:0") == 0 && nng_stream_listener_listen(listener) == 0);
  must(nng_aio_alloc(&aio, nullptr, nullptr) == 0);
  int port = 0;
  must(nng_stream_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port) == 0);
  announce("tcp://127.0.0.1:" + std::to_string(port));
  nng_stream_listener_accept(listener, aio);
  nng_aio_wait(aio);
  auto* stream = static_cast<nng_stream*>(nng_aio_get_output(aio, 0));
  nng_stream_set_bool(stream, NNG_OPT_TCP_NODELAY, true);
  for (size_t i = 0; i < rounds; ++i) {
    nng_transfer(stream, aio, false);
    nng_transfer(stream, aio, true);
  }
}

int tcp_listen(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  must(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd, 1) == 0);
  must(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port = ntohs(address.sin_port);
  return fd;
}

int tcp_connect(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  must(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

}  // namespace

double queue_rate(size_t items, size_t capacity) {
  Queue queue(capacity);
  const double start = seconds();
  std::thread reader([&] {
    for (size_t i = 0; i < items; ++i) queue.pop();
  });
  for (size_t i = 0; i < items; ++i) queue.push(Item{});
  reader.join();
  return static_cast<double>(items) / (seconds() - start) / 1e6;
}

double queue_round_trip(size_t rounds) {
  Queue there(1024);
  Queue back(1024);
  std::thread echo([&] {
    for (size_t i = 0; i < rounds; ++i) back.push(there.pop());
  });
  const double start = seconds();
  for (size_t i = 0; i < rounds; ++i) {
    there.push(Item{});
    back.pop();
  }
  const double took = seconds() - start;
  echo.join();
  return took / static_cast<double>(rounds) * 1e6;
}

double nng_round_trip(size_t rounds) {
  return in_two_processes([rounds](const auto& announce) { nng_echo(rounds, announce); },
                          [rounds](const std::string& url) {
                            nng_stream* stream = nng_connect(url);
                            nng_stream_set_bool(stream, NNG_OPT_TCP_NODELAY, true);
                            nng_aio* aio = nullptr;
                            must(nng_aio_alloc(&aio, nullptr, nullptr) == 0);
                            const double start = seconds();
                            for (size_t i = 0; i < rounds; ++i) {
                              nng_transfer(stream, aio, true);
                              nng_transfer(stream, aio, false);
                            }
                            return (seconds() - start) / static_cast<double>(rounds) * 1e6;
                          });
}

double zmq_rate(size_t messages) {
  return in_two_processes(
      [messages](const auto& announce) {
        void* context = zmq_ctx_new();
        void* pull = zmq_socket(context, ZMQ_PULL);
        void* done = zmq_socket(context, ZMQ_PUSH);
        char url[256];
        size_t size = sizeof url;
        must(zmq_bind(pull, "tcp://127.0.0.1:*") == 0);
        must(zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, url, &size) == 0);
        std::string first_url = url;
        size = sizeof url;
        must(zmq_bind(done, "tcp://127.0.0.1:*") == 0);
        must(zmq_getsockopt(done, ZMQ_LAST_ENDPOINT, url, &size) == 0);
        announce(first_url + " " + url);
        Item item;
        for (size_t i = 0; i < messages; ++i) must(zmq_recv(pull, item.data(), item.size(), 0) == 64);
        must(zmq_send(done, "", 0, 0) == 0);
        zmq_close(pull);
        zmq_close(done);
        zmq_ctx_term(context);
      },
      [messages](const std::string& urls) {
        const size_t space = urls.find(' ');
        void* context = zmq_ctx_new();
        void* push = zmq_socket(context, ZMQ_PUSH);
        void* done = zmq_socket(context, ZMQ_PULL);
        must(zmq_connect(push, urls.substr(0, space).c_str()) == 0);
        must(zmq_connect(done, urls.substr(space + 1).c_str()) == 0);
        const double start = seconds();
        const Item item{};
        for (size_t i = 0; i < messages; ++i) must(zmq_send(push, item.data(), item.size(), 0) == 64);
        char end = 0;
        must(zmq_recv(done, &end, 1, 0) == 0);
        return static_cast<double>(messages) / (seconds() - start) / 1e6;
      });
}

double tcp_bandwidth(size_t bytes, size_t count) {
  constexpr size_t kWrite = size_t{256} << 10;
  return in_two_processes(
      [=](const auto& announce) {
        int port = 0;
        const int listener = tcp_listen(port);
        announce(std::to_string(port));
        const int fd = ::accept(listener, nullptr, nullptr);
        std::vector<char> block(bytes);
        for (size_t got = 0; got < bytes * count;) {
          const size_t at = got % bytes;
          const ssize_t some = ::read(fd, block.data() + at, std::min(kWrite, bytes - at));
          must(some > 0);
          got += static_cast<size_t>(some);
        }
        must(::write(fd, "x", 1) == 1);
      },
      [=](const std::string& port) {
        const int fd = tcp_connect(std::stoi(port));
        const std::vector<char> block(bytes, 'b');
        const double start = seconds();
        for (size_t sent = 0; sent < bytes * count;) {
          const size_t at = sent % bytes;
          const ssize_t some = ::write(fd, block.data() + at, std::min(kWrite, bytes - at));
          must(some > 0);
          sent += static_cast<size_t>(some);
        }
        char end = 0;
        must(::read(fd, &end, 1) == 1);
        return static_cast<double>(bytes * count) / (seconds() - start) / 1e9;
      });
}

}  // namespace actorhost::bench
