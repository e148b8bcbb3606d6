# Writes OUTPUT, a C++ file with the text of FILES (Lua modules below STDLIB), COMMANDS (scripts/NAME.lua), PAGES
# (pages and assets of the reference, by their path) and HEADERS (ffi_NAME.h) as string literals.
# String literals are cut into pieces below the compiler's limit.
function(literal text out)
  set(result "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND result "R\"lua~(${piece})lua~\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  if(result STREQUAL "")
    set(result "\"\"")
  endif()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

# In the text of an FFI header, a line `#include "host/FILE.hpp" /* A, B */` exports the enums A and B of that file as C
# enums: A::x becomes AH_A_X.
function(export_enums text out)
  string(REGEX MATCHALL "#include \"[^\"]+\" +/\\* [^*]+ \\*/" lines "${text}")
  set(result "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\"([^\"]+)\" +/\\* (.+) \\*/" line "${line}")
    set(header "${CMAKE_MATCH_1}")
    string(REPLACE ", " ";" enums "${CMAKE_MATCH_2}")
    file(READ ${SOURCE}/${header} source)
    foreach(enum IN LISTS enums)
      string(REGEX REPLACE ".*::" "" name "${enum}")
      if(NOT source MATCHES "enum class ${name} [^{]*{([^}]*)}")
        message(FATAL_ERROR "${header} has no enum ${enum}")
      endif()
      string(REGEX REPLACE "//[^\n]*" "" body "${CMAKE_MATCH_1}")
      string(REPLACE "::" "" prefix "${enum}")
      string(REGEX REPLACE "([a-z])([A-Z])" "\\1_\\2" prefix "${prefix}")
      string(REGEX REPLACE "([a-z][a-z0-9_]*)" "AH_${prefix}_\\1" body "${body}")
      string(TOUPPER "${body}" body)
      string(APPEND result "enum {${body}};\n")
    endforeach()
  endforeach()
  set(${out} "${result}${text}" PARENT_SCOPE)
endfunction()

set(entries "")
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH path ${STDLIB} ${file})
  string(REGEX REPLACE "\\.lua$" "" name "${path}")
  string(REGEX REPLACE "/init$" "" name "${name}")
  string(REPLACE "/" "." name "${name}")
  file(READ ${file} text)
  literal("${text}" body)
  string(APPEND entries "    {\"${name}\", \"stdlib/${path}\", ${body}},\n")
endforeach()
foreach(file IN LISTS COMMANDS)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  literal("${text}" body)
  string(APPEND entries "    {\"command/${name}\", \"scripts/${name}.lua\", ${body}},\n")
endforeach()
foreach(file IN LISTS PAGES)
  file(RELATIVE_PATH path ${SOURCE} ${file})
  file(READ ${file} text)
  literal("${text}" body)
  string(APPEND entries "    {\"page/${path}\", \"${path}\", ${body}},\n")
endforeach()
foreach(file IN LISTS HEADERS)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE ".*/(bindings/.*)" "\\1" path ${file})
  string(REGEX REPLACE "^ffi_" "ffi/" name "${name}")
  file(READ ${file} text)
  export_enums("${text}" text)
  literal("${text}" body)
  string(APPEND entries "    {\"${name}\", \"${path}\", ${body}},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from stdlib/, scripts/, bindings/*/ffi_*.h and pages; do not edit.
#include \"bindings/vm/embedded.hpp\"

namespace actorhost {
namespace {
const EmbeddedFile kFiles[] = {
${entries}    {nullptr, nullptr, nullptr},
};
}  // namespace

const EmbeddedFile* embedded_files() noexcept { return kFiles; }

}  // namespace actorhost
")
