# weir_llvm: LLVM and MLIR, as every library above the runtime links them.
#
# From the distribution's shared libraries, or with WEIR_STATIC_LLVM from its archives: the
# installed tools then ask the machine that they run on for the C library alone, and `cpack -G TGZ`
# makes an archive of them that works wherever it is unpacked.
option(WEIR_STATIC_LLVM "Link LLVM, protobuf, C++'s and images' libraries into the tools" OFF)

# Tools with the property WEIR_LLVM_ARCHIVES (weirc, weir-run) are linked with the archives in any
# case, where there are any (WEIR_LLVM_ARCHIVES_ARE_THERE): the loader would look for 60,000 symbols
# between MLIR's and LLVM's shared libraries each time, which takes as long as compiling a small
# model, and calls between them go through tables.

# lld takes the members that are asked for, in whatever order archives come; what belongs to
# MLIR's own tests and to its C interface is not asked for.
file(GLOB archives ${LLVM_LIBRARY_DIRS}/libMLIR*.a ${LLVM_LIBRARY_DIRS}/libLLVM*.a)
list(FILTER archives EXCLUDE REGEX "/libMLIR(CAPI|.*Test)")
foreach(name z zstd)
  find_library(WEIR_STATIC_${name} NAMES lib${name}.a)
endforeach()

add_library(weir_llvm INTERFACE)
set(WEIR_LLVM_ARCHIVES_ARE_THERE ${WEIR_STATIC_LLVM})
if(NOT WEIR_STATIC_LLVM)
  set(llvm_libraries MLIR LLVM)
  # A sanitizer takes containers for its own that code without it has filled.
  if(archives AND WEIR_STATIC_z AND WEIR_STATIC_zstd AND NOT WEIR_SANITIZE AND NOT WEIR_FUZZ
     AND CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld=lld")
    set(WEIR_LLVM_ARCHIVES_ARE_THERE ON)
    list(APPEND archives ${WEIR_STATIC_z} ${WEIR_STATIC_zstd} dl pthread m)
    set(wants_archives $<BOOL:$<TARGET_PROPERTY:WEIR_LLVM_ARCHIVES>>)
    target_link_libraries(weir_llvm INTERFACE
      "$<IF:${wants_archives},${archives},${llvm_libraries}>")
    target_link_options(weir_llvm INTERFACE
      "$<${wants_archives}:LINKER:--gc-sections;LINKER:--exclude-libs,ALL>")
  else()
    target_link_libraries(weir_llvm INTERFACE ${llvm_libraries})
  endif()
  return()
endif()

if(NOT archives)
  message(FATAL_ERROR "WEIR_STATIC_LLVM: there are no archives of MLIR in ${LLVM_LIBRARY_DIRS}")
endif()
target_link_libraries(weir_llvm INTERFACE ${archives})
# weir_static_library(NAME): the archive by that name, and an error where it is missing.
function(weir_static_library name out)
  find_library(WEIR_STATIC_${name} NAMES lib${name}.a)
  if(NOT WEIR_STATIC_${name})
    message(FATAL_ERROR "WEIR_STATIC_LLVM: there is no lib${name}.a")
  endif()
  set(${out} ${WEIR_STATIC_${name}} PARENT_SCOPE)
endfunction()
foreach(name z zstd)
  weir_static_library(${name} archive)
  target_link_libraries(weir_llvm INTERFACE ${archive})
endforeach()
target_link_libraries(weir_llvm INTERFACE dl pthread m)
target_link_options(weir_llvm INTERFACE -static-libstdc++ -static-libgcc LINKER:--gc-sections
  LINKER:--exclude-libs,ALL LINKER:--disable-new-dtags)
# What has no archive lies beside the tools (WeirPackage.cmake), and is found from there by
# them and by each other.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/weir")
set(ZLIB_USE_STATIC_LIBS ON)
set(Protobuf_USE_STATIC_LIBS ON)
