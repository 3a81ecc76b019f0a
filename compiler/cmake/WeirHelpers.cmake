# Helpers that every folder's CMakeLists.txt uses.

option(WEIR_CCACHE "Put ccache in front of the compiler where it is installed" ON)
set(WEIR_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
option(WEIR_FUZZ "Build test/fuzz, and the compiler so that libFuzzer sees where an input goes" OFF)

# Installed tools find LLVM where they were linked with it.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(WEIR_CCACHE)
  find_program(WEIR_CCACHE_PROGRAM ccache)
  if(WEIR_CCACHE_PROGRAM)
    # A precompiled header carries a time stamp, which would spoil every hash.
    set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${WEIR_CCACHE_PROGRAM})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
if(WEIR_SANITIZE)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize=vptr)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
endif()

# How everything that reads a precompiled header is compiled; the readers of one must
# agree. MLIR throws nothing: clean-up code for exceptions is a tenth of the work and of the
# size. The compiler spends its time in LLVM's archives, so what -O2 does beyond -O1 (a tenth
# of the work again) makes no model compile sooner; nor does careful selection of instructions,
# a twentieth.
function(weir_compile_as_compiler name)
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${name} PRIVATE
      "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:SHELL:-mllvm -fast-isel>")
  endif()
endfunction()

# Sources that go over all of a model's constants, in loops that are to be of vectors; no product
# is contracted into a sum, so that a compiler writes the same bytes whatever it was built for.
function(weir_compile_for_constants)
  set_source_files_properties(${ARGN} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>;-ffp-contract=off")
endfunction()

# Debian's libprotobuf is not instrumented, and its headers give messages another layout under
# ThreadSanitizer: what includes them is compiled without.
function(weir_compile_as_protobuf name)
  if(WEIR_SANITIZE MATCHES thread)
    target_compile_options(${name} PRIVATE -fno-sanitize=thread)
    set_target_properties(${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# The richest precompiled header that stands below a target: of MLIR and the weir dialect,
# of both dialects, or also of those that code generation writes.
function(weir_precompiled_header name)
  weir_compile_as_compiler(${name})
  if(name MATCHES "_pch$")
    return()
  endif()
  foreach(header weir_codegen_pch weir_operations_pch weir_pch)
    if(TARGET ${header})
      target_precompile_headers(${name} REUSE_FROM ${header})
      return()
    endif()
  endforeach()
endfunction()

# weir_add_compiler_library(name sources... LIBS ... DEPENDS ...)
# A library above the runtime: knows MLIR, is built with the one precompiled
# header of MLIR's usual headers.
function(weir_add_compiler_library name)
  cmake_parse_arguments(ARG "" "" "LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
    ${CMAKE_SOURCE_DIR}/runtime/include)
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${name} PUBLIC ${LLVM_DEFINITIONS})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter)
  target_link_libraries(${name} PUBLIC ${ARG_LIBS} weir_llvm)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  weir_precompiled_header(${name})
endfunction()

# weir_register_frontend(LIBRARY function header), weir_register_device(LIBRARY function
# header): what the driver registers, in the order in which folders are added. The header,
# by its path from the root, declares the function, which takes nothing and gives a
# `const Frontend &`, or a `const DeviceBackend &`. Said in the folder's own CMakeLists.txt,
# so that nothing outside of it names it.
function(weir_register_frontend library function header)
  set_property(GLOBAL APPEND PROPERTY WEIR_FRONTENDS "${function}" "${header}" "${library}")
endfunction()
function(weir_register_device library function header)
  set_property(GLOBAL APPEND PROPERTY WEIR_DEVICES "${function}" "${header}" "${library}")
endfunction()

# weir_register_frontend_flags(LIBRARY function header), weir_register_device_flags(LIBRARY
# function header): the flags of one that has any, which programs know that do not compile. The
# function gives a `std::vector<FrontendFlag>`, or a `const DeviceFlag &`; the library knows no MLIR.
function(weir_register_frontend_flags library function header)
  set_property(GLOBAL APPEND PROPERTY WEIR_FRONTEND_FLAGS "${function}" "${header}" "${library}")
endfunction()
function(weir_register_device_flags library function header)
  set_property(GLOBAL APPEND PROPERTY WEIR_DEVICE_FLAGS "${function}" "${header}" "${library}")
endfunction()

# weir_add_flags_library(name sources...): what says which flags there are, without MLIR.
function(weir_add_flags_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  weir_compile_as_compiler(${name})
endfunction()

# weir_write_registry(PROPERTY register file libraries): a header of functions that register
# each of the property's, and the libraries that these are in.
function(weir_write_registry property register file libraries)
  get_property(all GLOBAL PROPERTY ${property})
  set(includes "")
  set(calls "")
  set(names "")
  while(all)
    list(POP_FRONT all function header library)
    string(APPEND includes "#include \"${header}\"\n")
    string(APPEND calls "  ${register}(${function}());\n")
    list(APPEND names ${library})
  endwhile()
  file(CONFIGURE OUTPUT ${file} CONTENT
    "// Generated from the folders' CMakeLists.txt.\n#pragma once\n${includes}\nnamespace weir {\ninline void ${register}s() {\n${calls}}\n} // namespace weir\n" @ONLY)
  set(${libraries} ${names} PARENT_SCOPE)
endfunction()

# Has an executable compiled as the libraries are, so that it can read their precompiled
# header: executables would be compiled with -fPIE.
function(weir_executable_with_precompiled_header name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  weir_precompiled_header(${name})
endfunction()

# weir_add_unit_test(name [MLIR] sources... LIBS ...): a GoogleTest executable, run by
# ctest as one test. MLIR: its sources use MLIR's headers.
function(weir_add_unit_test name)
  cmake_parse_arguments(ARG "MLIR" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
    ${CMAKE_SOURCE_DIR}/runtime/include)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} gtest gtest_main pthread)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  if(ARG_MLIR)
    weir_executable_with_precompiled_header(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endfunction()

# weir_tablegen(out flags...): one generated file out of LLVM_TARGET_DEFINITIONS.
function(weir_tablegen out)
  mlir_tablegen(${out} ${ARGN} -I ${CMAKE_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS})
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
endfunction()
