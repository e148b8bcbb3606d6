#include <cstdio>

#include "tests/integration/process.hpp"
#include "tests/test.hpp"

namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}

}  // namespace

// Otherwise the linker could use a function compiled for AVX-512 in ordinary code.
TEST_CASE("kernel objects define nothing outside the namespaces of their instruction set") {
  namespace fs = std::filesystem;
  std::set<std::string> members;
  for (const auto& file : fs::directory_iterator(source_dir() / "host/kernel/isa")) {
    if (file.path().extension() == ".cpp") members.insert(file.path().filename().string() + ".o:");
  }
  const fs::path library = fs::path(actorhost_binary()).parent_path().parent_path() / "host/libactorhost_core.a";
  std::istringstream listing(output_of("nm -C --defined-only --extern-only '" + library.string() + "'"));
  bool ours = false;
  int seen = 0;
  for (std::string line; std::getline(listing, line);) {
    if (line.ends_with(".o:")) ours = members.contains(line);
    if (!ours || line.size() < 20 || line.ends_with(".o:")) continue;
    ++seen;
    const std::string name = line.substr(19);
    bool inside = name.starts_with("__odr_asan.");  // marks of the address sanitizer, not code
    for (const char* isa : {"sse2", "v3", "v4"}) {
      inside = inside || name.find(std::string("actorhost::kernel::") + isa) != std::string::npos;
    }
    if (!inside) FAIL_CHECK(name);
  }
  CHECK(seen > 3 * static_cast<int>(members.size()));
}
