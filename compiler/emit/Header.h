//===- Header.h - the C and C++ header of a compiled model ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_HEADER_H
#define WEIR_COMPILER_EMIT_HEADER_H

#include "compiler/emit/Program.h"

#include <string>

namespace weir {

/// The text of a header that stands alone: the runtime's API (weir/weir.h,
/// verbatim), the object's C functions, sizes and shapes as macros, and a C++
/// class. Valid as C99 and as C++11; needs no exceptions. `model` is named in
/// its first line. The names it defines depend on the program alone, and on whether it is a
/// shared object, which hides its runtime.
std::string modelHeader(const Program &program, bool isShared, llvm::StringRef model,
                        llvm::StringRef compiler);

namespace detail {

/// A feed or a fetch with the names that it has in the header.
struct HeaderTensor {
  const TensorInfo *info;
  int entry, index;
  bool isFeed;
  std::string over;     ///< the feed whose memory a fetch may have; empty: none
  std::string macro;    ///< "M_X": prefix of its macros
  std::string cName;    ///< "m_x_tensor": makes a weir_tensor
  std::string accessor; ///< "x": prefix of its member functions
  std::string cType;    ///< element type in C; "void" where C has none
  std::string cxxType;  ///< the same in C++
};

struct HeaderNames {
  std::vector<HeaderTensor> tensors; ///< entry by entry, feeds first
  /// One an entry; the default entry's is in addition to run(), or empty.
  std::vector<std::string> runMethods;
  std::vector<std::string> entryMacros; ///< "M_RUN"
};

HeaderNames headerNames(const Program &program);
/// Whether all sizes are known; then the element count.
bool isStatic(const TensorInfo &info, int64_t &elements);
/// The namespace and class of the model.
std::string modelClass(const Program &program, bool isShared, const HeaderNames &names);

} // namespace detail
} // namespace weir

#endif // WEIR_COMPILER_EMIT_HEADER_H
