# Writes the table of the runtime's functions that programs linked in memory may
# call: cmake -DNM=… -DARCHIVE=libweir_runtime.a
# -DIMAGES=libweir_runtime_images.a -DOUT=file.cpp -P this.
# Generated code calls functions that are hidden outside of an executable, so the
# process cannot be asked for them by name.
execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${ARCHIVE} ${IMAGES}
  OUTPUT_VARIABLE listing RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${NM} cannot read ${ARCHIVE}")
endif()
string(REGEX MATCHALL "(^|\n)weir_[A-Za-z0-9_]+ [TWDR] " rows "${listing}")
list(TRANSFORM rows REPLACE "^\n?([A-Za-z0-9_]+) [TWDR] $" "\\1")
list(REMOVE_DUPLICATES rows)
list(SORT rows)
set(declarations "")
set(entries "")
foreach(name IN LISTS rows)
  string(APPEND declarations "extern \"C\" void ${name}(void);\n")
  string(APPEND entries "    {\"${name}\", reinterpret_cast<void *>(&${name})},\n")
endforeach()
file(WRITE ${OUT}.new "// Generated from the runtime's archive.
#include <cstddef>
${declarations}
namespace weir::tools {
struct RuntimeSymbol {
  const char *name;
  void *address;
};
extern const RuntimeSymbol runtimeSymbols[];
extern const size_t runtimeSymbolCount;
const RuntimeSymbol runtimeSymbols[] = {
${entries}    {nullptr, nullptr}};
const size_t runtimeSymbolCount = sizeof(runtimeSymbols) / sizeof(runtimeSymbols[0]) - 1;
} // namespace weir::tools
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
