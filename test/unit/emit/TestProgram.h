//===- TestProgram.h - a program to emit ------------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_UNIT_EMIT_TESTPROGRAM_H
#define WEIR_TEST_UNIT_EMIT_TESTPROGRAM_H

#include "compiler/emit/Program.h"
#include "weir/weir.h"

namespace weir::test {

/// Two entries with tensors of many kinds; no constants.
inline Program makeProgram() {
  Program program;
  program.name = "net";
  program.devices = {{"/device:CPU:0", 4096, 64, 4000}};
  EntryInfo main;
  main.name = "serving_default";
  main.feeds = {{"x", WEIR_F32, true, {2, 3}, {}, {}, {}},
                {"n:1", WEIR_I64, true, {}, {}, {}, {}},
                {"class", WEIR_BOOL, true, {-1, 4}, {1, 4}, {64, 4}, {"N", ""}},
                {"any", WEIR_BF16, false, {}, {}, {}, {}}};
  main.fetches = {{"x", WEIR_C64, true, {2}, {}, {}, {}},
                  {"run", WEIR_STRING, true, {-1}, {}, {}, {"N"}}};
  main.steps = {"step_main"};
  EntryInfo train;
  train.name = "train-step";
  train.feeds = {{"x", WEIR_F64, true, {1}, {}, {}, {}}};
  train.steps = {"step_train"};
  program.entries = {main, train};
  program.sites = {{"conv1", "Conv", "index {0}", WEIR_OUT_OF_RANGE}};
  program.kernels = {{"k", "conv1;relu", 10, 20}};
  return program;
}

/// LLVM IR of its steps.
inline const char *stepsText() {
  return "define i32 @step_main(ptr %c) { ret i32 0 }\n"
         "define i32 @step_train(ptr %c) { ret i32 0 }\n";
}

} // namespace weir::test

#endif // WEIR_TEST_UNIT_EMIT_TESTPROGRAM_H
