# cmake --install: the program, both libraries with their headers, and the package files, so that another project says
#   find_package(actorhost CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE actorhost::actorhost_lua)     # or actorhost::actorhost_core, without Lua
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/actorhost)
set(installed actorhost_core actorhost_lua)
if(TARGET actorhost)
  list(APPEND installed actorhost)
endif()

install(TARGETS ${installed} EXPORT actorhost_targets)
install(DIRECTORY host DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/actorhost FILES_MATCHING PATTERN *.hpp)
install(DIRECTORY bindings/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/actorhost OPTIONAL)
install(EXPORT actorhost_targets NAMESPACE actorhost:: DESTINATION ${package_dir})

configure_package_config_file(scripts/cmake/actorhostConfig.cmake.in actorhostConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(actorhostConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/actorhostConfig.cmake ${PROJECT_BINARY_DIR}/actorhostConfigVersion.cmake
  DESTINATION ${package_dir})
