//===- Case.h - one case of a conformance suite -----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_CASE_H
#define WEIR_TOOLS_CONFORMANCE_CASE_H

#include <string>
#include <string_view>
#include <vector>

namespace weir::conformance {

/// How a case is laid out on disk; docs/tools.md describes each.
enum class Layout {
  OnnxTest,    ///< folder: model.onnx, test_data_set_N/{input,output}_K.pb
  OnnxLight,   ///< NAME.onnx, NAME_output_K.pb
  Model,       ///< NAME.onnx, NAME.pb or a SavedModel's folder, and NAME.io/
  Frozen,      ///< folder: frozen_model.pb, *.placeholder.csv, *.prediction.csv
  Operation,   ///< NAME.pb, NAME.npz with in/… and out/…
  GraphImport, ///< a text GraphDef in a folder with expect.tsv
  System       ///< folder: case.json
};

struct Case {
  /// Path from the folder that holds doubtful.tsv (else from the one given on
  /// the command line), without a suffix: stable however it was reached.
  std::string id;
  std::string suite; ///< the part of the id that scores are kept by
  Layout layout = Layout::Model;
  std::string path; ///< the folder, or the model file
  bool doubtful = false;
};

enum class Outcome { Passed, Failed, Unsupported, Crashed };

std::string_view outcomeName(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::Passed;
  std::string reason; ///< one line; empty for a case that passed
  /// Operators of the model, for the table by operator; may be empty where the
  /// model could not be read.
  std::vector<std::string> operators;

  static Verdict failed(std::string reason) { return {Outcome::Failed, std::move(reason), {}}; }
  static Verdict unsupported(std::string reason) {
    return {Outcome::Unsupported, std::move(reason), {}};
  }
};

/// Runs one case in this process. `temporary` is an empty folder of its own,
/// made when needed and removed by the caller.
Verdict runCase(const Case &test, const std::string &temporary);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_CASE_H
