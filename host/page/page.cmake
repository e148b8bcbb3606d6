# The page: the library that serves it is loaded at run time, so only its header is needed here. Its files, and Chart.js
# from the package libjs-chart.js, are compiled in.
find_path(MICROHTTPD_INCLUDE_DIR microhttpd.h REQUIRED)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
find_file(ACTORHOST_CHART_JS NAMES chart.umd.js chart.min.js PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
  REQUIRED)
target_include_directories(actorhost_core PRIVATE ${MICROHTTPD_INCLUDE_DIR})
target_link_libraries(actorhost_core PRIVATE PkgConfig::PROMETHEUS)

set(page_assets ${CMAKE_CURRENT_SOURCE_DIR}/page/assets)
set(page_files ${page_assets}/page.html ${page_assets}/page.css ${page_assets}/charts.js ${page_assets}/past.js
  ${page_assets}/stream.js ${page_assets}/detail.js ${page_assets}/page.js ${ACTORHOST_CHART_JS})
set(page_embedded ${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp)
set(page_script ${PROJECT_SOURCE_DIR}/scripts/cmake/EmbedPage.cmake)
add_custom_command(
  OUTPUT ${page_embedded}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${page_embedded} "-DFILES=${page_files}"
          "-DPATHS=/;/page.css;/charts.js;/past.js;/stream.js;/detail.js;/page.js;/chart.js" -P ${page_script}
  DEPENDS ${page_files} ${page_script}
  VERBATIM)
target_sources(actorhost_core PRIVATE ${page_embedded})
