//===- main.cpp - weir-run ------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a shared library that holds a model, or hands a model to the program that compiles it
// first. docs/tools.md is the manual.
//
//===----------------------------------------------------------------------===//

#include "tools/common/Terminal.h"
#include "tools/weir-run/Run.h"

using namespace weir::tools;

int main(int argc, char **argv) {
  return finishOutput(toolName, runTool(argc, argv, /*tools=*/nullptr));
}
