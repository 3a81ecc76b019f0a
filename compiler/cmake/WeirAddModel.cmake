# weir_add_model(TARGET MODEL [IMAGES] [NAME IDENT] [OPTIONS flag...])
#
# Compiles a model file with weirc at build time, and gives the library TARGET:
# whoever links it gets the model's object, the runtime, and `#include "IDENT.h"`.
#   MODEL    .onnx, .pb, .pbtxt, the folder of a SavedModel, or .mlir; relative to
#            the current source folder
#   IMAGES   the model decodes or encodes images: links what does that, too
#   NAME     prefix of the C functions and namespace of the C++ class; TARGET's
#            name otherwise
#   OPTIONS  further flags of weirc, such as --cpu=x86-64-v3
# The model is compiled anew when its file, weirc or a flag changes.
function(weir_add_model target model)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "IMAGES" "NAME" "OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_add_model: unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET weir::weirc)
    message(FATAL_ERROR "weir_add_model: this installation has no weirc")
  endif()
  if(NOT ARG_NAME)
    string(MAKE_C_IDENTIFIER "${target}" ARG_NAME)
  endif()
  get_filename_component(model "${model}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${model}")
    message(FATAL_ERROR "weir_add_model: there is no ${model}")
  endif()

  # A folder's own time does not tell when a file in it changes.
  set(inputs "${model}")
  if(IS_DIRECTORY "${model}")
    file(GLOB_RECURSE inputs CONFIGURE_DEPENDS "${model}/*")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.model")
  file(MAKE_DIRECTORY "${folder}")
  set(object "${folder}/${ARG_NAME}.o")
  set(header "${folder}/${ARG_NAME}.h")
  add_custom_command(
    OUTPUT "${object}" "${header}"
    COMMAND weir::weirc "${model}" -o "${object}" "--name=${ARG_NAME}" ${ARG_OPTIONS}
    DEPENDS ${inputs} weir::weirc
    COMMENT "Compiling model ${target}"
    VERBATIM)
  add_custom_target(${target}_model DEPENDS "${object}" "${header}")

  # An object on the link line, rather than a library: its constants are copied
  # once less, and it cannot be left out.
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_model)
  target_include_directories(${target} INTERFACE "${folder}")
  target_link_libraries(${target} INTERFACE "${object}"
    $<$<BOOL:${ARG_IMAGES}>:weir::runtime_images> weir::runtime)
endfunction()
