#pragma once
// The runs of this machine, for those who look into one without knowing its address: each process that takes part in a
// run as a host has a small file in a folder that only its user may read. Any thread; blocks on the disk.

#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

struct RunFile {
  int pid = 0;
  std::string url;         // where the rendezvous host is asked: its control socket, or its address
  std::string meeting;     // the rendezvous address, the same in the files of all hosts of a run; empty without one
  std::string job;         // name of the script
  std::string id;          // of the run (--rdzv-id)
  std::string token_file;  // where its token is, if not in the default file
  bool insecure = false;   // it takes anybody
  double started = 0;      // seconds since 1970
};

/// XDG_RUNTIME_DIR/actorhost, or /tmp/actorhost-UID; made with mode 0700. Code::refused where it is somebody else's.
Result<std::string> run_folder();
/// Where the rendezvous host of process `pid` listens for those who look into the run.
std::string control_url(const std::string& folder, int pid);
/// Writes this process's file.
Status write_run_file(const RunFile& run);
/// Removes this process's file and its socket.
void remove_run_file();
/// The runs of this user's processes that are alive, the newest first, each once. Removes what dead ones have left.
Result<std::vector<RunFile>> find_runs();

}  // namespace actorhost
