# weir_add_model(TARGET MODEL [IMAGES] [TEXT] [LINALG] [NAME IDENT] [CPU NAME,…|portable|native]
#                [WEIGHTS FILE] [OPTIONS flag...])
#
# Compiles a model file with weirc at build time, and gives the library TARGET:
# whoever links it gets the model's object, the runtime, and `#include "IDENT.h"`.
#   MODEL    .onnx, .pb, .pbtxt, the folder of a SavedModel, or .mlir; relative to
#            the current source folder
#   IMAGES   the model decodes or encodes images: links what does that, too
#   TEXT     regular expressions by RE2 instead of by the runtime's own kernels
#   LINALG   decompositions of matrices by LAPACK instead of by the runtime's own kernels
#   NAME     prefix of the C functions and namespace of the C++ class; TARGET's
#            name otherwise
#   CPU      what code is made for, as weirc's --cpu. `portable` has code for every
#            x86-64 processor since 2009 and for two newer levels, of which the best
#            that the machine has is used. Left out: the machine that builds (native)
#   WEIGHTS  the constants lie in a file of that name beside the program instead of in
#            the object; weir_install_model installs it
#   OPTIONS  further flags of weirc, such as --precision=bf16
# The model is compiled anew when a file that it is made of (external data, custom
# operations and tiles included), weirc or a flag changes.
function(weir_add_model target model)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "IMAGES;TEXT;LINALG" "NAME;CPU;WEIGHTS" "OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_add_model: unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET weir::weirc)
    message(FATAL_ERROR "weir_add_model: this installation has no weirc")
  endif()
  if(NOT ARG_NAME)
    string(MAKE_C_IDENTIFIER "${target}" ARG_NAME)
  endif()
  foreach(kind TEXT LINALG)
    string(TOLOWER ${kind} name)
    if(ARG_${kind} AND NOT TARGET weir::runtime_${name})
      message(FATAL_ERROR "weir_add_model: this installation has no libweir_runtime_${name}.a")
    endif()
  endforeach()
  get_filename_component(model "${model}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${model}")
    message(FATAL_ERROR "weir_add_model: there is no ${model}")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.model")
  file(MAKE_DIRECTORY "${folder}")
  set(object "${folder}/${ARG_NAME}.o")
  set(header "${folder}/${ARG_NAME}.h")
  set(depfile "${folder}/${ARG_NAME}.d")
  set(outputs "${object}" "${header}")
  set(flags ${ARG_OPTIONS})
  if(ARG_CPU STREQUAL "portable")
    list(APPEND flags --cpu=x86-64-v2,x86-64-v3,x86-64-v4)
  elseif(ARG_CPU)
    list(APPEND flags "--cpu=${ARG_CPU}")
  endif()
  set(weights "")
  if(ARG_WEIGHTS)
    set(weights "${folder}/${ARG_WEIGHTS}")
    list(APPEND flags "--weights=${weights}")
    list(APPEND outputs "${weights}")
  endif()

  # A folder's own time does not tell when a file in it appears.
  set(inputs "${model}")
  if(IS_DIRECTORY "${model}")
    file(GLOB_RECURSE inputs CONFIGURE_DEPENDS "${model}/*")
  endif()
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND weir::weirc "${model}" -o "${object}" "--name=${ARG_NAME}" "--depfile=${depfile}" ${flags}
    DEPENDS ${inputs} weir::weirc
    DEPFILE "${depfile}"
    COMMENT "Compiling model ${target}"
    VERBATIM)
  add_custom_target(${target}_model DEPENDS ${outputs})

  # An object on the link line, rather than a library: its constants are copied
  # once less, and it cannot be left out.
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_model)
  target_include_directories(${target} INTERFACE "${folder}")
  target_link_libraries(${target} INTERFACE "${object}"
    $<$<BOOL:${ARG_TEXT}>:weir::runtime_text> $<$<BOOL:${ARG_LINALG}>:weir::runtime_linalg>
    $<$<BOOL:${ARG_IMAGES}>:weir::runtime_images> weir::runtime)
  set_target_properties(${target} PROPERTIES
    WEIR_WEIGHTS "${weights}" WEIR_FLAGS "${flags}" WEIR_MODEL_FOLDER "${folder}")
endfunction()

# weir_install_model(TARGET DESTINATION DIR)
#
# Installs what the program needs of the model beside itself (the file of WEIGHTS) into
# DIR, which is where the program goes. Warns where the code is for the machine that builds.
function(weir_install_model target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "DESTINATION" "")
  if(NOT ARG_DESTINATION)
    message(FATAL_ERROR "weir_install_model: no DESTINATION given")
  endif()
  get_target_property(weights ${target} WEIR_WEIGHTS)
  get_target_property(flags ${target} WEIR_FLAGS)
  if(weights)
    install(FILES "${weights}" DESTINATION "${ARG_DESTINATION}")
  endif()
  if(NOT flags MATCHES "--cpu=" OR flags MATCHES "--cpu=native")
    message(WARNING "weir_install_model: ${target} is compiled for the processor of this machine; "
      "others may refuse it. CPU portable in weir_add_model makes it run on all")
  endif()
endfunction()
