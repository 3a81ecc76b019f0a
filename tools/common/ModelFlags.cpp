//===- ModelFlags.cpp - weirc's flags, for all tools that compile ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/ModelFlags.h"

#include "tools/common/ErrorPages.h"

#include "llvm/ADT/StringRef.h"

using namespace weir;
using namespace weir::tools;
using driver::Options;

namespace {

/// The entry that a --feed or --fetch belongs to: the one before it, or an
/// unnamed one where there is none.
EntrySpec &currentEntry(Options &options) {
  if (options.entries.empty())
    options.entries.emplace_back();
  return options.entries.back();
}

/// A setter that takes one of a few words.
FlagParser::Setter choice(std::string &target, std::vector<std::string> possible) {
  return [&target, possible](std::string_view value) -> std::string {
    std::string all;
    for (const std::string &word : possible) {
      if (word == value) {
        target = value;
        return "";
      }
      all += (all.empty() ? "" : ", ") + word;
    }
    std::string nearest = nearestTo(value, possible);
    return "is unknown; possible: " + all +
           (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
  };
}

} // namespace

/// Adds the parts of a value, which commas separate.
FlagParser::Setter weir::tools::listSetter(std::vector<std::string> &list) {
  return [&list](std::string_view value) {
    llvm::StringRef rest(value.data(), value.size());
    while (!rest.empty()) {
      auto [name, more] = rest.split(',');
      list.push_back(name.str());
      rest = more;
    }
    return std::string();
  };
}

FlagParser::Setter weir::tools::intSetter(int &target, int lowest, int highest) {
  return [&target, lowest, highest](std::string_view value) -> std::string {
    int64_t number;
    if (!parseInteger(value, lowest, highest, number))
      return "is no whole number from " + std::to_string(lowest) + " to " + std::to_string(highest);
    target = static_cast<int>(number);
    return "";
  };
}

void weir::tools::addEntryFlags(FlagParser &parser, Options &options,
                                const std::vector<FrontendFlag> &formats) {
  parser.group("What of the model");
  parser.value("--entry", "NAME[=signature]",
               "an entry of the program; the --feed and --fetch after it are "
               "its own. Repeatable; ONNX and SavedModel need none",
               [&options](std::string_view value) {
                 EntrySpec entry;
                 std::string problem = parseEntry(value, entry);
                 if (problem.empty())
                   options.entries.push_back(std::move(entry));
                 return problem;
               });
  parser.value("--feed", "node:port[=name][:2x?x3[:f32]]",
               "a value that the caller provides, any edge of the graph. "
               "Repeatable; a GraphDef without it: its Placeholders",
               [&options](std::string_view value) {
                 FeedSpec feed;
                 std::string problem = parseFeed(value, feed);
                 if (problem.empty())
                   currentEntry(options).feeds.push_back(std::move(feed));
                 return problem;
               });
  parser.value("--fetch", "node:port[=name][:2x?x3]",
               "a value that the caller gets. Repeatable; a GraphDef without "
               "it: the nodes that nothing uses. A shape says what the model "
               "leaves open",
               [&options](std::string_view value) {
                 FetchSpec fetch;
                 std::string problem = parseFetch(value, fetch);
                 if (problem.empty())
                   currentEntry(options).fetches.push_back(std::move(fetch));
                 return problem;
               });
  for (const FrontendFlag &own : formats)
    parser.value(own.flag, own.value, own.help, listSetter(options.frontendFlags[own.flag]));
  parser.value("--shape", "name=1x3x224x224", "fixes the shape of an input",
               [&options](std::string_view value) {
                 std::string name;
                 ShapeSpec shape;
                 std::string problem = parseShapeBinding(value, name, shape);
                 if (problem.empty())
                   options.shapes[name] = std::move(shape);
                 return problem;
               });
  parser.value("--dim", "N=5|N=1..64",
               "fixes a named dimension, or bounds it (then memory is planned "
               "for the bound)",
               [&options](std::string_view value) {
                 std::string name;
                 DimBinding binding;
                 std::string problem = parseDimBinding(value, name, binding);
                 if (problem.empty())
                   options.dims[name] = binding;
                 return problem;
               });
}

static void addPlacementFlags(FlagParser &parser, Options &options) {
  parser.group("Devices and memory");
  parser.text("--devices", "CLUSTER.json", "the devices of the run", options.devicesFile);
  parser.text("--placement", "P.json", "which node goes where", options.placementFile);
  parser.text("--placement-out", "P.json", "writes what was decided", options.placementOut);
  parser.value("--shard", "NODE:AXIS|NODE:sum",
               "the devices share a product: each has a part of the weight's columns, by the "
               "result's dimension AXIS, or of the dimension that is summed over (repeatable)",
               listSetter(options.shardedProducts));
  parser.value("--placer", "search|greedy|on:DEVICE|random:SEED",
               "how placement is decided (default search); on: all that may be "
               "there on one device; random is for tests",
               [&options](std::string_view value) -> std::string {
                 llvm::StringRef text(value.data(), value.size());
                 uint64_t seed;
                 if (text != "search" && text != "greedy" && !text.starts_with("on:/") &&
                     (!text.consume_front("random:") || text.getAsInteger(10, seed)))
                   return "is unknown; possible: search, greedy, on:/device:CPU:0, "
                          "random:SEED";
                 options.placer = value;
                 return "";
               });
  parser.flag("--hard-placement",
              "devices that the model asks for and that are not there, or "
              "contradict each other, are errors; otherwise they give way",
              options.hardPlacement);
  parser.value("--receives", "late|early",
               "when tensors cross between devices: as late as the simulated "
               "step allows (default), or as soon as they are there",
               choice(options.receives, {"late", "early"}));
  parser.value("--schedule", "latency|memory|balanced",
               "what the order of kernels is to be good for",
               choice(options.schedule, {"latency", "memory", "balanced"}));
  parser.text("--profile", "F", "measured times, from weir-run --profile-out", options.profileFile);
  parser.value("--memory-limit", "SIZE",
               "bytes a device may use: 512M, 2G; the plan fits or is refused",
               [&options](std::string_view value) -> std::string {
                 if (parseSize(value) < 0)
                   return "is no size; possible: 4096, 512M, 1.5G";
                 options.memoryLimit = value;
                 return "";
               });
}

void weir::tools::addCodeFlags(FlagParser &parser, Options &options,
                               const std::vector<driver::DeviceFlag> &kinds) {
  parser.group("Code");
  parser.text("--cpu", "NAME[,NAME…]",
              "processor, as clang's -march= takes it: native (default), "
              "x86-64-v3 … . Checked when the program is loaded; of several, "
              "the best that the machine has is used",
              options.cpu);
  parser.text("--target", "TRIPLE", "x86_64-linux-gnu (default) or aarch64-linux-gnu",
              options.target);
  for (const driver::DeviceFlag &kind : kinds) {
    parser.text(kind.flag, kind.value, kind.help, options.deviceTargets[kind.type]);
    if (!kind.profileFlag.empty())
      parser.value(kind.profileFlag, "FILE[,FILE…]", kind.profileHelp,
                   listSetter(options.deviceProfiles[kind.type]));
  }
  parser.joined("-O", "0..3", "optimisation (default -O3)", intSetter(options.optLevel, 0, 3));
  parser.text("--custom-ops", "FILE.json", "C functions for operations of your own",
              options.customOperations);
  parser.value("--precision", "f32|tf32|bf16|f16",
               "bf16: products and convolutions round their operands where the "
               "processor multiplies it faster than f32; tf32: products of "
               "accelerators may round theirs to TF32; with --train, bf16 and f16: "
               "products in it, weights in f32",
               choice(options.precision, {"f32", "tf32", "bf16", "f16"}));
  parser.value("--keep-f32", "NODE[,NODE…]", "nodes that --precision leaves alone. Repeatable",
               listSetter(options.keepF32));
  parser.value("--winograd", "off|2|4",
               "convolutions of 3x3 by fewer multiplications: none, or of tiles of so many "
               "results across wherever they pay (default: 4 where a bound of the error, from the "
               "filter, allows it, else 2)",
               choice(options.winograd, {"off", "2", "4"}));
  parser.value("--freeze", "auto|all|none",
               "variables that no entry changes become constants: all of them, none, or all where "
               "no entry changes any (default: auto). Constants are not saved, restored or set",
               choice(options.freeze, {"auto", "all", "none"}));
  parser.value("--tune", "STEPS",
               "times so many other tiles for the program's products and "
               "convolutions on this machine, uses the faster ones and writes them "
               "to OUT.tune (0, the default: none)",
               intSetter(options.tune, 0, 1 << 30));
  parser.text("--tune-file", "FILE",
              "what --tune found earlier, of any model; with --tune the file that "
              "is written",
              options.tuneFile);
  parser.value("--threads", "N",
               "threads of a run where the caller does not say (default: the "
               "machine's)",
               intSetter(options.threads, 0, 4096));
  // Every tool that takes flags may use the whole machine, and keeps what it made.
  options.jobs = 0;
  options.cacheFolder = "default";
  parser.value("-j", "N",
               "threads of the compilation (default: the machine's); they change "
               "nothing in the object",
               intSetter(options.jobs, 1, 4096));
  parser.value("--cache", "DIR|off",
               "keeps the machine code of kernels there for later compilations "
               "(default: $XDG_CACHE_HOME/weir, or ~/.cache/weir)",
               [&options](std::string_view value) {
                 options.cacheFolder = value == "off" ? "" : value;
                 return std::string();
               });
  parser.value("--cache-size", "SIZE", "what that folder is cut down to (default 256M)",
               [&options](std::string_view value) -> std::string {
                 options.cacheBytes = parseSize(value);
                 return options.cacheBytes > 0 ? "" : "is no size; possible: 64M, 1.5G";
               });
  parser.value("--sanitize", "address|memory-plan",
               "address: checks every access of the generated code; "
               "memory-plan: fills planned buffers when they begin and end, and "
               "guards the gaps between them. Repeatable",
               [&options](std::string_view value) -> std::string {
                 if (value == "address")
                   options.sanitizeAddress = true;
                 else if (value == "memory-plan")
                   options.sanitizePlan = true;
                 else
                   return "is unknown; possible: address, memory-plan";
                 return "";
               });
  addPlacementFlags(parser, options);
}

void weir::tools::addTestFlags(FlagParser &parser, Options &options) {
  parser.group("For tests of weir");
  parser.text("--plant-fault", "PASS:NODE:KIND",
              "lets a pass leave a wrong program: value, round, drop, swap, nan, overlap, place",
              options.plantedFault);
}

void weir::tools::addWarningFlags(FlagParser &parser, Options &options) {
  parser.group("Warnings");
  parser.joined("-W", "error|no-W0605",
                "-Werror: warnings are errors; -Wno-W0605: those of a number are not "
                "printed. Repeatable",
                [&options](std::string_view value) -> std::string {
                  if (value == "error") {
                    options.warnings.areErrors = true;
                    return "";
                  }
                  std::string number(value.starts_with("no-") ? value.substr(3) : "");
                  if (errorPage(number).empty())
                    return "is no warning; possible: -Werror, and -Wno- with a number as W0605";
                  options.warnings.silent.insert(number);
                  return "";
                });
}

void weir::tools::addInspectionFlags(FlagParser &parser, Options &options) {
  parser.group("Looking inside");
  parser.optionalValue("--report", "DIR", "writes the report (default: OUT's stem + .report)",
                       [&options](std::string_view value) {
                         options.report = true;
                         options.reportDir = value;
                         return std::string();
                       });
  parser.text("--numerics", "F.json",
              "values of nodes from weir-run --numerics-out, which the report shows",
              options.numericsFile);
  parser.text("--dump-ir", "DIR",
              "writes the IR after every pass that changed it, numbered, with "
              "an index",
              options.dumpIrDir);
  parser.text("--dump-ir-filter", "PASS", "only after passes whose name holds this",
              options.dumpIrFilter);
  parser.text("--stop-after", "STAGE",
              "ends after a stage of --print-pipeline and writes the IR to OUT", options.stopAfter);
  parser.flag("--print-pipeline", "prints the stages and passes, with the reason for their order",
              options.printPipeline);
  parser.flag("--time-passes", "prints the time of every pass", options.timePasses);
  parser.flag("-v, --verbose", "says what is done, step by step", options.verbose);
}
