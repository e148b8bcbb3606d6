# cmake --install, and the Debian packages. Component `program`: the program with its manual, completions and examples,
# licence, README, and the Lua library for editors (the program contains its own). Component `development`: both C++
# libraries with their headers, and the package files. Another project then writes
#   find_package(actorhost CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE actorhost::actorhost_lua)     # or actorhost::actorhost_core, without Lua
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/actorhost)

install(TARGETS actorhost_core actorhost_lua EXPORT actorhost_targets COMPONENT development)
install(DIRECTORY host DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/actorhost COMPONENT development FILES_MATCHING PATTERN *.hpp)
install(DIRECTORY bindings/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/actorhost COMPONENT development
  FILES_MATCHING PATTERN *.hpp PATTERN *.h)
install(EXPORT actorhost_targets NAMESPACE actorhost:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(scripts/cmake/actorhostConfig.cmake.in actorhostConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(actorhostConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/actorhostConfig.cmake ${PROJECT_BINARY_DIR}/actorhostConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

# Component `runtime_library`: libactorhost.so.1 for C (actorhost.h) and Python. Component `python`: the Python package.
# Debian's Python finds it if the prefix is /usr; elsewhere PYTHONPATH names its folder.
install(TARGETS actorhost_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime_library
  NAMELINK_COMPONENT development)
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(scripts/cmake/actorhost.pc.in actorhost.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/actorhost.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(DIRECTORY bindings/python/actorhost DESTINATION lib/python3/dist-packages COMPONENT python
  FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN __pycache__ EXCLUDE)

install(TARGETS actorhost COMPONENT program)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY stdlib/ DESTINATION ${CMAKE_INSTALL_DATADIR}/actorhost/library COMPONENT program FILES_MATCHING PATTERN *.lua)
# For jobs beside the examples; a copy of it beside other jobs names the library by its whole path.
file(READ ${PROJECT_SOURCE_DIR}/.luarc.json editor_settings)
file(RELATIVE_PATH library ${CMAKE_INSTALL_FULL_DOCDIR}/examples ${CMAKE_INSTALL_FULL_DATADIR}/actorhost/library)
string(REPLACE "\"stdlib\"" "\"${library}\"" editor_settings "${editor_settings}")
file(WRITE ${PROJECT_BINARY_DIR}/luarc.json "${editor_settings}")
install(FILES ${PROJECT_BINARY_DIR}/luarc.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples RENAME .luarc.json COMPONENT program)

include(scripts/cmake/Manual.cmake)
include(scripts/cmake/Package.cmake)
