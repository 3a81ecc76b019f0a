//===- Terminal.cpp - what the tools say to people ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Terminal.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace weir::tools;

namespace {

constexpr const char *bold = "\x1b[1m", *red = "\x1b[1;31m",
                     *magenta = "\x1b[1;35m", *cyan = "\x1b[1;36m",
                     *reset = "\x1b[0m";

/// `text` in a colour, where there are colours.
std::string paint(const char *colour, std::string_view text) {
  if (!stderrHasColours())
    return std::string(text);
  return colour + std::string(text) + reset;
}

void printLine(const std::string &line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

void printNotes(const std::vector<std::string> &notes) {
  for (const std::string &note : notes)
    printLine("  " + paint(cyan, "note:") + " " + note);
}

} // namespace

bool weir::tools::stderrHasColours() {
  static const bool colours = [] {
    const char *term = std::getenv("TERM");
    const char *noColour = std::getenv("NO_COLOR");
    return isatty(STDERR_FILENO) && term && std::strcmp(term, "dumb") != 0 &&
           !(noColour && *noColour);
  }();
  return colours;
}

void weir::tools::printError(std::string_view tool, std::string_view text,
                             const std::vector<std::string> &notes) {
  printLine(paint(bold, std::string(tool) + ":") + " " + paint(red, "error:") +
            " " + std::string(text));
  printNotes(notes);
}

void weir::tools::printDiagnostic(const Diagnostic &diagnostic) {
  if (!stderrHasColours())
    return printLine(diagnostic.str());
  std::string text = diagnostic.str();
  bool isError = diagnostic.severity == Severity::Error;
  std::string word =
      std::string(isError ? "error " : "warning ") + diagnostic.code + ":";
  size_t at = diagnostic.file.empty() ? 0 : diagnostic.file.size() + 2;
  std::string first = text.substr(0, text.find('\n'));
  printLine(paint(bold, first.substr(0, at)) +
            paint(isError ? red : magenta, word) +
            first.substr(std::min(at + word.size(), first.size())));
  printNotes(diagnostic.notes);
}

void weir::tools::printDiagnostics(const DiagnosticSink &sink) {
  for (const Diagnostic &diagnostic : sink.diagnostics())
    printDiagnostic(diagnostic);
  if (sink.dropped() != 0)
    printLine("  " + paint(cyan, "note:") + " " +
              std::to_string(sink.dropped()) + " more were left out");
}

ProgressLine::ProgressLine() : active(stderrHasColours()) {}

void ProgressLine::update(std::string_view text) {
  if (!active)
    return;
  winsize size = {};
  size_t width = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
    width = size.ws_col;
  text = text.substr(0, width - 1);
  std::fprintf(stderr, "\r%.*s\x1b[K", static_cast<int>(text.size()),
               text.data());
  std::fflush(stderr);
  shown = true;
}

void ProgressLine::clear() {
  if (shown)
    std::fprintf(stderr, "\r\x1b[K");
  shown = false;
}
