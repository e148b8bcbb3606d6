#pragma once
// What the VMs of one process share beyond the cluster. `console` guards itself; `functions` does not change during a run;
// each store belongs to the thread of its shard's server, one at a time.

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bindings/console.hpp"
#include "host/data/data_cache.hpp"
#include "bindings/include/actorhost.hpp"
#include "host/engine/param_store.hpp"

namespace actorhost {

struct ProcessShared {
  Console console;
  DataCache data;
  std::map<std::string, Function> functions;        // of the embedding program, by name
  std::vector<std::unique_ptr<ParamStore>> stores;  // by shard; they outlive the servers' VMs
  std::atomic<int64_t> finished_run{-1};            // the action that the present servers have served to its end
};

}  // namespace actorhost
