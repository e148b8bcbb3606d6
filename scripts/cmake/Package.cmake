# The Debian packages that `cpack -G DEB` makes of an installation in /usr (the preset `package`), a package for each
# component: actorhost, libactorhost-dev, libactorhost1 and python3-actorhost.
if(NOT CMAKE_INSTALL_PREFIX STREQUAL /usr)
  return()
endif()
set(debian ${PROJECT_SOURCE_DIR}/scripts/debian)
set(made ${PROJECT_BINARY_DIR}/debian)
set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)  # for files in /etc
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the actorhost authors <authors@actorhost.invalid>")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL program development runtime_library python)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME actorhost)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# Libraries that the program loads when it needs them: URLs, the page, the prompt, charts as PNG, the reference.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "libcurl4, libmicrohttpd12, libedit2, libmd4c-html0, librsvg2-2")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS libactorhost-dev)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "host for distributed jobs in Lua with barrier rules
A program that runs distributed training, map-reduce and collective jobs on
threads, processes and machines. A job is a script in Lua: it decides when a
worker may start its next step, what the worker works on, how updates merge and
when to stop. The package also has a simulator of barrier rules, rehearsals of
whole jobs with failing hosts, a console and a page of each run.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libactorhost-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# As in actorhostConfig.cmake.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libactorhost1 (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libarchive-dev, libboost-context-dev, libluajit-5.1-dev, liblz4-dev, \
libnng-dev, libpugixml-dev, libsodium-dev, libspdlog-dev, libutf8proc-dev, libxxhash-dev, nlohmann-json3-dev, \
pkg-config, prometheus-cpp-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "${CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS actorhost)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "host for distributed jobs in Lua (libraries for C and C++)
Libraries, headers, the CMake package and the pkg-config file for programs that
run jobs of actorhost. In C++: find_package(actorhost), link
actorhost::actorhost_lua, include actorhost.hpp. In C: pkg-config actorhost,
include actorhost.h. The libraries contain the standard library in Lua.")

set(CPACK_DEBIAN_RUNTIME_LIBRARY_PACKAGE_NAME libactorhost1)
set(CPACK_DEBIAN_RUNTIME_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_LIBRARY_PACKAGE_SHLIBDEPS ON)
# As Debian's tools write them; CPack's own lack the trigger.
file(WRITE ${made}/shlibs "libactorhost 1 libactorhost1 (>= ${PROJECT_VERSION})\n")
file(WRITE ${made}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_LIBRARY_PACKAGE_CONTROL_EXTRA ${made}/shlibs ${made}/triggers)
set(CPACK_DEBIAN_RUNTIME_LIBRARY_PACKAGE_RECOMMENDS "${CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS}")
set(CPACK_COMPONENT_RUNTIME_LIBRARY_DESCRIPTION "host for distributed jobs in Lua (shared library)
The library that programs in C and Python load to run jobs of actorhost, to run
Lua on its nodes, or to be a worker of a run.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-actorhost)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libactorhost1 (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-numpy)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${debian}/python/postinst ${debian}/python/prerm)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "host for distributed jobs in Lua (Python 3)
A process in Python is a worker of a run, starts a cluster of its own, or
simulates barrier rules. Arrays of NumPy and tensors of PyTorch are shared
without a copy.")

# The licences, the changes, and the list of packaged versions.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${made}/changelog.Debian "actorhost (${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Made by scripts/package. changelog.gz lists the changes of the program.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
configure_file(CHANGELOG.md ${made}/changelog COPYONLY)
foreach(file changelog changelog.Debian)
  execute_process(COMMAND gzip -9 -n -k -f ${made}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(component PROGRAM DEVELOPMENT RUNTIME_LIBRARY PYTHON)
  string(TOLOWER ${component} name)
  set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${component}_PACKAGE_NAME})
  install(FILES ${made}/changelog.gz ${made}/changelog.Debian.gz ${debian}/copyright COMPONENT ${name}
    DESTINATION ${doc_dir})
  foreach(package libcli11-dev libeigen3-dev nlohmann-json3-dev libjs-chart.js)
    install(FILES /usr/share/doc/${package}/copyright COMPONENT ${name} DESTINATION ${doc_dir}/compiled-in RENAME ${package})
  endforeach()
endforeach()

# The agent of a machine, which is not enabled by default.
install(FILES ${debian}/actorhost-agent.service DESTINATION /lib/systemd/system COMPONENT program)
install(FILES ${debian}/default DESTINATION /etc/default RENAME actorhost COMPONENT program)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)

include(CPack)
