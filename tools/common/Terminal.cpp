//===- Terminal.cpp - what the tools say to people ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Terminal.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace weir::tools;

namespace {

constexpr const char *bold = "\x1b[1m", *red = "\x1b[1;31m", *magenta = "\x1b[1;35m",
                     *cyan = "\x1b[1;36m", *reset = "\x1b[0m";

/// `text` in a colour, where there are colours.
std::string paint(const char *colour, std::string_view text) {
  if (!stderrHasColours())
    return std::string(text);
  return colour + std::string(text) + reset;
}

void printLine(const std::string &line) { std::fprintf(stderr, "%s\n", line.c_str()); }

/// Whatever a model calls its nodes, a terminal only shows it: control characters
/// are spelt out.
std::string plain(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t') {
      out += c;
      continue;
    }
    char escape[5];
    std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
    out += escape;
  }
  return out;
}

void printNotes(const std::vector<std::string> &notes) {
  for (const std::string &note : notes)
    printLine("  " + paint(cyan, "note:") + " " + plain(note));
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
  printLine(paint(bold, std::string(tool) + ":") + " " + paint(red, "error:") + " " + plain(text));
  printNotes(notes);
}

void weir::tools::printDiagnostic(const Diagnostic &diagnostic) {
  Diagnostic head = diagnostic;
  head.notes.clear();
  std::string first = plain(head.str());
  if (!stderrHasColours()) {
    printLine(first);
    return printNotes(diagnostic.notes);
  }
  bool isError = diagnostic.severity == Severity::Error;
  std::string word = std::string(isError ? "error " : "warning ") + diagnostic.code + ":";
  size_t at = diagnostic.file.empty() ? 0 : plain(diagnostic.file).size() + 2;
  printLine(paint(bold, first.substr(0, at)) + paint(isError ? red : magenta, word) +
            first.substr(std::min(at + word.size(), first.size())));
  printNotes(diagnostic.notes);
}

void weir::tools::printDiagnostics(const DiagnosticSink &sink) {
  for (const Diagnostic &diagnostic : sink.diagnostics())
    printDiagnostic(diagnostic);
  if (sink.dropped() != 0)
    printLine("  " + paint(cyan, "note:") + " " + std::to_string(sink.dropped()) +
              " more were left out");
}

int weir::tools::finishOutput(std::string_view tool, int status) {
  llvm::outs().flush();
  bool failed = llvm::outs().has_error();
  llvm::outs().clear_error();
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    failed = true;
  if (!failed)
    return status;
  printError(tool, "standard output cannot be written");
  return status ? status : 1;
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
  std::fprintf(stderr, "\r%.*s\x1b[K", static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
  shown = true;
}

void ProgressLine::clear() {
  if (shown)
    std::fprintf(stderr, "\r\x1b[K");
  shown = false;
}
