# The manual pages and the completions of shells, which the built program prints, and their installation. They are made
# with the target `all`; an installation without them has none.
set(manual_dir ${PROJECT_BINARY_DIR}/manual)
file(MAKE_DIRECTORY ${manual_dir})
set(generated "")
# Makes a file in manual_dir from the output of `actorhost help`.
function(from_help file)
  add_custom_command(OUTPUT ${manual_dir}/${file} COMMAND actorhost help ${ARGN} > ${file} DEPENDS actorhost
    WORKING_DIRECTORY ${manual_dir} VERBATIM)
  set(generated ${generated} ${manual_dir}/${file} PARENT_SCOPE)
endfunction()

# Every subcommand has a page. Subcommands in C++ have no scripts/NAME.lua.
file(GLOB commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/*.lua)
list(TRANSFORM commands REPLACE ".*/(.*)\\.lua$" "\\1")
foreach(command IN LISTS commands ITEMS agent run)
  string(REGEX REPLACE "-run$" "" page actorhost-${command})
  from_help(${page}.1 --man ${command})
  add_custom_command(OUTPUT ${manual_dir}/${page}.1.gz COMMAND gzip -9 -n -k -f ${page}.1 DEPENDS ${manual_dir}/${page}.1
    WORKING_DIRECTORY ${manual_dir} VERBATIM)
  list(APPEND generated ${manual_dir}/${page}.1.gz)
  install(FILES ${manual_dir}/${page}.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
endforeach()

from_help(actorhost.bash --completion bash)
from_help(actorhost.zsh --completion zsh)
from_help(actorhost.fish --completion fish)
set(zsh_dir site-functions)
set(fish_dir fish/vendor_completions.d)
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
  set(zsh_dir vendor-completions)
endif()
foreach(place bash:bash-completion/completions/actorhost zsh:zsh/${zsh_dir}/_actorhost fish:${fish_dir}/actorhost.fish)
  string(REGEX MATCH "^(.*):(.*)/(.*)$" place ${place})
  install(FILES ${manual_dir}/actorhost.${CMAKE_MATCH_1} DESTINATION ${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_2}
    RENAME ${CMAKE_MATCH_3} COMPONENT program OPTIONAL)
endforeach()

add_custom_target(actorhost_manual ALL DEPENDS ${generated})
