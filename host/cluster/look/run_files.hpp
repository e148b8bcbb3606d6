#pragma once
// Finds the runs of this machine for observers that do not know their addresses: each host process of a run has a small
// file in a folder that only its user may read. Thread-safe; blocks on the disk.

#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

struct RunFile {
  int pid = 0;
  std::string url;  // of the coordinator: its control socket, or its address
  // the rendezvous address, the same in the files of all hosts of a run; empty without a rendezvous
  std::string meeting;
  std::string job;         // name of the script
  std::string id;          // of the run (--rdzv-id)
  std::string token_file;  // path of the run's token, unless it is the default file
  bool insecure = false;   // accepts any client
  double started = 0;      // seconds since 1970
};

/// XDG_RUNTIME_DIR/actorhost, or /tmp/actorhost-UID; made with mode 0700. Code::refused if another user owns it.
Result<std::string> run_folder();
/// Where the coordinator in process `pid` listens for observers.
std::string control_url(const std::string& folder, int pid);
/// Writes this process's file.
Status write_run_file(const RunFile& run);
/// Removes this process's file and its socket.
void remove_run_file();
/// The runs of this user's live processes, the newest first, each once. Removes files of dead processes.
Result<std::vector<RunFile>> find_runs();

}  // namespace actorhost
