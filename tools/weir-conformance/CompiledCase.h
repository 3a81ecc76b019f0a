//===- CompiledCase.h - from a case's model to a session --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_CONFORMANCE_COMPILEDCASE_H
#define WEIR_TOOLS_CONFORMANCE_COMPILEDCASE_H

#include "compiler/driver/Driver.h"
#include "tools/common/Compare.h"
#include "tools/common/Session.h"
#include "tools/weir-conformance/Case.h"

#include <memory>
#include <optional>

namespace weir::conformance {

/// Whether a diagnostic says that weir does not do something yet, by its number
/// (W0250-W0299, W0350-W0399: importers; W05xx: lowering), rather than that the
/// file is wrong.
bool meansUnsupported(const Diagnostic &diagnostic);

/// The verdict on a model that was refused: unsupported only where every error
/// says so. The reason is the first error that decides.
Verdict verdictOfRefusal(const DiagnosticSink &sink);

/// The verdict on a run that ended in a status: unsupported where the status
/// says that the program met what weir lacks (UNIMPLEMENTED), failed otherwise.
Verdict verdictOfRun(const tools::RunStatus &status);

/// A case's program: the bytes of the emitted object, linked in memory.
struct CompiledCase {
  std::unique_ptr<tools::LoadedModel> model;
  std::unique_ptr<tools::Session> session;
  /// The same placed at random, under setRandomPlacement; no session where each
  /// device is a process.
  std::unique_ptr<tools::LoadedModel> placedModel;
  std::unique_ptr<tools::Session> placedSession;
};

/// From here on all that may be is placed on the first device of a type, with
/// code for `targets` (driver/DeviceFlags.h). Before any runs.
void runOn(const std::string &type, std::string targets);

/// From here on cases are optimised at this level (driver::Options::optLevel). Before any runs.
void optimizeAt(int level);

/// Compiles `options.input` and links it. A verdict where that failed.
std::optional<Verdict> compileCase(const driver::Options &options, CompiledCase &compiled);

/// Opens a (new) session on the program.
std::optional<Verdict> openSession(CompiledCase &compiled);

/// Finds the feeds of an entry by name. A verdict that names what is missing.
/// Tensors in `given` that are no feeds are ignored: the graph does not need
/// them.
std::optional<Verdict> collectFeeds(const tools::LoadedEntry &entry, tools::NamedTensors &given,
                                    std::vector<tools::HostTensor> &feeds);

/// The verdict on a run that ended with an error: unsupported where the program
/// itself says so (UNIMPLEMENTED, which names the node), failed otherwise.
Verdict runFailed(const tools::RunStatus &status);

/// Runs an entry, and the placed program, too, where there is one, which must
/// come to the same bits. A verdict where that failed.
std::optional<Verdict> runEntry(CompiledCase &compiled, int entry,
                                std::vector<tools::HostTensor> &feeds, tools::NamedTensors &got);

/// Runs an entry and compares each wanted tensor with the fetch of its name.
std::optional<Verdict> runAndCompare(CompiledCase &compiled, int entry, tools::NamedTensors &given,
                                     const tools::NamedTensors &wanted,
                                     const tools::Tolerance &tolerance);

/// `name: found …` for the first wanted tensor that differs.
std::optional<Verdict> compareAll(tools::NamedTensors &got, const tools::NamedTensors &wanted,
                                  const tools::Tolerance &tolerance);

// One function a layout.
Verdict runOnnxTest(const Case &test);
Verdict runOnnxLight(const Case &test);
Verdict runModel(const Case &test);
Verdict runFrozen(const Case &test);
Verdict runOperation(const Case &test);
Verdict runGraphImport(const Case &test);
Verdict runSystem(const Case &test, const std::string &temporary);
/// Has scripted sessions be saved behind each run, and others restore them and go on.
void resumeSessions();

} // namespace weir::conformance

#endif // WEIR_TOOLS_CONFORMANCE_COMPILEDCASE_H
