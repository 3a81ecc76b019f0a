# ===- error-pages.cmake - docs/errors as a table in C++ --------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
# Writes OUT, which defines weir::tools::errorPage, from the pages in FOLDER.
file(GLOB pages ${FOLDER}/W*.md)
list(SORT pages)
set(rows "")
foreach(page IN LISTS pages)
  get_filename_component(number ${page} NAME_WE)
  file(READ ${page} text)
  string(APPEND rows "    {\"${number}\", R\"page(${text})page\"},\n")
endforeach()
file(WRITE ${OUT} "#include \"tools/common/ErrorPages.h\"

namespace {
struct Page {
  std::string_view number, text;
};
constexpr Page pages[] = {
${rows}};
} // namespace

std::string_view weir::tools::errorPage(std::string_view number) {
  for (const Page &page : pages)
    if (page.number == number)
      return page.text;
  return {};
}
")
