#pragma once
// A sample state of a run, as the coordinator returns it: `size` workers and a server. Rank 1 is lost and rank 2 the
// straggler.

#include <string>

#include <nlohmann/json.hpp>

namespace actorhost::test {

inline nlohmann::json sample_worker(size_t id, double t) {
  nlohmann::json node = {{"id", id},
                         {"rank", id},
                         {"role", "worker"},
                         {"name", "rank " + std::to_string(id)},
                         {"process", id / 4},
                         {"host", "alpha:4711"},
                         {"state", "waiting"},
                         {"cause", "server"},
                         {"what", "param.run"},
                         {"since", 0.0123456789},
                         {"seconds", t},
                         {"slept", t / 8},
                         {"wait", {{"collective", 0.0123456789}, {"server", t * 3 / 8}}},
                         {"step", static_cast<int>(10 * t)},
                         {"updates", static_cast<int>(10 * t)},
                         {"calls", 7},
                         {"tasks", 3},
                         {"action", "param.run"},
                         {"where", "mnist_ps.lua:38"},
                         {"queue", 2},
                         {"sent", 1234567 * t},
                         {"received", 2345678 * t},
                         {"frames_sent", 40 * t},
                         {"frames_received", 41 * t},
                         {"lua_bytes", 3456789}};
  if (id == 0) {
    node["cause"] = "collective";
    node["what"] = "allreduce";
    node["since"] = 2.0;
  }
  if (id == 1) {
    node["state"] = "lost";
    node["reason"] = "its host has been silent for 4 s";
    node["lost_at"] = 1.5;
  }
  if (id == 2) {
    node["state"] = "computing";
    node["straggler"] = true;
    node["step"] = static_cast<int>(8 * t);
  }
  return node;
}

/// The state `t` seconds after the run's start.
inline nlohmann::json sample_state(size_t size, double t = 10) {
  using nlohmann::json;
  json state = {{"run",
                 {{"job", "mnist_ps.lua"},
                  {"id", ""},
                  {"version", "0.1.0"},
                  {"epoch", 2},
                  {"size", size},
                  {"servers", 1},
                  {"t", t},
                  {"seed", "1"},
                  {"paused", false}}},
                {"hosts", json::array()},
                {"nodes", json::array()},
                {"keys", json::array()}};
  for (size_t host = 0; host < (size + 3) / 4; ++host) {
    state["hosts"].push_back({
        {"process", host},
        {"host", "alpha:4711"},
        {"age", 0.25},
        {"silent", false},
        {"rss", 90'000'000},
        {"cpu", 3.1 * t},
    });
  }
  for (size_t id = 0; id < size; ++id) state["nodes"].push_back(sample_worker(id, t));
  state["nodes"].push_back({{"id", 0},
                            {"role", "server"},
                            {"shard", 0},
                            {"name", "server 0"},
                            {"process", 0},
                            {"host", "alpha:4711"},
                            {"state", "waiting"},
                            {"cause", "server"},
                            {"since", 0.01},
                            {"seconds", t},
                            {"wait", {{"server", t / 2}}},
                            {"step", 0},
                            {"updates", 1000},
                            {"calls", 0},
                            {"tasks", 0},
                            {"queue", 0},
                            {"sent", 1e7},
                            {"received", 1e7},
                            {"frames_sent", 100},
                            {"frames_received", 100},
                            {"lua_bytes", 9e6}});
  state["collective"] = {{"what", "allreduce"}, {"calls", 7}, {"missing", {2}}};
  json waiting = json::array();
  for (size_t id = 3; id < size; ++id) waiting.push_back({{"id", id}, {"step", 100}, {"since", 0.3}, {"for", {2}}});
  json waited = json::object();
  for (size_t id = 0; id < size; ++id) waited[std::to_string(id)] = t / 4;
  state["barrier"] = {{{"run", 1},
                       {"rule", "ssp:4"},
                       {"waiting", waiting},
                       {"waited", waited},
                       {"passed", 900},
                       {"refused", 90},
                       {"merge", {{"rule", "drop:2"}, {"merged", 870}, {"dropped", 30}, {"held", 2}}}}};
  for (const char* key : {"w1", "b1"}) {
    state["keys"].push_back({{"key", key},
                             {"shape", {784, 10}},
                             {"dtype", "float32"},
                             {"bytes", 31360},
                             {"version", 120},
                             {"shard", 0},
                             {"updates", static_cast<int>(100 * t)}});
  }
  state["stages"] = {{{"action", 3},
                      {"stage", 0},
                      {"name", "reduce_by_key"},
                      {"where", "job.lua:7"},
                      {"tasks", 64},
                      {"done", 12},
                      {"running", 4},
                      {"seconds", 1.2},
                      {"rows", 12345},
                      {"bytes", 1234567}}};
  state["members"] = {{{"t", 0.1}, {"epoch", 1}, {"text", "4 workers"}},
                      {{"t", 1.5}, {"epoch", 2}, {"text", "rank 1 is lost"}}};
  state["log"] = {{{"t", 1.5}, {"level", "warn"}, {"who", "rank 1"}, {"text", "is <b>lost</b>"}}};
  for (int step = 1; step <= 300; ++step) {
    state["series"]["loss"].push_back({{"t", step / 10.0}, {"step", step}, {"id", 0}, {"value", 2.0 / step}});
  }
  for (const char* name : {"step_seconds", "wait_seconds", "message_bytes", "latency_seconds"}) {
    state["histograms"][name] = {
        {"bounds", {0.001, 0.01, 0.1}}, {"counts", {1, 20, 300, 5}}, {"sum", 31.2}, {"count", 326}};
  }
  return state;
}

}  // namespace actorhost::test
