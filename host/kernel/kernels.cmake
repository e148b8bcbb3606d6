# Compiles the kernels once per instruction set. -O3 in every build type, so that tests and debug builds stay usable. No
# contraction to fused multiply-add, so that everything except step_product gives the same bits on each instruction set.
file(GLOB isa_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/isa/*.cpp)

function(actorhost_kernels isa)
  add_library(kernels_${isa} OBJECT ${isa_sources})
  set_target_properties(kernels_${isa} PROPERTIES UNITY_BUILD OFF)  # a test looks into each object
  target_include_directories(kernels_${isa} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(kernels_${isa} PRIVATE actorhost_flags)
  target_compile_definitions(kernels_${isa} PRIVATE AH_ISA=${isa})
  target_compile_options(kernels_${isa} PRIVATE ${ARGN} -O3 -g1 -ffp-contract=off -fno-math-errno -fno-trapping-math
    -fno-exceptions -fno-rtti $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-uninitialized>)  # g++ 12's own AVX-512 headers
  if(NOT isa STREQUAL "sse2")
    set_target_properties(kernels_${isa} PROPERTIES EXPORT_COMPILE_COMMANDS OFF)  # clang-tidy reads each source once
  endif()
  target_sources(actorhost_core PRIVATE $<TARGET_OBJECTS:kernels_${isa}>)
endfunction()

actorhost_kernels(sse2)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  actorhost_kernels(v3 -march=x86-64-v3)
  actorhost_kernels(v4 -march=x86-64-v4)
  target_compile_definitions(actorhost_core PRIVATE AH_KERNEL_X86=1)
endif()

# Decompositions: baseline instructions only. Outside of the unity batches, since Eigen's headers are large; optimised
# in every build type, like the kernels.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/linalg.cpp TARGET_DIRECTORY actorhost_core
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "-O2;-g1" COMPILE_DEFINITIONS EIGEN_DONT_PARALLELIZE)
target_link_libraries(actorhost_core PRIVATE $<BUILD_INTERFACE:Eigen3::Eigen>)
# Loops that -O3 vectorises where elements are consecutive.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/whole.cpp ${CMAKE_CURRENT_LIST_DIR}/aggregate.cpp
  TARGET_DIRECTORY actorhost_core
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "-O3;-g1")
