//===- Options.h - what a compilation is asked to do ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one structure that holds all options of a compilation. Tools fill it from
// their command lines and hand it down; nothing below the driver sees more of
// it than its own part. Strings are as the user wrote them; the driver checks.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_DRIVER_OPTIONS_H
#define WEIR_COMPILER_DRIVER_OPTIONS_H

#include "compiler/frontend/Diagnostic.h"
#include "compiler/frontend/EntrySpec.h"

#include <map>
#include <string>
#include <vector>

namespace weir::driver {

/// --train and what goes with it.
struct TrainingOptions {
  std::string loss;      ///< "cross_entropy:logits,labels"; empty: nothing is trained
  std::string optimizer; ///< "adam,lr=0.001"; empty: "sgd"
  std::string trainable; ///< regular expression; empty: all weights
  int accumulate = 1;    ///< micro-batches a step
  int replicas = 1;
  int stages = 1;       ///< devices of a replica, one behind the other
  int microBatches = 0; ///< 0: the usual number for so many stages
  std::string parallel; ///< "auto": how devices share the work is chosen; empty: as flags say
  bool shardOptimizer = false;
  std::vector<std::string> shardedFeeds; ///< empty: all that have a dimension
};

struct Options {
  std::string input;  ///< model file, SavedModel folder, or .mlir
  std::string output; ///< by suffix: .o .a .so .mlir .ll .s; empty: stem.o
  std::string name;   ///< C identifier; empty: from the output's stem

  std::vector<EntrySpec> entries;          ///< empty: what the model offers
  std::map<std::string, ShapeSpec> shapes; ///< by feed's name
  std::map<std::string, DimBinding> dims;  ///< by dimension's name
  FrontendFlagValues frontendFlags;        ///< of flags that the model's format has
  TrainingOptions training;

  std::string cpu = "native"; ///< as clang's -march=
  std::string target;         ///< triple; empty: this machine's
  int optLevel = 3;           ///< 0…3
  int threads = 0;            ///< a run's default, 0: the machine's
  int jobs = 1;               ///< threads of the compilation; 0: the machine's
  /// Of machine code; "default": the user's; empty: none is kept.
  std::string cacheFolder;
  int64_t cacheBytes = 0; ///< what the folder is cut down to; 0: the default
  bool sanitizeAddress = false;
  bool debugInfo = false;    ///< line tables whose lines are nodes, in OUT's stem + ".nodes"
  bool sanitizePlan = false; ///< planned buffers are filled and guarded in runs

  std::string weightsFile;    ///< constants go there instead of into the object
  bool sharedRuntime = false; ///< .so: leave the runtime out
  std::string runtimeLibrary; ///< libweir_runtime.a for .so; empty: search
  /// Of a .so: archives that stand in for kernels of the runtime (compiler/emit/Link.h).
  std::vector<std::string> runtimeArchives;

  std::string devicesFile, placementFile, placementOut, profileFile;
  /// Products that devices share: NODE:AXIS, NODE:sum.
  std::vector<std::string> shardedProducts;
  /// Devices by name instead of from a file.
  std::vector<std::string> deviceNames;
  /// A device that is not there, or not for all nodes of a group, is an error;
  /// else it is replaced by another of its task.
  bool hardPlacement = false;
  bool describePlacement = false; ///< fills Report::placement
  std::string customOperations;   ///< description file of --custom-ops
  /// Nodes that --precision leaves alone.
  std::vector<std::string> keepF32;
  std::string placer, receives, schedule, precision, memoryLimit;
  /// Tiles of convolutions with fewer multiplications: off, 2 or 4 results across; empty: by the
  /// bound of their error.
  std::string winograd;
  /// Variables that no entry changes are constants: all, none; empty or auto: where no entry
  /// changes any variable.
  std::string freeze;
  /// What code is made for, by type of device (DeviceKinds.h); none, or empty: no
  /// such devices.
  std::map<std::string, std::string> deviceTargets;
  /// Files that describe devices that it is tuned for, by type.
  std::map<std::string, std::vector<std::string>> deviceProfiles;
  /// Trials of --tune, and the file that they go to; without trials choices are
  /// read from it. Empty: none is written, or compileToFiles's OUT + ".tune".
  int tune = 0;
  std::string tuneFile;

  WarningPolicy warnings; ///< -Werror, -Wno-W0605

  /// A rule for make, ninja and CMake is written there: what the output was made of.
  std::string depfile;

  bool report = false;
  std::string reportDir;    ///< empty: output's stem + ".report"
  std::string numericsFile; ///< of weir-run --numerics-out, for the report; empty: none
  std::string stopAfter;    ///< a stage's name; what it left is the output
  /// The report is all that is asked for: of CPUs no code is made.
  bool reportOnly = false;
  std::string dumpIrDir;
  std::string dumpIrFilter; ///< only passes whose name holds this
  bool printPipeline = false;
  bool timePasses = false;
  bool verbose = false;

  /// How many of the passes that may be left out (OptionalPasses.h) run; -1: all. For
  /// finding the one that a result hangs on.
  int64_t passLimit = -1;
  /// f64 in the place of narrower floats (ComputeInF64.h).
  bool computeInF64 = false;
  /// "PASS:NODE:KIND", a fault behind a pass (PlantedFault.h). For tests.
  std::string plantedFault;
};

} // namespace weir::driver

#endif // WEIR_COMPILER_DRIVER_OPTIONS_H
