//===- pipeline.cpp - the story of a compilation --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every stage and every pass, in order, each with the reason for its place. To
// add a pass is to add a line. What a pass is for is said where it is defined. In slots
// stands what kinds of devices bring along (DeviceBackend::passes). Behind the table stands
// what stages tell their passes.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Pipeline.h"
#include "compiler/driver/DeviceKinds.h"
#include "compiler/driver/Options.h"
#include "passes/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace weir;
using namespace weir::driver;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// The passes before a slot, those that kinds of devices put there, each once, and those
/// behind it.
static std::vector<PipelinePass> around(std::vector<PipelinePass> passes, PipelineSlot slot,
                                        llvm::ArrayRef<PipelinePass> behind) {
  llvm::StringSet<> known;
  for (const DeviceBackend *backend : allDeviceBackends())
    for (const PipelinePass &pass : backend->passes(slot))
      if (known.insert(pass.pass).second)
        passes.push_back(pass);
  passes.insert(passes.end(), behind.begin(), behind.end());
  return passes;
}

static std::vector<StageText> makeTexts() {
  return {
      {importStage,
       "reads the model file into the weir dialect, one operation a node; "
       "nothing after it knows the file's format",
       {},
       "W0400"},

      {"simplify",
       "brings the graph into its smallest form while composites are still "
       "whole: everything after it costs by the operation",
       {
           {"weir-shard-products", "products that devices share are as many "
                                   "before anything else looks at them"},
           {"weir-train", "on the model as it is: what trains is marked as the importer "
                          "found it"},
           {"weir-differentiate", "gradients that a function asks for are made "
                                  "of what the file says, before anything "
                                  "rewrites it"},
           {"weir-freeze-variables", "variables that no entry changes are constants "
                                     "to all that follows"},
           {"canonicalize", "folds what the file spells out; shape operands "
                            "become constants"},
           {"weir-infer-shapes", "the constants just found settle result types"},
           {"canonicalize", "known sizes let shape arithmetic fold"},
           {"weir-equal-sizes", "what broadcasts to the sizes that it has is "
                                "dropped before equal values are looked for"},
           {"weir-refine-feeds", "sizes that weights decide are open no longer"},
           {"weir-value-numbering",
            "equal values are computed once, also where loops and algebra hide "
            "it, before patterns count uses"},
           {"weir-inline-calls", "functions that the model keeps have been "
                                 "simplified once for all of their calls"},
           {"weir-infer-shapes", "what folded last may settle more types, and "
                                 "whatever has no rank now is an error"},
           {"weir-raise-normalizations", "softmax and layer_norm that exporters wrote in "
                                         "pieces, now that uses count"},
           {"weir-raise-activations", "GELU and the logistic function, as well"},
           {"weir-raise-picks", "what losses of classes read, once gradients are made"},
           {"weir-decompose", "last: earlier passes match composites whole, and "
                              "no later one knows them"},
           {"weir-infer-shapes", "expansions know sizes that their composites "
                                 "did not, and so does what reads them"},
           {"canonicalize", "cleans up behind the expansions"},
           {"weir-value-numbering", "expansions repeat statistics, constants and shape arithmetic"},
           {"canonicalize", "what turned out to be constant folds on"},
           {"weir-grouped-query-attention", "heads that queries share, once softmax is "
                                            "operations: nothing copies them"},
           {"canonicalize", "drops what copied them"},
           {"weir-fold-constants", "weights that the model computes of constants, "
                                   "before scales move into them"},
           {"weir-raise-blocks", "weights of a few bits, once the bytes that hold them "
                                 "are unpacked"},
           {"weir-fold-batch-norm", "batch normalisation is a shift and a scale by "
                                    "now; each constant is one operation, so that "
                                    "uses count"},
           {"canonicalize", "drops the scales"},
           {"weir-infer-shapes", "what has folded since settles the last types"},
           {"verify-graph", "ranks everywhere, no composite: what later stages take for granted"},
       },
       "W0400"},

      {"layout",
       "chooses in which order tensors lie in memory, before kernels are "
       "formed: it changes what fuses; and before the cut, so that sums have "
       "the same order whatever is placed where",
       around(
           {
               {"weir-widen-halves", "what follows knows tiles and vectors of f32"},
               {"weir-quantized-gemms", "products of bytes, before what dequantizes them folds"},
               {"weir-fold-weights", "weights that the file computes are constants"},
               {"weir-channels-last", "convolutions run along vectors of channels"},
               {"canonicalize", "transpositions cancel"},
               {"weir-canonical-gemms",
                "products and convolutions get the operands that tiles read"},
               {"weir-fold-weights", "what that does to weights is done now"},
               {"canonicalize", "folds what has become constant"},
               {"weir-collapse-dimensions", "lines become as long as they can"},
               {"weir-value-numbering", "equal transpositions are one, and leave loops"},
               {"weir-lower-precision",
                "--precision=bf16: after all that folds constants and casts"},
           },
           PipelineSlot::AfterLayout, {{"verify-graph", "layouts leave the graph what it was"}}),
       "W0400"},

      {"place",
       "gives every operation a device, on the graph's final form: a rewrite "
       "after it would have to keep devices apart",
       {
           {"weir-form-pipeline", "stages and micro-batches of a training step, before it is "
                                  "copied"},
           {"weir-replicate", "copies of a training step, once it is as small as it gets"},
           {"weir-mark-device-control", "loops that devices decide themselves: their integers "
                                        "need not be the host's"},
           {"weir-place", "completes what the model and the user asked for"},
           {"weir-form-collectives", "what several devices reduce, as a part for each of them"},
       },
       "W0600"},

      {"partition",
       "cuts the graph into one function a device; from here on order between "
       "devices is tokens, sends and receives alone",
       {
           {"weir-partition", "each value crosses once, however many use it"},
           {"canonicalize", "drops what only other devices needed"},
           {"verify-partitioned", "each edge has both of its ends, on its devices"},
       },
       "W0600"},

      {"kernelize",
       "groups operations into kernels before anything has a buffer: values "
       "that live inside of a kernel never get one",
       around(
           {
               {"weir-widen-halves",
                "halves of the host, where other devices of the program compute "
                "them"},
               {"weir-divide-rows", "part by part, where a limit asks for it: each part gets "
                                    "kernels of its own"},
           },
           PipelineSlot::BeforeKernelize,
           {{"weir-attention-gradients", "training stores no matrix of queries by keys either"},
            {"weir-kernelize", "clusters producers into their only consumer"},
            {"cse", "equal launches are one"},
            {"weir-depth-first-fusion",
             "kernels around an image that caches do not keep, line by line"},
            {"verify-kernels", "steps keep no tensor work, kernels have nothing else"}}),
       "W0500"},

      {"schedule",
       "fixes the order of launches and with it how long values live, then "
       "gives each a buffer: offsets need both",
       {
           {"weir-order-launches", "an order in which few bytes live at once"},
           {"weir-recompute-launches", "what that leaves above a limit is computed again"},
           {"weir-bufferize", "tensors become buffers in the order of launches"},
           {"weir-fold-sizes", "sizes that are the same are one value, by what a size can be"},
           {"canonicalize", "sizes that became index arithmetic fold"},
           {"cse", "the same size is computed once"},
           {"weir-bound-buffers", "sizes with bounds are planned for the largest"},
           {"weir-await-sends", "what other tasks read in place lives until they have"},
           {"weir-reuse-buffers", "results over dying operands: fewer buffers for the plan"},
       },
       "W0500"},

      {"plan-memory",
       "last before code: no later pass moves work, so lifetimes are final",
       {
           {"weir-pool-buffers", "buffers of run-time size share memory, by a plan of which "
                                 "lies above which"},
           {"weir-free-dynamic", "buffers of run-time size end with their last "
                                 "use"},
           {"weir-plan-memory", "buffers of fixed size get their offsets in one "
                                "arena a device, checked independently"},
           {"weir-await-swaps", "what comes to lie over a value that is copied "
                                "to the host waits for the copy"},
           {"weir-await-collectives", "what devices reduce together is waited for where it is "
                                      "read, or written over"},
           {"verify-planned", "every buffer has its place in its device's arena"},
       },
       "W0600"},

      {codegenStage,
       "lowers kernels and steps to LLVM IR and optimises it for the processor",
       {},
       "W0500"},

      {emitStage,
       "writes the object (constants straight from the model file), the header "
       "and the report",
       {},
       "W0104"},
  };
}

