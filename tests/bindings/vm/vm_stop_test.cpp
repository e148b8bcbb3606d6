#include <condition_variable>
#include <mutex>

#include "tests/bindings/vm_fixture.hpp"
#include "tests/test.hpp"

namespace {

// Synchronises the script and the stopping thread: the script reports its begin, the engine call waits for a wake.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  bool woken = false;

  void set(bool Meeting::*flag) {
    const std::lock_guard lock(mutex);
    this->*flag = true;
    changed.notify_all();
  }
  bool wait(bool Meeting::*flag) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&] { return this->*flag; });
  }
};

int begin(lua_State* L) {
  static_cast<Meeting*>(Vm::from(L).context())->set(&Meeting::begun);
  return 0;
}

int blocks(lua_State* L) {
  Vm& vm = Vm::from(L);
  auto* meeting = static_cast<Meeting*>(vm.context());
  meeting->set(&Meeting::begun);
  const bool woken = meeting->wait(&Meeting::woken);
  vm.check_stop(L);
  return luaL_error(L, "not stopped, woken: %d", woken ? 1 : 0);
}

VmConfig config_for(Meeting& meeting) {
  VmConfig config;
  config.context = &meeting;
  config.wake = [&meeting] { meeting.set(&Meeting::woken); };
  return config;
}

struct StoppableVm : Meeting, VmFixture {
  StoppableVm() : VmFixture(config_for(*this)) {}
};

// Runs `source`, stops it from another thread once it has begun, and returns the result of run.
actorhost::Status stopped(StoppableVm& f, const std::string& source) {
  lua_pushcfunction(f.vm->state(), guarded<begin>);
  lua_setglobal(f.vm->state(), "begin");
  lua_pushcfunction(f.vm->state(), guarded<blocks>);
  lua_setglobal(f.vm->state(), "blocks");
  std::thread stopper([&] {
    if (f.wait(&Meeting::begun)) f.vm->request_stop();
  });
  auto status = f.vm->run(source, "@job.lua");
  stopper.join();
  return status;
}

void check_interrupted(const actorhost::Status& status) {
  CHECK(failure_of(status).code == Code::interrupted);
  CHECK_THAT(failure_of(status).message, Contains("rank 3: ") && Contains("interrupted"));
}

}  // namespace

// The scripts copy a string in each round: ThreadSanitizer delivers a signal only at such an intercepted call.
TEST_CASE("a stop request ends an interpreted loop and reports its position") {
  StoppableVm f;
  const auto status = stopped(f, "jit.off(true, true)\nbegin()\nlocal n = 0\nwhile true do n = n + #tostring(n) end");
  check_interrupted(status);
  CHECK_THAT(status.error().message,
             Contains("rank 3: job.lua:") && Contains(": interrupted: the run is stopping\nstack traceback"));
  CHECK_FALSE(f.vm->running());
}

TEST_CASE("a pcall in a loop cannot swallow a stop request") {
  StoppableVm f;
  check_interrupted(stopped(f, text_of_script("endless_pcall.lua")));
}

TEST_CASE("a stop request ends loops in coroutines and protected calls with handlers") {
  StoppableVm f;
  check_interrupted(stopped(f, text_of_script("endless_coroutine.lua")));
}

TEST_CASE("a stop request wakes a blocked engine call") {
  StoppableVm f;
  const auto status = stopped(f, "blocks()");
  check_interrupted(status);
  CHECK_THAT(status.error().message, Contains("job.lua:1:"));
}

TEST_CASE("a stopped engine call in a pcall loop also ends, compiled or not") {
  StoppableVm f;
  check_interrupted(stopped(f, "while true do pcall(blocks) end"));
}

TEST_CASE("a stopped state refuses to run until the stop is cleared") {
  StoppableVm f;
  f.vm->request_stop();
  check_interrupted(f.vm->run("print('never')", "@job.lua"));
  CHECK(f.lines.empty());
  CHECK(lua_gettop(f.vm->state()) == 0);
  f.vm->clear_stop();
  f.run("local n = 0 for i = 1, 1000 do n = n + i end print(n)");
  CHECK(f.lines == std::vector<std::string>{"500500"});
}

TEST_CASE("a state whose chunk was cut before its begin refuses to run until the flag is cleared") {
  std::atomic<bool> cut{true};
  VmFixture f;
  f.vm->set_cut_flag(cut);
  const auto status = f.vm->run("while true do end", "@job.lua");
  check_interrupted(status);
  CHECK_FALSE(f.vm->stop_requested());
  CHECK(lua_gettop(f.vm->state()) == 0);
  cut = false;
  f.run("print('well')");
  CHECK(f.lines == std::vector<std::string>{"well"});
}

TEST_CASE("a stop of one state does not affect another state on its own thread") {
  StoppableVm f;
  Meeting other_meeting;
  std::thread other([&] {
    VmFixture g(config_for(other_meeting));
    other_meeting.set(&Meeting::begun);
    if (f.wait(&Meeting::woken)) g.run("local n = 0 for i = 1, 1000 do n = n + i end print(n)");
    if (g.lines != std::vector<std::string>{"500500"}) std::abort();
  });
  CHECK(other_meeting.wait(&Meeting::begun));
  check_interrupted(stopped(f, "jit.off(true, true) begin() local n = 0 while true do n = n + #tostring(n) end"));
  other.join();
}

TEST_CASE("stop requests at any moment of many short runs never stick or crash") {
  StoppableVm f;
  std::atomic<bool> done{false};
  std::thread stopper([&] {
    while (!done.load()) f.vm->request_stop();
  });
  int interrupted = 0;
  for (int i = 0; i < 2000 || interrupted == 0; ++i) {  // the other thread may be slow
    const auto status = f.vm->run("local t = {} for i = 1, 300 do t[i % 7] = tostring(i) end", "@job.lua");
    if (!status.ok()) {
      REQUIRE(status.error().code == Code::interrupted);
      ++interrupted;
    }
    f.vm->clear_stop();
  }
  done.store(true);
  stopper.join();
  f.vm->clear_stop();
  f.run("print('well')");
  CHECK(f.lines.back() == "well");
}
