# Writes OUTPUT, a C++ file with the bytes of FILES. Each file is served under the path at the same index of PATHS.
set(arrays "")
set(entries "")
foreach(file path IN ZIP_LISTS FILES PATHS)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(MAKE_C_IDENTIFIER "k${path}" name)
  get_filename_component(ending ${file} LAST_EXT)
  set(type_.html "text/html")
  set(type_.css "text/css")
  set(type_.js "text/javascript")
  string(APPEND arrays "const unsigned char ${name}[] = {${bytes}};\n")
  string(APPEND entries
    "    {\"${path}\", \"${type_${ending}}; charset=utf-8\", {reinterpret_cast<const char*>(${name}), sizeof ${name}}},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from host/page/assets and the chart library; do not edit.
#include \"host/page/page_files.hpp\"

namespace actorhost {
namespace {
${arrays}}  // namespace

std::span<const PageFile> page_files() noexcept {
  static const PageFile kFiles[] = {
${entries}  };
  return kFiles;
}

}  // namespace actorhost
")
