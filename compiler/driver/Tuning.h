//===- Tuning.h - tiles by measurements --------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_TUNING_H
#define WEIR_COMPILER_DRIVER_TUNING_H

#include "compiler/driver/TuneFile.h"
#include "compiler/driver/Work.h"

#include <string>

namespace weir::driver {

/// --tune and --tune-file.
class Tuning {
public:
  /// Whether the options can be followed; reads the file. Once a module is there.
  bool check(const Work &work);
  /// Tells the passes what measurements say of tiles: those of the file, and of trials.
  bool chooseTiles(Work &work);
  /// Notes in the report which kernels that changed.
  void noteKernels(Work &work) const;
  /// What is to become of options.tuneFile, "": it stays as it is.
  std::string text(const Options &options) const;

private:
  void search(Work &work, const std::string &processor);

  TuneFile file;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_TUNING_H
