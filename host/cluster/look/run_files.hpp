#pragma once
// Lets observers (console, status, top) find the runs of this machine without an address. Each host of a run writes a
// small JSON file, PID.json, to a folder that only its user may read; the coordinator's control socket is in the same
// folder. Free functions; thread-safe; they block on the disk.

#include <string>
#include <vector>

#include "host/base/result.hpp"

namespace actorhost {

struct RunFile {
  int pid = 0;
  std::string url;  // where observers connect: the control socket on the coordinator, else `meeting`
  // the rendezvous address, the same in the files of all hosts of a run; empty if the run has no rendezvous
  std::string meeting;
  std::string job;         // name of the script
  std::string id;          // of the run (--rdzv-id)
  std::string token_file;  // path of the run's token, unless it is the default file
  bool insecure = false;   // --insecure: the run accepts clients without the token
  double started = 0;      // seconds since 1970
};

/// The folder of these files: XDG_RUNTIME_DIR/actorhost, or /tmp/actorhost-UID. The call makes a missing folder with
/// mode 0700. Code::refused if another user owns the folder or may use it; Code::io if the call cannot make it, or if
/// its path is too long for a control socket.
Result<std::string> run_folder();
/// The default for --token-file: in the user's configuration folder (default_token_path). A user without a home folder
/// has the token in run_folder(), which other machines do not see.
Result<std::string> own_token_path();
/// The address of the control socket of a coordinator in process `pid`.
std::string control_url(const std::string& folder, int pid);
/// Writes the file of process run.pid.
Status write_run_file(const RunFile& run);
/// Removes this process's file and its socket.
void remove_run_file();
/// The runs of this user on this machine, each once, the newest first. Of several hosts of a run the coordinator's file
/// counts. Removes the files of dead processes.
Result<std::vector<RunFile>> find_runs();

}  // namespace actorhost
