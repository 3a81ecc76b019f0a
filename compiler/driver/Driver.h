//===- Driver.h - from a model file to an object -----------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tools call. Both functions report every problem into the sink and throw
// nothing. A compilation has its own MLIR and LLVM contexts: several may run at
// once on different threads.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_DRIVER_H
#define WEIR_COMPILER_DRIVER_DRIVER_H

#include "compiler/driver/Options.h"
#include "compiler/emit/Report.h"
#include "compiler/frontend/Diagnostic.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace weir::driver {

struct Result {
  /// A whole ELF object, constants included; or, after --stop-after or for an
  /// output with suffix .mlir, .ll or .s, that text.
  llvm::SmallVector<char, 0> object;
  std::string header; ///< text of the C and C++ header
  Report report;
  std::string symbolPrefix; ///< the object's function is `symbolPrefix`_program
};

/// Compiles `options.input` in memory. Writes no file but those of --dump-ir
/// and --weights. False when the sink holds an error.
bool compile(const Options &options, DiagnosticSink &sink, Result &result);

/// Compiles to `options.output`, with the header beside it and the report where
/// asked for. Files appear whole under their names, or not at all. `result`,
/// where given, gets all but `object`.
bool compileToFiles(const Options &options, DiagnosticSink &sink, Result *result = nullptr);

/// Where compileToFiles puts the output when `options.output` is empty: the
/// input's stem + ".o", in the current directory.
std::string defaultOutput(const Options &options);
/// The C identifier that symbols of the object start with.
std::string symbolPrefix(const Options &options);

/// Names of the stages, in order.
/// The passes that a compilation may leave out (OptionalPasses.h), in the order in which
/// they run: what Options::passLimit counts.
std::vector<std::string> optionalPasses();

std::vector<std::string> stageNames();
/// The story: every stage and pass with the reason why it stands there.
void printPipeline(const Options &options, llvm::raw_ostream &os);

/// All dialects and interfaces that the pipeline may meet, for weir-opt.
void registerDialects(mlir::DialectRegistry &registry);
/// All passes, and a pipeline for each stage ("weir-stage-simplify").
void registerPasses();

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_DRIVER_H
