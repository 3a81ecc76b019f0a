# What `cmake --install` adds to the targets that folders install themselves:
# the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/weirConfig.cmake.in
  ${CMAKE_BINARY_DIR}/weirConfig.cmake
  INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/weirConfigVersion.cmake
  VERSION ${PROJECT_VERSION}
  COMPATIBILITY SameMinorVersion)
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${package_folder})
install(FILES
  ${CMAKE_BINARY_DIR}/weirConfig.cmake
  ${CMAKE_BINARY_DIR}/weirConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/WeirAddModel.cmake
  DESTINATION ${package_folder})

# pkg-config wants whole paths, unless they lie under the prefix: then the
# installation may be moved.
foreach(kind LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
    set(PKGCONFIG_${kind} "${CMAKE_INSTALL_${kind}}")
  else()
    set(PKGCONFIG_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
  endif()
endforeach()
# The prefix is taken from where the file lies, so that
# `cmake --install --prefix` and moving the installation both work.
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" PKGCONFIG_UP "${up}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/weir.pc.in ${CMAKE_BINARY_DIR}/weir.pc @ONLY)
set(pc_files ${CMAKE_BINARY_DIR}/weir.pc)
# weir_archive_pc(NAME WHAT LIBRARY...): what models link beside libweir_runtime_NAME.a.
function(weir_archive_pc archive archive_what)
  list(TRANSFORM ARGN PREPEND "-l")
  list(JOIN ARGN " " archive_libraries)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/weir-archive.pc.in
    ${CMAKE_BINARY_DIR}/weir-${archive}.pc @ONLY)
  set(pc_files ${pc_files} ${CMAKE_BINARY_DIR}/weir-${archive}.pc PARENT_SCOPE)
endfunction()
get_property(image_libraries GLOBAL PROPERTY WEIR_IMAGE_LIBRARIES)
weir_archive_pc(images "What models link that decode or encode images" ${image_libraries})
if(TARGET weir_runtime_text)
  get_property(text_libraries GLOBAL PROPERTY WEIR_RUNTIME_TEXT_LIBRARIES)
  weir_archive_pc(text "Regular expressions of models by RE2" ${text_libraries})
endif()
if(TARGET weir_runtime_linalg)
  get_property(linalg_libraries GLOBAL PROPERTY WEIR_RUNTIME_LINALG_LIBRARIES)
  weir_archive_pc(linalg "Decompositions of models' matrices by LAPACK" ${linalg_libraries})
endif()
install(FILES ${pc_files} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
