#pragma once
// The job's source texts: the script, its modules and the barrier file, with their hashes. The coordinator reads files.
// Another process compares the hash of its own copy with the coordinator's, or receives the text over the network.
// Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/non_copyable.hpp"
#include "host/base/result.hpp"

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

  /// Reads the script, which may be a pipe, and searches modules in its folder. Code::bad_argument if it cannot be read
  /// or has more than 16 MiB.
  Status open(const std::string& path);
  /// Takes the script that the coordinator sent, or a script that is no file. The folder is then empty, unless `folder`
  /// names it or `open` found a copy.
  void receive(std::string name, std::string text, std::string folder = {});

  const std::string& name() const noexcept { return name_; }
  const std::string& text() const noexcept { return text_; }
  bool has_script() const noexcept { return !name_.empty(); }
  uint64_t hash() const { return has_script() ? source_hash(text_) : 0; }
  /// The script's folder; empty if the script arrived over the network.
  const std::string& folder() const noexcept { return folder_; }

  /// The file of `--barrier`, which may be anywhere. All other files are beside the script.
  void set_barrier_file(std::string path) { barrier_file_ = std::move(path); }

  /// As find_here, for another host. Refuses hidden files, and links from below the script's folder to outside of it.
  /// The script and the `--barrier` file may be links, because the user named them.
  Result<SourceText> find_to_send(const std::string& name) const;

  /// A module or file of this machine: "a.b" is a/b.lua or a/b/init.lua beside the script; a name that ends in .lua is
  /// the given `--barrier` file, or a file below the script's folder. Code::bad_argument lists the tried paths;
  /// Code::refused if it is no regular file or has more than 16 MiB. Blocks on the disk.
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
