//===- Inputs.h - what --input and --output name ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_INPUTS_H
#define WEIR_TOOLS_COMMON_INPUTS_H

#include "compiler/frontend/Diagnostic.h"
#include "tools/common/Session.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir::tools {

/// Reads `name=x.npy`, `name=x.raw` (elements alone, as the machine has them; the feed
/// gives type and shape), `all.npz` or `random:SEED` flags into tensors by name.
/// `random:SEED` stands for every feed that nothing else names.
class InputSet {
public:
  /// False, with a diagnostic, where a file cannot be read.
  bool add(const std::string &flag, DiagnosticSink &sink);

  /// Shapes for random feeds, by name, -1 for sizes that are left open. A name that no
  /// entry has a feed of is an error.
  bool setShapes(const std::string &model, const std::vector<LoadedEntry> &entries,
                 const std::map<std::string, std::vector<int64_t>> &given, DiagnosticSink &sink);

  /// Whether each tensor is a feed of one of the entries that are run, as `name` or
  /// `ENTRY/name`.
  bool checkNames(const std::string &model, const std::vector<LoadedEntry> &entries,
                  const std::vector<std::string> &run, DiagnosticSink &sink);

  /// Tensors for an entry's feeds, in its order. `model` names the program in
  /// diagnostics. Feeds without a value are errors, as are random ones that no memory
  /// holds.
  bool collect(const std::string &model, const LoadedEntry &entry, std::vector<HostTensor> &feeds,
               DiagnosticSink &sink);

private:
  bool collectRaw(const std::string &model, const LoadedTensor &feed, const std::string &path,
                  HostTensor &tensor, DiagnosticSink &sink) const;

  NamedTensors tensors;
  std::map<std::string, std::string> rawFiles; ///< by feed's name
  std::map<std::string, std::vector<int64_t>> shapes;
  bool random = false;
  uint64_t seed = 0;
};

/// Writes fetches to a folder (a .npy file each) or to one .npz file.
bool writeOutputs(const std::string &output, const NamedTensors &fetches, DiagnosticSink &sink);

/// `y: f32 2x3 [0.1, 0.2, …]`
std::string summaryOf(const std::string &name, const HostTensor &tensor);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_INPUTS_H
