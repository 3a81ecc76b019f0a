//===- Report.h - what a compilation made ------------------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The report: one screen of text for people, JSON for programs. Sizes are in
// bytes, counts of work in floating-point operations a run.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_REPORT_H
#define WEIR_COMPILER_EMIT_REPORT_H

#include "compiler/emit/Program.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir {

struct Report {
  std::string model;  ///< input file, as the user named it
  std::string name;   ///< symbol prefix
  std::string cpu;    ///< what code was generated for
  std::string target; ///< triple

  std::vector<EntryInfo> entries;
  std::vector<SlotInfo> slots;
  std::vector<DeviceInfo> devices;
  std::vector<KernelInfo> kernels;
  std::vector<BufferInfo> buffers; ///< planned ones, all devices
  int64_t weightBytes = 0;
  int64_t weightCount = 0;
  int64_t objectBytes = 0; ///< 0: not written
  int64_t codeBytes = 0;   ///< the object without its constants
  /// Operations of the graph after simplification, by name.
  std::map<std::string, int64_t> operations;
  /// Operations that value numbering removed, and those that it moved out of
  /// regions: nodes by operation.
  std::map<std::string, std::vector<std::string>> removed, hoisted;
  std::vector<std::string> notes;

  std::string text() const;
  std::string json() const;
};

/// Takes over what the program says; the rest stays as it is.
void describeProgram(const Program &program, Report &report);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_REPORT_H
