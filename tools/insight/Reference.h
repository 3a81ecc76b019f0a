//===- Reference.h - what values are compared with --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_INSIGHT_REFERENCE_H
#define WEIR_TOOLS_INSIGHT_REFERENCE_H

#include "tools/insight/NodeRuns.h"

#include <string>

namespace weir::tools {

/// What the values of a model's nodes are compared with.
struct Reference {
  enum class Kind {
    Unoptimised, ///< O0: compiled without the passes that may be left out
    F64,         ///< computed in f64
    Ort,         ///< ONNX Runtime without optimisations, in the Python of WEIR_ORT_PYTHON
    TensorFlow,  ///< likewise, WEIR_TF_PYTHON
    File         ///< an .npz, whose keys are names of values
  };
  Kind kind = Kind::F64;
  std::string file;

  /// "O0", "f64", "ort", "tf" or "x.npz"; what is possible, where it is none.
  static std::string parse(std::string_view text, Reference &reference);
  std::string name() const;

  /// The reference's values of those of `values` that it has; false after a report.
  bool values(NodeRuns &runs, const std::vector<std::string> &values, NamedTensors &results,
              DiagnosticSink &sink) const;
};

/// A tensor with its elements rounded to another type.
HostTensor converted(const HostTensor &tensor, int32_t dtype);

} // namespace weir::tools

#endif // WEIR_TOOLS_INSIGHT_REFERENCE_H
