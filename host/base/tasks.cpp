#include "host/base/tasks.hpp"

#include <pthread.h>

namespace actorhost {

Task::Task(std::function<void()> run) {
  if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
    id_ = scheduler->spawn(std::move(run));
  } else {
    thread_ = std::thread(std::move(run));
  }
}

void Task::join() {
  if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
    scheduler->join(std::exchange(id_, TaskScheduler::kMain));
  } else {
    thread_.join();
  }
}

bool Task::is_current() const noexcept {
  if (const TaskScheduler* const scheduler = TaskScheduler::installed()) return scheduler->current() == id_;
  return std::this_thread::get_id() == thread_.get_id();
}

void Task::set_name(const char* name) {
  if (thread_.joinable()) pthread_setname_np(thread_.native_handle(), name);
}

void Task::sleep(double seconds) {
  if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
    static const char nothing = 0;  // no task wakes this wait
    scheduler->park(&nothing, scheduler->now() + seconds);
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
}

void Task::yield() {
  if (TaskScheduler* const scheduler = TaskScheduler::installed()) {
    scheduler->yield();
  } else {
    std::this_thread::yield();
  }
}

}  // namespace actorhost
