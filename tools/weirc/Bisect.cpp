//===- Bisect.cpp - weirc bisect ------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/insight/Bisect.h"
#include "compiler/driver/Driver.h"
#include "tools/common/ModelFlags.h"
#include "tools/common/Terminal.h"
#include "tools/weirc/Commands.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <filesystem>

using namespace weir;
using namespace weir::tools;

namespace {

void printText(const BisectResult &found, const Reference &reference) {
  if (!found.differs) {
    llvm::outs() << "every result is as " << reference.name() << " has it\n";
    return;
  }
  llvm::outs() << "result \"" << found.fetch << "\" is not as " << reference.name()
               << " has it: " << found.difference << "\n";
  if (found.pass.empty())
    llvm::outs() << "pass: one that no program is compiled without; leaving out the others "
                    "changes nothing\n";
  else
    llvm::outs() << "pass: " << found.pass << ", " << found.passIndex << " of " << found.passCount
                 << " that may be left out\n";
  llvm::outs() << "node: \"" << found.node << "\" (" << found.operation << "), \"" << found.value
               << "\": " << found.valueDifference << "\n";
  if (!found.part.empty())
    llvm::outs() << "part: " << found.part << " with " << found.partInputs << ", "
                 << found.partNodes.size() << " node" << (found.partNodes.size() == 1 ? "" : "s")
                 << ", which " << (found.partDiffers ? "differs" : "does not differ")
                 << " by itself\n";
}

void printJson(const BisectResult &found, const Reference &reference) {
  llvm::json::Object object{{"differs", found.differs},
                            {"reference", reference.name()},
                            {"compilations", found.compilations}};
  if (found.differs) {
    object["fetch"] = found.fetch;
    object["difference"] = found.difference;
    object["pass"] = found.pass;
    object["pass_index"] = found.passIndex;
    object["passes"] = found.passCount;
    object["node"] = found.node;
    object["operation"] = found.operation;
    object["value"] = found.value;
    object["value_difference"] = found.valueDifference;
    object["part"] = found.part;
    object["part_inputs"] = found.partInputs;
    object["part_nodes"] = llvm::json::Array(found.partNodes);
    object["part_differs"] = found.partDiffers;
  }
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(object))) << "\n";
}

} // namespace

int weir::tools::runBisect(int argc, char **argv) {
  driver::Options options;
  BisectOptions asked;
  asked.reference.kind = Reference::Kind::Unoptimised;
  bool json = false;
  FlagParser parser("weirc bisect", "MODEL --input=… [flags]",
                    "Finds the first pass, then the first node, at which a program leaves its "
                    "reference, and cuts out the part that reproduces it.");
  std::vector<std::string> models;
  parser.positionals("MODEL", "as weirc takes it", 1, 1, models);
  parser.group("What is compared");
  parser.value("--input", "name=x.npy|all.npz|random:SEED", "as weir-run takes it. Repeatable",
               [&asked](std::string_view value) {
                 asked.inputs.emplace_back(value);
                 return std::string();
               });
  parser.value(
      "--against", "O0|f64|ort|tf|x.npz",
      "the reference: the program without the passes that may be left out (default), "
      "computed in f64, ONNX Runtime, TensorFlow, or values by name",
      [&asked](std::string_view value) { return Reference::parse(value, asked.reference); });
  parser.value("--tolerance", "REL", "how far values may be apart (default 1e-3)",
               [&asked](std::string_view value) -> std::string {
                 char *end;
                 std::string text(value);
                 asked.tolerance = std::strtod(text.c_str(), &end);
                 return *end || text.empty() || asked.tolerance < 0
                            ? "is no tolerance; possible: 1e-3"
                            : "";
               });
  parser.text("-o", "PREFIX", "of the part's files (default: MODEL's stem + .bisect)",
              asked.output);
  parser.flag("--json", "for programs", json);
  addEntryFlags(parser, options, driver::frontendFlags());
  addCodeFlags(parser, options, driver::deviceFlags());
  addWarningFlags(parser, options);
  addTestFlags(parser, options);
  parser.exitCode(0, "every result is as the reference has it");
  parser.exitCode(1, "an error was printed");
  parser.exitCode(2, "a result is not, and was looked into");
  int status = 0;
  if (!parser.parse(argc, argv, status))
    return status;
  options.input = models[0];
  if (asked.output.empty()) {
    std::filesystem::path model(options.input);
    asked.output = (model.has_filename() ? model : model.parent_path()).stem().string() + ".bisect";
  }
  DiagnosticSink sink;
  BisectResult found;
  bool good = bisect(options, asked, found, sink);
  printDiagnostics(sink);
  if (!good)
    return 1;
  if (json)
    printJson(found, asked.reference);
  else
    printText(found, asked.reference);
  return found.differs ? 2 : 0;
}
