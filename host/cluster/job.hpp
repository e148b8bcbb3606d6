#pragma once
// The job's source texts: the script, its modules and the file of `--barrier`. The coordinator reads the files. Another
// process compares the hash of its own copy with the coordinator's, or receives the text over the network. The object
// does not change once the process is in the run; from then on all threads may use it.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "host/base/blob.hpp"
#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"
#include "host/cluster/cluster_messages.hpp"

namespace actorhost {

/// xxh3 of a source text; never 0.
uint64_t source_hash(std::string_view text);

struct SourceText {
  std::string text;
  std::string chunk;  // name in messages, relative to the script's folder: "lib/rules.lua"
};

class JobSource : private NonCopyable {
 public:
  JobSource() = default;
  JobSource(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

  /// Reads the script, which may be a pipe; its folder is the folder of the modules. Code::bad_argument if the script
  /// cannot be read or has more than 16 MiB. Blocks on the disk.
  Status open(const std::string& path);
  /// Sets the script to a text: from the coordinator, or from an embedding program. The folder of the modules is
  /// `folder`, or else the folder of an earlier `open`, if any.
  void receive(std::string name, std::string text, std::string folder = {});

  const std::string& name() const noexcept { return name_; }
  const std::string& text() const noexcept { return text_; }
  bool has_script() const noexcept { return !name_.empty(); }
  uint64_t hash() const { return has_script() ? source_hash(text_) : 0; }
  /// The folder of the modules; empty if there is none.
  const std::string& folder() const noexcept { return folder_; }

  /// Adds the file of `--barrier` or `--merge`, which may be in any folder. All other files are beside the script.
  void add_rule_file(std::string path) { rule_files_.insert(std::move(path)); }

  /// Like find_here, for a text to send to another host. Refuses hidden files, and links from below the script's folder
  /// to outside of it. The script and the files of `--barrier` and `--merge` may be links, because the user named them.
  Result<SourceText> find_to_send(const std::string& name) const;

  /// Reads a module or file of this machine. "a.b" is a/b.lua or a/b/init.lua beside the script. A name that ends in
  /// .lua is the file of `--barrier` or `--merge`, or a file below the script's folder. Code::bad_argument lists the
  /// tried paths; Code::refused if it is no regular file or has more than 16 MiB. Blocks on the disk.
  Result<SourceText> find_here(const std::string& name) const;

 private:
  struct Place {
    std::string path;
    std::string chunk;
  };
  Result<Place> place_of(const std::string& name) const;
  Result<Place> place_of_file(const std::string& name) const;

  std::string name_;
  std::string text_;
  std::string folder_;
  std::set<std::string> rule_files_;
};

/// The coordinator's reply to a worker on host `home` that wants a module. Sets `text` if the worker has no copy.
ModuleReply module_reply(const ModuleFind& find, const Result<SourceText>& found, const std::string& home, Blob& text);

}  // namespace actorhost
