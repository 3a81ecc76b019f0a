//===- Messages.cpp - numbered messages of the driver ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Messages.h"

#include "compiler/driver/Formats.h"
#include "compiler/frontend/MlirText.h"
#include "compiler/frontend/NearestName.h"

#include "dialects/weir/NodeName.h"

#include "llvm/ADT/StringExtras.h"

using namespace weir;
using namespace weir::driver;

void driver::report(DiagnosticSink &sink, llvm::StringRef code, llvm::StringRef file,
                    const llvm::Twine &message) {
  Diagnostic diagnostic;
  diagnostic.code = code.str();
  diagnostic.file = file.str();
  diagnostic.message = message.str();
  sink.report(std::move(diagnostic));
}

void driver::noEffect(DiagnosticSink &sink, llvm::StringRef file, const llvm::Twine &option,
                      const llvm::Twine &why) {
  Diagnostic warning;
  warning.code = "W0117";
  warning.file = file.str();
  warning.severity = Severity::Warning;
  warning.message = ("found " + option + ", which has no effect: " + why).str();
  sink.report(std::move(warning));
}

std::string driver::nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates) {
  NearestName nearest(name);
  for (llvm::StringRef candidate : candidates)
    nearest.show(candidate);
  return nearest.name();
}

std::string driver::nearestName(llvm::StringRef name, const std::vector<std::string> &candidates) {
  llvm::SmallVector<llvm::StringRef> references(candidates.begin(), candidates.end());
  return nearestName(name, references);
}

MlirMessages::MlirMessages(mlir::MLIRContext &context, DiagnosticSink &sink, std::string file)
    : sink(sink), file(std::move(file)),
      handler(&context, [this](mlir::Diagnostic &diagnostic) { handle(diagnostic); }) {}

/// Takes "W0123: " off the front of a message.
static bool takeCode(std::string &message, std::string &code) {
  llvm::StringRef text(message);
  if (text.size() < 7 || text[0] != 'W' || text[5] != ':' ||
      !llvm::all_of(text.substr(1, 4), llvm::isDigit))
    return false;
  code = text.take_front(5).str();
  message = text.drop_front(6).ltrim().str();
  return true;
}

/// What the model's format calls the operation of the first node: importers put
/// it inside of the node's name.
static llvm::StringRef operationOf(mlir::Location location) {
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations())
      if (nodeName(part) != "?")
        return operationOf(part);
    return "";
  }
  auto name = mlir::dyn_cast<mlir::NameLoc>(location);
  auto kind = name ? mlir::dyn_cast<mlir::NameLoc>(name.getChildLoc()) : mlir::NameLoc();
  return kind ? kind.getName().getValue() : llvm::StringRef();
}

/// One line, as numbered diagnostics have it.
static std::string oneLine(llvm::StringRef text) {
  std::string line;
  for (char c : text.rtrim())
    line += c == '\n' ? ' ' : c;
  return line;
}

void MlirMessages::handle(mlir::Diagnostic &source) {
  if (source.getSeverity() == mlir::DiagnosticSeverity::Remark ||
      source.getSeverity() == mlir::DiagnosticSeverity::Note)
    return;
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.file = file;
  diagnostic.severity = source.getSeverity() == mlir::DiagnosticSeverity::Warning
                            ? Severity::Warning
                            : Severity::Error;
  diagnostic.message = source.str();
  // "'op' op W0123: …" and "W0512: 'op' op …" are both in use.
  takeCode(diagnostic.message, diagnostic.code);
  diagnostic.op = takeOperationName(diagnostic.message);
  takeCode(diagnostic.message, diagnostic.code);
  diagnostic.message = oneLine(diagnostic.message);
  // Who wrote MLIR reads MLIR; who has a model cannot have made this.
  bool isFault = isForeignText(diagnostic.message) && !isOwnIr(file);
  if (isFault) {
    diagnostic.code = "W0199";
    diagnostic.message = "found something that weirc made, and that does not hold: a fault of its "
                         "own; --dump-ir=DIR shows it";
  }
  llvm::StringRef node = nodeName(source.getLocation());
  if (node != "?") {
    diagnostic.node = node.str();
    llvm::StringRef kind = operationOf(source.getLocation());
    if (!kind.empty())
      diagnostic.op = kind.str();
  } else if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(source.getLocation()))
    diagnostic.file = (place.getFilename().getValue() + ":" + llvm::Twine(place.getLine()) + ":" +
                       llvm::Twine(place.getColumn()))
                          .str();
  for (mlir::Diagnostic &note : source.getNotes()) {
    std::string text = oneLine(note.str());
    // The IR around it is for those who ask for it, by --dump-ir.
    if (!isFault && !llvm::StringRef(text).starts_with("see current operation"))
      diagnostic.notes.push_back(std::move(text));
  }
  sink.report(std::move(diagnostic));
}
