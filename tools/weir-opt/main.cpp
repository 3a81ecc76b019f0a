//===- main.cpp - weir-opt ------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any pass or stage alone, as mlir-opt does it: --NAME for a pass,
// --weir-stage-NAME for a stage, --pass-pipeline=… for several; --list-passes
// says what each is for.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Driver.h"
#include "tools/common/FlagParser.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/ADT/StringRef.h"

#include <cstdio>

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (llvm::StringRef(argv[i]) == "--version") {
      std::fputs(weir::tools::versionText("weir-opt").c_str(), stdout);
      return 0;
    }
  mlir::DialectRegistry registry;
  weir::driver::registerDialects(registry);
  weir::driver::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "weir's passes and stages, one at a time\n", registry));
}
