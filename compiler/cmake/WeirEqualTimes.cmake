# Run by cpack on what it is about to pack (CPACK_PRE_BUILD_SCRIPTS): gives every file one
# time and the modes of any umask, so that packages of equal trees are equal.
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec
  touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} + COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND chmod -R u+rwX,go+rX,go-w ${CPACK_TEMPORARY_DIRECTORY}
  COMMAND_ERROR_IS_FATAL ANY)
