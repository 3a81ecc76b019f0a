# Packages: what `cmake --install` adds for people (manual pages, completion, pages), and
# the Debian packages weir, weir-dev, libweir1 and python3-weir, which `cpack -G DEB` writes
# in a build tree, and one archive of all of it for other systems, by `cpack -G TGZ` in a tree
# of WEIR_STATIC_LLVM (the preset `static`). Equal trees give equal bytes.

# The runtime as a shared library, for programs that share one: -lweir.
file(WRITE ${CMAKE_BINARY_DIR}/libweir.c "/* All of libweir_runtime.a. */\n")
add_library(weir_shared SHARED ${CMAKE_BINARY_DIR}/libweir.c)
target_link_libraries(weir_shared PRIVATE
  $<LINK_LIBRARY:WHOLE_ARCHIVE,weir_runtime> Threads::Threads m)
# The number is WEIR_ABI_OLDEST's: what linked one goes on with another of it.
set_target_properties(weir_shared PROPERTIES OUTPUT_NAME weir
  VERSION 1.${PROJECT_VERSION} SOVERSION 1)
install(TARGETS weir_shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT shared NAMELINK_COMPONENT dev)

# Manual pages and completion are what the tools say of their flags.
set(share ${CMAKE_BINARY_DIR}/share)
set(manual_tools weirc weir-run weir-conformance)
set(weirc_commands check explain show custom-op cut anonymize bisect trace-node why diff)
set(commands "")
set(pages "")
foreach(tool IN LISTS manual_tools)
  list(APPEND commands COMMAND $<TARGET_FILE:${tool}> --print-man > man/${tool}.1)
  list(APPEND pages ${share}/man/${tool}.1)
endforeach()
foreach(command IN LISTS weirc_commands)
  list(APPEND commands COMMAND $<TARGET_FILE:weirc> ${command} --print-man > man/weirc-${command}.1)
  list(APPEND pages ${share}/man/weirc-${command}.1)
endforeach()
set(completions "")
foreach(tool weirc weir-run)
  foreach(form bash:${tool} zsh:_${tool} fish:${tool}.fish)
    string(REPLACE ":" ";" form "${form}")
    list(GET form 0 shell)
    list(GET form 1 file)
    list(APPEND commands COMMAND $<TARGET_FILE:${tool}> --print-completion=${shell} > ${shell}/${file})
    list(APPEND completions ${share}/${shell}/${file})
  endforeach()
endforeach()
file(MAKE_DIRECTORY ${share}/man ${share}/bash ${share}/zsh ${share}/fish)
add_custom_command(OUTPUT ${pages} ${completions} ${commands}
  DEPENDS ${manual_tools} WORKING_DIRECTORY ${share}
  COMMENT "Writing manual pages and completion" VERBATIM)
add_custom_target(weir_manuals ALL DEPENDS ${pages} ${completions})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
set(data ${CMAKE_INSTALL_DATADIR})
install(DIRECTORY ${share}/bash/ DESTINATION ${data}/bash-completion/completions COMPONENT tools)
install(DIRECTORY ${share}/zsh/ DESTINATION ${data}/zsh/vendor-completions COMPONENT tools)
install(DIRECTORY ${share}/fish/ DESTINATION ${data}/fish/vendor_completions.d COMPONENT tools)

# The pages, and the licence of each package.
install(DIRECTORY docs/ DESTINATION ${data}/doc/weir COMPONENT tools
  PATTERN "results" EXCLUDE PATTERN "conformance*" EXCLUDE)
install(DIRECTORY test/digits/ DESTINATION ${data}/doc/weir/examples/digits COMPONENT tools
  FILES_MATCHING PATTERN "digits.onnx" PATTERN "samples.*" PATTERN "classify.cpp"
  PATTERN "digits_saved_model" EXCLUDE)
foreach(pair tools:weir dev:weir-dev shared:libweir1 python:python3-weir)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES LICENSE DESTINATION ${data}/doc/${package} RENAME copyright COMPONENT ${component})
endforeach()

# Shared libraries that the tools of WEIR_STATIC_LLVM still ask for: Debian has no archive
# of libzip.
if(WEIR_STATIC_LLVM)
  install(CODE [[
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "$<TARGET_FILE:weirc>" "$<TARGET_FILE:weir-run>"
      "$<TARGET_FILE:weir-run-model>"
      RESOLVED_DEPENDENCIES_VAR found
      PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s)[.]so" "^ld-linux")
    file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/weir" TYPE SHARED_LIBRARY
      FOLLOW_SYMLINK_CHAIN FILES ${found})]] COMPONENT tools)
endif()

# The Python package beside the tools, rather than with a copy of them as in the wheel.
file(GLOB python_files CONFIGURE_DEPENDS tools/python/weir/*.py tools/python/weir/py.typed)
install(FILES ${python_files} DESTINATION lib/python3/dist-packages/weir COMPONENT python)
set(fast ${CMAKE_BINARY_DIR}/python/_fast.abi3.so)
install(CODE "execute_process(COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/python/build_wheel.py
  --fast=${fast} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT python)
install(FILES ${fast} DESTINATION lib/python3/dist-packages/weir COMPONENT python OPTIONAL)

set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR weir)
set(CPACK_PACKAGE_CONTACT "weir maintainers <weir@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "ahead-of-time compiler for machine-learning graphs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tools dev shared python)
set(CPACK_THREADS 1)
set(WEIR_RELEASE_EPOCH 1795564800) # 2026-11-25
configure_file(${CMAKE_CURRENT_LIST_DIR}/WeirCPack.cmake.in ${CMAKE_BINARY_DIR}/WeirCPack.cmake @ONLY)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_BINARY_DIR}/WeirCPack.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/WeirEqualTimes.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/WeirEqualModes.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME weir)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
# A shared object is linked with the runtime, by one of these.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "weir-dev (= ${PROJECT_VERSION}), gcc | clang-22")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The compiler weirc, weir-run, manual pages and pages.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME weir-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libweir1 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS
  "libjpeg62-turbo-dev, libpng-dev, libgif-dev, libwebp-dev, libtiff-dev, libre2-dev, liblapack-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION
  "The runtime that compiled models link: archives, headers, CMake and pkg-config.")
set(CPACK_DEBIAN_SHARED_PACKAGE_NAME libweir1)
set(CPACK_DEBIAN_SHARED_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_SHARED_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_SHARED_DESCRIPTION
  "The runtime of compiled models as a shared library, and what joins several processes.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-weir)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
  "weir (= ${PROJECT_VERSION}), python3 (>= 3.9), python3-numpy")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Compiled models as callables of Python.")
include(CPack)
