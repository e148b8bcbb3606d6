#pragma once
// Functions that run at their virtual time, on one thread. The callers hold the lock, which protects all state of the
// network; the functions run with it.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "tests/rehearse/scheduler.hpp"

namespace rehearse {

class NetworkEvents {
 public:
  std::mutex mutex;

  void post(uint64_t at, std::function<void()> run) {
    if (!started_) std::thread([this] { serve(); }).detach();
    started_ = true;
    queue_.push({at, ++posted_, std::move(run)});
    changed_.notify_one();
  }

 private:
  struct Event {
    uint64_t at;
    uint64_t number;
    std::function<void()> run;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
  };

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      if (queue_.empty()) {
        changed_.wait(lock);
      } else if (const uint64_t at = queue_.top().at, time = Scheduler::current()->now(); at > time) {
        changed_.wait_for(lock, std::chrono::nanoseconds(at - time));
      } else {
        const std::function<void()> run = queue_.top().run;
        queue_.pop();
        run();
      }
    }
  }

  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::condition_variable changed_;
  uint64_t posted_ = 0;
  bool started_ = false;
};

}  // namespace rehearse
