//===- SystemProgram.h - what a script's sessions run -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each distinct (feeds, fetches, targets) of a graph's runs is an entry of one
// program, so that all share a session's state. weir finds at compile time much
// of what TensorFlow finds when it runs: an entry that is refused for what is
// wrong with it (not for what weir lacks) counts as the error that its steps
// expect, and is left out of the program.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_SYSTEMPROGRAM_H
#define WEIR_TOOLS_CONFORMANCE_SYSTEMPROGRAM_H

#include "tools/weir-conformance/CompiledCase.h"
#include "tools/weir-conformance/SystemCase.h"
#include "tools/weir-conformance/TensorFlowGraph.h"

namespace weir::conformance {

/// An entry and the steps that run it.
struct ScriptEntry {
  EntrySpec spec;
  std::string key;
  bool onlyErrors = true; ///< every step that runs it expects an error
  /// They expect that the graph has an operation that nobody knows.
  bool unknownOperation = true;
  bool refused = false;
};

class SystemProgram {
public:
  /// `path`: a GraphDef or a SavedModel's folder.
  SystemProgram(SystemScript &script, std::string path)
      : script(script), path(std::move(path)), isGraph(this->path.ends_with(".pb")) {}

  /// False, with a reason, where the graph cannot be read.
  bool open(std::string &error);
  /// Makes an entry of a run, or joins it to one.
  void addEntry(const SystemRun &run);
  std::optional<Verdict> compile();

  ScriptEntry *entryOf(const SystemRun &run);
  /// The name that the program has for an edge of a run.
  std::string nameOf(const SystemRun &run, const std::string &edge);
  /// The container that a variable lives in; empty: the default one.
  std::string containerOf(std::string_view variable) const;
  bool onlyErrors() const;

  TensorFlowGraph graph;
  CompiledCase compiled;

private:
  std::string keyOf(const SystemRun &run);
  std::optional<ShapeSpec> rankOf(const SystemRun &run, size_t fetch);
  void mergeShapes(ScriptEntry &entry, const SystemRun &run);
  bool isWholeSignature(const SystemRun &run);
  driver::Options optionsFor(const std::vector<EntrySpec> &specs);
  const tools::HostTensor *array(const std::string &name) {
    return findTensor(script.arrays, name);
  }

  SystemScript &script;
  std::string path;
  bool isGraph;
  std::vector<ScriptEntry> entries;
};

/// Writes a GraphDef to `to` that has all of `base`, and the nodes and functions
/// of `more` that `base` does not have. A reason where one cannot be read.
std::string extendGraph(const std::string &base, const std::string &more, const std::string &to);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_SYSTEMPROGRAM_H
