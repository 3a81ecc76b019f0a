//===- SystemCase.h - a script of session runs ------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// case.json as structures: a graph, the runs to make in order, and what
// TensorFlow answered. SystemCase.cpp reads it, SystemRun.cpp plays it.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_SYSTEMCASE_H
#define WEIR_TOOLS_CONFORMANCE_SYSTEMCASE_H

#include "tools/common/Npy.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::conformance {

/// One run, and what is to come of it.
struct SystemRun {
  std::string session = "s0";
  bool restart = false; ///< close the session first and make a new one
  std::string signature;
  std::vector<std::pair<std::string, std::string>> feeds; ///< edge, array
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  int64_t timeoutMs = 0;

  bool expectsError = false;
  bool atLoad = false; ///< the graph itself is refused
  std::string code;    ///< TensorFlow's, or CLIENT
  /// Arrays, in the order of the fetches; empty: zeros of any shape.
  std::vector<std::string> expected;
  std::map<size_t, std::string> compare; ///< fetch → sorted, any, exact
  /// Relative and absolute tolerance of each fetch; empty: the script's.
  std::vector<std::pair<double, double>> tolerances;
};

struct SystemStep {
  enum class Kind { Run, Concurrent, Extend, Reset };
  Kind kind = Kind::Run;
  std::vector<SystemRun> runs;         ///< one, or those that run at the same time
  bool anyOrder = false;               ///< their outcomes may be permuted
  std::string session = "s0", file;    ///< of Extend
  std::string target;                  ///< of Reset
  std::vector<std::string> containers; ///< of Reset; none: the default one
  std::string other;                   ///< a kind of step that is not played
};

/// A session that is not one of `SystemScript::graph` in a runtime of its own.
struct SystemSession {
  std::string graph, target;
};

struct SystemScript {
  std::string graph; ///< "graph.pb" or "saved_model"
  std::vector<std::string> tags;
  double rtol = 0, atol = 0;
  tools::NamedTensors arrays;
  /// Signature → tensor (node:port) → name in the signature.
  std::map<std::string, std::map<std::string, std::string>> signatures;
  std::vector<SystemStep> steps;
  /// Devices that the case has, by name; empty: what the graph asks for.
  std::vector<std::string> devices;
  bool softPlacement = true;
  std::map<std::string, SystemSession> sessions;
  /// Feeds go straight to the runtime: no client compares them with the graph.
  bool viaCore = false;

  bool expectsOnlyErrors() const {
    for (const SystemStep &step : steps)
      for (const SystemRun &run : step.runs)
        if (!run.expectsError)
          return false;
    return true;
  }
};

/// Reads case.json and data.npz in `folder`. A reason where they are broken.
std::string readScript(const std::string &folder, SystemScript &script);

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_SYSTEMCASE_H