static StageText textOf(llvm::StringRef name) {
  static const std::vector<StageText> table = makeTexts();
  return *llvm::find_if(table, [&](const StageText &text) { return name == text.name; });
}

Pipeline::Pipeline(const Options &options)
    : import(textOf(importStage)), simplify(textOf("simplify")), layout(textOf("layout")),
      place(textOf("place")), partition(textOf("partition")), kernelize(textOf("kernelize")),
      schedule(textOf("schedule")), planMemory(textOf("plan-memory")),
      codegen(textOf(codegenStage)), emit(textOf(emitStage)),
      order{&import,    &simplify, &layout,     &place,   &partition,
            &kernelize, &schedule, &planMemory, &codegen, &emit} {
  layout.keepF32 = options.keepF32;
  place.placer = options.placer;
  place.receives = options.receives;
  place.isHard = options.hardPlacement;
  place.describes = options.describePlacement || options.report || !options.placementOut.empty();
  schedule.schedule = options.schedule;
  planMemory.guards = options.sanitizePlan;
}

llvm::ArrayRef<Stage *> weir::driver::stages() {
  static const Pipeline usual{Options()};
  return usual.all();
}

int weir::driver::stageIndex(llvm::StringRef name) {
  for (size_t i = 0; i < stages().size(); ++i)
    if (name == stages()[i]->name)
      return int(i);
  return -1;
}

