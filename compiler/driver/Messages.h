//===- Messages.h - numbered messages of the driver -------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_MESSAGES_H
#define WEIR_COMPILER_DRIVER_MESSAGES_H

#include "compiler/frontend/Diagnostic.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace weir::driver {

/// Reports an error that concerns a file as a whole.
void report(DiagnosticSink &sink, llvm::StringRef code, llvm::StringRef file,
            const llvm::Twine &message);

/// Warns of an option that changes nothing: "found OPTION, which has no effect: WHY".
void noEffect(DiagnosticSink &sink, llvm::StringRef file, const llvm::Twine &option,
              const llvm::Twine &why);

/// The candidate that was probably meant, or "" when none is near.
std::string nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);
std::string nearestName(llvm::StringRef name, const std::vector<std::string> &candidates);

/// While it lives, turns the errors and warnings of an MLIR context into
/// numbered diagnostics that name the node their location stands for. A message
/// that begins with a number ("W0123: …") keeps it; others get
/// setDefaultCode's.
class MlirMessages {
public:
  MlirMessages(mlir::MLIRContext &context, DiagnosticSink &sink, std::string file);
  void setDefaultCode(llvm::StringRef value) { code = value.str(); }

private:
  void handle(mlir::Diagnostic &diagnostic);

  DiagnosticSink &sink;
  std::string file, code = "W0400";
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_MESSAGES_H
