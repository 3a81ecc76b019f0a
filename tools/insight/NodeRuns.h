//===- NodeRuns.h - values inside of a model, in runs -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_INSIGHT_NODERUNS_H
#define WEIR_TOOLS_INSIGHT_NODERUNS_H

#include "compiler/driver/Options.h"
#include "compiler/insight/ModelGraph.h"
#include "tools/common/Inputs.h"

#include <string>
#include <vector>

namespace weir::tools {

/// Runs a model again and again with the same feeds: with other values fetched, compiled
/// in other ways. Fetches have the names of values (ModelGraph.h). Not thread-safe.
class NodeRuns {
public:
  /// `options` say what of the model, and sizes; of several entries the first is meant.
  /// `inputs` are values of --input.
  NodeRuns(const driver::Options &options, const insight::ModelGraph &graph);

  /// False after a report.
  bool addInputs(const std::vector<std::string> &inputs, DiagnosticSink &sink);

  /// How one program is compiled.
  struct Variant {
    int64_t passLimit = -1; ///< as driver::Options
    bool computeInF64 = false;
    bool hasFault = true; ///< whether a planted fault is in it
  };
  /// The values of the main graph that fetches need and that a run can give, in the order
  /// in which they are computed. What the compiler refuses to fetch is left out, and
  /// named in `skipped`.
  std::vector<std::string> fetchable(std::vector<std::string> &skipped, DiagnosticSink &sink);
  /// The model's own fetches.
  std::vector<std::string> ownFetches() const;
  /// Compiles and runs with `values` fetched; false after a report.
  bool run(const Variant &variant, const std::vector<std::string> &values, NamedTensors &results,
           DiagnosticSink &sink);
  /// The feeds of the last run.
  const NamedTensors &feeds() const { return lastFeeds; }
  /// A variable's value before the first run that went well, or, of one that had none, behind it.
  /// Null: the program has no such variable.
  const HostTensor *variable(const std::string &name) { return findTensor(firstVariables, name); }
  const driver::Options &options() const { return base; }
  const insight::ModelGraph &graph() const { return model; }

private:
  driver::Options with(const Variant &variant, const std::vector<std::string> &values) const;
  void keepPossible(std::vector<std::string> values, std::vector<std::string> &kept,
                    std::vector<std::string> &skipped);

  driver::Options base;
  const insight::ModelGraph &model;
  InputSet inputs;
  NamedTensors lastFeeds, firstVariables;
  bool hasVariables = false;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_INSIGHT_NODERUNS_H
