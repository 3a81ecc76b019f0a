//===- Anonymize.cpp - weirc anonymize ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/FormatTools.h"
#include "tools/common/Files.h"
#include "tools/common/FlagParser.h"
#include "tools/common/Terminal.h"
#include "tools/weirc/Commands.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

using namespace weir;
using namespace weir::tools;

int weir::tools::runAnonymize(int argc, char **argv) {
  std::string output, map;
  bool json = false;
  FlagParser parser("weirc anonymize", "MODEL -o OUT",
                    "Writes a model without its names, texts and weights: its structure, which "
                    "compiles to the same kernels.");
  std::vector<std::string> models;
  parser.positionals("MODEL", "a file as weirc cut takes it", 1, 1, models);
  parser.group("Output");
  parser.text("-o", "OUT", "of the model's format: " + insight::writtenSuffixes(), output);
  parser.text("--map", "FILE", "writes which new name stands for which old one, a line each", map);
  parser.flag("--json", "for programs", json);
  parser.exitCode(0, "OUT is written");
  parser.exitCode(1, "an error was printed");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  const std::string &model = models[0];
  DiagnosticSink sink;
  const insight::FormatTools *format = insight::formatToolsFor(model, sink);
  if (!format) {
    printDiagnostics(sink);
    return 1;
  }
  if (!output.ends_with(format->suffix)) {
    printError("weirc anonymize",
               "found -o '" + output + "'; possible: a name that ends in " + format->suffix);
    return 1;
  }
  insight::NewNames names;
  std::error_code ignored;
  bool good = false;
  if (std::filesystem::equivalent(model, output, ignored))
    sink.report({"W0105",
                 model,
                 "",
                 "",
                 "found " + output +
                     " for the output, which is the model already; possible: "
                     "another name",
                 {}});
  else
    good = format->anonymize(model, output, names, sink);
  std::string error;
  if (good && !map.empty() && !writeFile(map, names.table(), error)) {
    sink.report({"W0104", map, "", "", "cannot write: " + error, {}});
    good = false;
  }
  printDiagnostics(sink);
  if (!good)
    return 1;
  if (json)
    llvm::outs() << llvm::formatv("{0:2}",
                                  llvm::json::Value(llvm::json::Object{
                                      {"written", output}, {"names", int64_t(names.size())}}))
                 << "\n";
  else
    llvm::outs() << output << ": " << names.size() << " names replaced\n";
  return 0;
}
