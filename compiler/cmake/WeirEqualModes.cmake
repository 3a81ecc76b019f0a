# Run by cpack on the packages that it has made (CPACK_POST_BUILD_SCRIPTS): gives the members of
# Debian's packages the modes of any umask, which cpack takes over from files of its own.
foreach(package ${CPACK_PACKAGE_FILES})
  if(package MATCHES "\\.deb$")
    set(members ${CPACK_TEMPORARY_DIRECTORY}/members)
    file(REMOVE_RECURSE ${members})
    file(MAKE_DIRECTORY ${members})
    execute_process(COMMAND ar t ${package} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE "\n$" "" names "${names}")
    string(REPLACE "\n" ";" names "${names}")
    execute_process(COMMAND ar x ${package} WORKING_DIRECTORY ${members} COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE ${package})
    # D: mode 644, no time, no owner.
    execute_process(COMMAND ar rcDS ${package} ${names} WORKING_DIRECTORY ${members}
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
