#pragma once
// What a process knows when a majority has made it the coordinator. A plain value.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/cluster_messages.hpp"
#include "host/cluster/quorum.hpp"
#include "host/net/link.hpp"

namespace actorhost {

struct Takeover {
  Quorum quorum;             // with the tables of this process and of the attached ones
  std::set<ProcessId> lost;  // processes that have failed, or cannot attach
  AttachMessage self;        // this process's own state
  std::string reason;        // of the loss of the coordinator
  std::map<LinkId, AttachMessage> attached = {};
  std::vector<ProcessInfo> dropped = {};  // dropped by earlier coordinators, so recently that their leases may hold
};

}  // namespace actorhost
