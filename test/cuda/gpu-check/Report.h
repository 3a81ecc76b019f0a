//===- Report.h - the file of results --------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_CUDA_GPU_CHECK_REPORT_H
#define WEIR_TEST_CUDA_GPU_CHECK_REPORT_H

#include "Support.h"

#include <fstream>

namespace weir::gpucheck {

/// Lines that go to a file, each as soon as it is there, and to standard output.
class Report {
public:
  /// With `append`, behind what the file has. False: it cannot be written.
  bool open(const std::string &path, bool append);

  void line(const std::string &text);
  /// `passed LABEL NOTE`, or `skipped LABEL` where `problem` is "skipped", or
  /// `failed LABEL: problem`.
  void result(const std::string &label, const std::string &problem, const std::string &note = "");
  /// What is not as it is wanted, which fails nothing: told at the end.
  void fallShort(const std::string &what) { shortfalls.push_back(what); }
  /// The last lines; what the program ends with.
  int finish();

private:
  std::ofstream file;
  int passed = 0, failed = 0, skipped = 0;
  std::vector<std::string> shortfalls;
};

/// What all this ran on and with: runtime, commit of the bundle in `folder`, processor,
/// GPU, driver, libraries.
void tellVersions(Report &report, const Gpu &gpu, const std::string &folder);

} // namespace weir::gpucheck

#endif // WEIR_TEST_CUDA_GPU_CHECK_REPORT_H