//===----------------------------------------------------------------------===//
// Options of passes
//===----------------------------------------------------------------------===//

std::unique_ptr<mlir::Pass> LayoutStage::make(llvm::StringRef pass) const {
  if (pass != "weir-lower-precision")
    return nullptr;
  WeirLowerPrecisionPassOptions own;
  own.rounds = roundsToBf16;
  own.keepF32.assign(keepF32.begin(), keepF32.end());
  return createWeirLowerPrecisionPass(std::move(own));
}

std::unique_ptr<mlir::Pass> PlaceStage::make(llvm::StringRef pass) const {
  if (pass != "weir-place")
    return nullptr;
  WeirPlacePassOptions own;
  if (!placer.empty())
    own.placer = placer;
  if (!receives.empty())
    own.receives = receives;
  own.hard = isHard;
  own.describes = describes;
  return createWeirPlacePass(std::move(own));
}

std::unique_ptr<mlir::Pass> KernelizeStage::make(llvm::StringRef pass) const {
  if (pass == "weir-kernelize")
    return createWeirKernelizePass({mostInputs, joinsGradients});
  if (pass == "weir-widen-row-reductions")
    return createWeirWidenRowReductionsPass({mostInputs});
  return nullptr;
}

std::unique_ptr<mlir::Pass> ScheduleStage::make(llvm::StringRef pass) const {
  if (pass == "weir-recompute-launches")
    return createWeirRecomputeLaunchesPass({limit});
  if (pass != "weir-order-launches")
    return nullptr;
  WeirOrderLaunchesPassOptions own;
  if (!schedule.empty())
    own.schedule = schedule;
  own.limit = limit;
  return createWeirOrderLaunchesPass(std::move(own));
}

std::unique_ptr<mlir::Pass> PlanMemoryStage::make(llvm::StringRef pass) const {
  if (pass == "weir-pool-buffers")
    return createWeirPoolBuffersPass({guards});
  return pass == "weir-plan-memory" ? createWeirPlanMemoryPass({guards}) : nullptr;
}
