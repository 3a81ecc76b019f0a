# weir_llvm: LLVM and MLIR, as every library above the runtime links them.
#
# From the distribution's shared libraries, or with WEIR_STATIC_LLVM from its archives: the
# installed tools then ask the machine that they run on for the C library alone, and `cpack -G TGZ`
# makes an archive of them that works wherever it is unpacked.
option(WEIR_STATIC_LLVM "Link LLVM, protobuf, C++'s and images' libraries into the tools" OFF)

add_library(weir_llvm INTERFACE)
if(NOT WEIR_STATIC_LLVM)
  target_link_libraries(weir_llvm INTERFACE MLIR LLVM)
  return()
endif()

# lld takes the members that are asked for, in whatever order archives come; what belongs to
# MLIR's own tests and to its C interface is not asked for.
file(GLOB archives ${LLVM_LIBRARY_DIRS}/libMLIR*.a ${LLVM_LIBRARY_DIRS}/libLLVM*.a)
list(FILTER archives EXCLUDE REGEX "/libMLIR(CAPI|.*Test)")
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
