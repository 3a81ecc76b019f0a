//===- LinkedObject.h - object bytes in this process -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links the bytes of an object into this process with JITLink: what is measured
// and checked is what users link.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EXECUTE_LINKEDOBJECT_H
#define WEIR_COMPILER_EXECUTE_LINKEDOBJECT_H

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

/// Who is told of functions that lie in no file: perf by a jitdump (in ~/.debug/jit, or below
/// JITDUMPDIR), from which `perf inject --jit` makes files; gdb and lldb by GDB's JIT interface.
enum class JitListener { None, Perf, Debugger };

class LinkedObject {
public:
  /// A name that the object may refer to beside those that the process exports.
  using Symbol = std::pair<const char *, void *>;

  virtual ~LinkedObject();

  /// The bytes must stay until the first look-up, which links them. Null, with
  /// the reason in `error`.
  static std::unique_ptr<LinkedObject> create(std::string_view object, const std::string &name,
                                              const std::vector<Symbol> &symbols,
                                              std::string &error,
                                              JitListener listener = JitListener::None);

  /// The address of what the object defines, valid as long as this lives. Null,
  /// with the reason in `error`.
  virtual void *find(const std::string &symbol, std::string &error) = 0;
};

} // namespace weir

#endif // WEIR_COMPILER_EXECUTE_LINKEDOBJECT_H
