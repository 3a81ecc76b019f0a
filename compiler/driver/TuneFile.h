//===- TuneFile.h - what --tune found, as a file ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_TUNEFILE_H
#define WEIR_COMPILER_DRIVER_TUNEFILE_H

#include "compiler/codegen/cpu/schedule/TileChoice.h"
#include "compiler/frontend/Diagnostic.h"

#include <map>
#include <string>

namespace weir::driver {

/// JSON; a processor's kernels by their keys. What is of other processors and other
/// models stays in it.
class TuneFile {
public:
  struct Entry {
    TileChoice choice;
    /// Of a launch, when that was found; 0: not said.
    double microseconds = 0, microsecondsBefore = 0;
  };
  using Kernels = std::map<std::string, Entry>;

  /// Adds what the file says. False, with a diagnostic, where that is not to be
  /// understood.
  bool read(const std::string &path, DiagnosticSink &sink);
  std::string text() const;

  Kernels &of(const std::string &processor) { return processors[processor]; }
  void forget(const std::string &processor) { processors.erase(processor); }
  bool knows(const std::string &processor) const { return processors.count(processor) != 0; }
  /// Those that the file has something of.
  std::vector<std::string> names() const;

private:
  std::map<std::string, Kernels> processors;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_TUNEFILE_H
