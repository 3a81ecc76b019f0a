//===- Diagnostic.h - what importers have to say ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Importers report by number, file and node, and go on where they can: one run
// tells everything that is wrong with a file. A DiagnosticSink collects; the
// driver prints. Numbers are stable, and each has a page in docs/errors/.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_DIAGNOSTIC_H
#define WEIR_COMPILER_FRONTEND_DIAGNOSTIC_H

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir {

enum class Severity { Error, Warning };

/// What becomes of warnings: those of `silent` numbers are dropped, others may be
/// taken for errors.
struct WarningPolicy {
  std::set<std::string> silent; ///< "W0605"
  bool areErrors = false;
};

/// One message. `node` and `op` are empty where the file as a whole is meant.
struct Diagnostic {
  std::string code;    ///< "W0201"
  std::string file;    ///< as the user named it
  std::string node;    ///< name of the node in the model
  std::string op;      ///< its operation, as the model's format calls it
  std::string message; ///< found…; possible…  (one line, no final period)
  std::vector<std::string> notes;
  Severity severity = Severity::Error;

  /// `m.pb: error W0123: node "conv1" (Conv): message`, then a line a note.
  std::string str() const {
    std::string out = file.empty() ? std::string() : file + ": ";
    out += severity == Severity::Error ? "error " : "warning ";
    out += code + ": ";
    if (!node.empty()) {
      out += "node \"" + node + "\"";
      if (!op.empty())
        out += " (" + op + ")";
      out += ": ";
    }
    out += message;
    for (const std::string &note : notes)
      out += "\n  note: " + note;
    return out;
  }
};

/// Collects diagnostics, each distinct one once, and at most `limit` of them
/// (a broken file can be wrong in a million places); `dropped()` counts the
/// rest. Not thread-safe.
class DiagnosticSink {
public:
  explicit DiagnosticSink(size_t limit = 1000) : limit(limit) {}

  void setWarnings(WarningPolicy policy) { warnings = std::move(policy); }

  void report(Diagnostic diagnostic) {
    if (diagnostic.severity == Severity::Warning) {
      if (warnings.silent.count(diagnostic.code))
        return;
      if (warnings.areErrors)
        diagnostic.severity = Severity::Error;
    }
    if (diagnostic.severity == Severity::Error)
      ++errors;
    if (list.size() >= limit) {
      ++rest;
      return;
    }
    if (seen.insert(diagnostic.str()).second)
      list.push_back(std::move(diagnostic));
  }

  bool hasErrors() const { return errors != 0; }
  size_t errorCount() const { return errors; }
  size_t dropped() const { return rest; }
  const std::vector<Diagnostic> &diagnostics() const { return list; }

private:
  size_t limit;
  size_t errors = 0;
  size_t rest = 0;
  std::vector<Diagnostic> list;
  std::set<std::string> seen;
  WarningPolicy warnings;
};

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_DIAGNOSTIC_H
