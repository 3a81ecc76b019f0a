//===- Terminal.h - what the tools say to people ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages go to stderr, one line each, notes on lines of their own. Colours
// and the progress line appear on a terminal only (and not under NO_COLOR or
// TERM=dumb), so that logs and pipes stay plain.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_TERMINAL_H
#define WEIR_TOOLS_COMMON_TERMINAL_H

#include "compiler/frontend/Diagnostic.h"

#include <string>
#include <string_view>
#include <vector>

namespace weir::tools {

/// Whether stderr is a terminal that understands colours.
bool stderrHasColours();

/// `weirc: error: text`, then a line a note.
void printError(std::string_view tool, std::string_view text,
                const std::vector<std::string> &notes = {});

/// A numbered diagnostic as Diagnostic::str writes it, coloured on a terminal.
void printDiagnostic(const Diagnostic &diagnostic);

/// All of a sink, and how many more there were.
void printDiagnostics(const DiagnosticSink &sink);

/// What main returns: `status`, or 1 after an error where standard output could
/// not take what was written to it.
int finishOutput(std::string_view tool, int status);

/// One line that is rewritten in place on a terminal; nothing elsewhere.
class ProgressLine {
public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  /// Shows `text`, cut to the terminal's width.
  void update(std::string_view text);
  /// Removes the line, before something else is printed.
  void clear();

private:
  bool active;
  bool shown = false;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_TERMINAL_H
