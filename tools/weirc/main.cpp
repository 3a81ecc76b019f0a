//===- main.cpp - weirc ---------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's command line: fills the driver's options, calls it, prints
// what it has to say. docs/tools.md is the manual.
//
//===----------------------------------------------------------------------===//

#include "tools/weirc/Commands.h"
#include "tools/weirc/Limits.h"

#include "compiler/driver/Driver.h"
#include "compiler/insight/ReportPage.h"
#include "tools/common/ErrorPages.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <cstring>
#include <filesystem>

using namespace weir;
using namespace weir::tools;

namespace {

constexpr const char *toolName = "weirc";

struct Command {
  const char *name;
  int (*run)(int argc, char **argv);
};
constexpr Command commands[] = {
    {"check", runCheck},   {"explain", runExplain},
    {"cut", runCut},       {"anonymize", runAnonymize},
    {"bisect", runBisect}, {"trace-node", runTraceNode},
    {"why", runWhy},       {"diff", runDiff},
    {"show", runShow},     {"custom-op", runCustomOp},
};

bool parseCommandLine(int argc, char **argv, driver::Options &options, Limits &limits,
                      bool &listOperators, std::string_view &page, int &status) {
  FlagParser parser(toolName, "MODEL [-o OUT] [flags]",
                    "Compiles a model file to a native object with a typed C/C++ header.\n"
                    "\n"
                    "  weirc MODEL [-o OUT]      compile\n"
                    "  weirc check MODEL         list all that is unsupported or unknown\n"
                    "  weirc explain MODEL NODE  where a node runs, and what it costs\n"
                    "  weirc cut MODEL           write a part of a model as a model\n"
                    "  weirc anonymize MODEL     write a model without its names and weights\n"
                    "  weirc bisect MODEL        find the pass and the node that make it go wrong\n"
                    "  weirc trace-node MODEL N  a node through all passes, and what became of it\n"
                    "  weirc why MODEL A B       what two nodes share, and why\n"
                    "  weirc diff A B            what two compilations do not share\n"
                    "  weirc show MODEL|FILE     what a model, .so or .o offers\n"
                    "  weirc custom-op new NAME  begin an operation of your own");
  for (const Command &command : commands)
    parser.commands.emplace_back(command.name);
  std::vector<std::string> models;
  parser.positionals("MODEL", driver::modelFiles(), 0, 1, models);
  parser.group("Output");
  parser.text("-o", "OUT",
              "by suffix: .o, .a, .so, .mlir, .ll, .s (default: MODEL's stem "
              "+ .o). A header is written beside .o, .a and .so",
              options.output);
  parser.text("--name", "IDENT",
              "prefix of the symbols and name of the class (default: OUT's "
              "stem)",
              options.name);
  parser.text("--weights", "FILE", "puts the constants beside the object instead of into it",
              options.weightsFile);
  parser.text("--depfile", "FILE",
              "writes a rule for make, ninja or CMake: the files that OUT was made of",
              options.depfile);
  parser.flag("--debug-info",
              "tells debuggers and profilers the node behind each instruction, as the lines of a "
              "file OUT's stem.nodes",
              options.debugInfo);
  parser.flag("--shared-runtime", "leaves the runtime out of a .so", options.sharedRuntime);
  parser.text("--runtime-library", "FILE",
              "libweir_runtime.a for a .so (default: the one installed)", options.runtimeLibrary);
  parser.value("--runtime-with", "text|linalg[,…]",
               "links kernels over RE2 (text) or LAPACK (linalg) into a .so that calls them, in "
               "place of the runtime's own. Repeatable",
               listSetter(options.runtimeArchives));
  addEntryFlags(parser, options, driver::frontendFlags());
  addTrainingFlags(parser, options);
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  parser.value("--explain", "W0605", "prints the page of an error's or warning's number, and exits",
               [&page](std::string_view number) -> std::string {
                 page = errorPage(number);
                 return page.empty() ? "is no number of an error or warning; expected one as W0605"
                                     : "";
               });
  addInspectionFlags(parser, options);
  parser.group("Models of strangers");
  parser.number("--max-memory", "MB",
                "ends with W0119 when compiling takes more (default: no limit)",
                limits.memoryMegabytes, 1, int64_t(1) << 40);
  parser.number("--max-time", "SECONDS",
                "ends with W0120 when compiling takes longer (default: no limit)", limits.seconds,
                1, int64_t(1) << 30);
  parser.group("Other");
  parser.flag("--print-supported-operators",
              "lists the operators and versions that are imported, and exits", listOperators);
  parser.exitCode(0, "OUT is written");
  parser.exitCode(1, "an error was printed, and nothing is written");
  parser.exitCode(2, "weirc check: something is unsupported or unknown");
  if (!parser.parse(argc, argv, status))
    return false;
  if (models.empty() && !options.printPipeline && !listOperators && page.empty()) {
    printError(toolName, "no MODEL given", {"usage: weirc MODEL [-o OUT] [flags]"});
    status = 1;
    return false;
  }
  if (!models.empty())
    options.input = models[0];
  return true;
}

} // namespace

static int runTool(int argc, char **argv) {
  std::vector<std::string> names;
  for (const Command &command : commands) {
    names.emplace_back(command.name);
    if (argc > 1 && std::strcmp(argv[1], command.name) == 0)
      return command.run(argc - 1, argv + 1);
  }
  if (argc > 2 && argv[1][0] != '-' && !std::strchr(argv[1], '.'))
    if (std::string near = nearestTo(argv[1], names);
        !near.empty() && !std::filesystem::exists(argv[1])) {
      printError(toolName,
                 "unknown command '" + std::string(argv[1]) + "'; did you mean '" + near + "'?");
      return 1;
    }
  driver::Options options;
  int status = 0;
  bool listOperators = false;
  std::string_view page;
  Limits limits;
  if (!parseCommandLine(argc, argv, options, limits, listOperators, page, status))
    return status;
  if (!page.empty()) {
    llvm::outs() << page;
    return 0;
  }
  if (listOperators) {
    llvm::outs() << driver::supportedOperators();
    return 0;
  }
  if (options.printPipeline) {
    driver::printPipeline(options, llvm::outs());
    if (options.input.empty())
      return 0;
  }
  if (std::string refused = enforce(limits, options.input); !refused.empty()) {
    printError(toolName, refused);
    return 1;
  }
  DiagnosticSink sink;
  ProgressLine progress;
  progress.update("compiling " + options.input);
  driver::Result result;
  bool good = driver::compileToFiles(options, sink, &result);
  if (good && options.report && !result.header.empty())
    good = insight::writeReportPage(options, result.report, sink);
  progress.clear();
  printDiagnostics(sink);
  return good ? 0 : 1;
}

int main(int argc, char **argv) { return finishOutput(toolName, runTool(argc, argv)); }
