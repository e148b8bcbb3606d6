#pragma once
// The job's source text: the script, the modules beside it, the barrier file; where each comes from and its hash. On
// the rendezvous host it reads files; elsewhere a copy that exists is compared by hash with the rendezvous host's, and
// one that does not comes over the network. Any thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/result.hpp"

namespace actorhost {

/// xxh3 of a source text; never 0.
uint64_t source_hash(std::string_view text);

struct SourceText {
  std::string text;
  std::string chunk;  // name for messages, relative to the script's folder: "lib/rules.lua"
};

class JobSource {
 public:
  JobSource() = default;
  JobSource(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  JobSource(const JobSource&) = delete;
  JobSource& operator=(const JobSource&) = delete;

  /// Reads the script, which may be a pipe; modules are looked for in its folder. Code::bad_argument when it cannot be
  /// read, or has more than 16 MiB.
  Status open(const std::string& path);
  /// Takes what the rendezvous host sent, or a script that is no file. There is no folder then, unless it is given, or
  /// `open` found a copy here.
  void receive(std::string name, std::string text, std::string folder = {});

  const std::string& name() const noexcept { return name_; }
  const std::string& text() const noexcept { return text_; }
  bool has_script() const noexcept { return !name_.empty(); }
  uint64_t hash() const { return has_script() ? source_hash(text_) : 0; }
  /// The script's folder; empty when the script came over the network.
  const std::string& folder() const noexcept { return folder_; }

  /// The file of `--barrier`, which may lie anywhere; other files come from beside the script only.
  void set_barrier_file(std::string path) { barrier_file_ = std::move(path); }

  /// The same for another host, to which it is sent: nothing that a link leads to from below the script's folder to
  /// outside of it, and no hidden file. The script and the `--barrier` file, which the user has named, may be links.
  Result<SourceText> find_to_send(const std::string& name) const;

  /// A module or file of this machine: "a.b" is a/b.lua or a/b/init.lua beside the script; a name that ends in .lua is
  /// the `--barrier` file as given, or a file below the script's folder. Code::bad_argument with what was tried;
  /// Code::refused for what is no regular file or has more than 16 MiB. Blocks on the disk.
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
  std::string barrier_file_;
};

}  // namespace actorhost
