//===- CtcImports.cpp - connectionist temporal classification -------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's kernels compute it (runtime/include/weir/kernels.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NumericImports.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Inputs [time, batch, classes]; null, with a report, where they are not.
static Value sequences(NodeImport &n) {
  Value inputs = n.in(0);
  if (!inputs)
    return {};
  if (n.rank(inputs) == 3 && (n.element(inputs).isF32() || n.element(inputs).isF64()))
    return inputs;
  (void)n.invalid("expected inputs of [time, batch, classes] in f32 or f64, got rank " +
                  Twine(n.rank(inputs)));
  return {};
}

static LogicalResult allResults(NodeImport &n, Operation *call) {
  return call ? n.results(SmallVector<Value>(call->getResults())) : failure();
}

template <int64_t blank> static LogicalResult loss(NodeImport &n) {
  Value inputs = sequences(n);
  SmallVector<Value> rest = n.tensors(1, 4);
  if (!inputs || rest.empty())
    return failure();
  auto losses = RankedTensorType::get({n.dim(inputs, 1)}, n.element(inputs));
  return allResults(
      n, n.kernelCall("weir_kernel_ctc_loss", {losses, inputs.getType()},
                      {inputs, rest[0], rest[1], rest[2]},
                      {n.isSet("preprocess_collapse_repeated"), n.isSet("ctc_merge_repeated"),
                       n.isSet("ignore_longer_outputs_than_inputs"), blank}));
}

/// `paths` sparse matrices, by their parts, then a number for each sequence and
/// path.
static SmallVector<Type> decodedTypes(NodeImport &n, Value inputs, int64_t paths) {
  int64_t open = ShapedType::kDynamic;
  Type i64 = n.b.getI64Type();
  SmallVector<Type> types(paths, RankedTensorType::get({open, 2}, i64));
  types.append(paths, RankedTensorType::get({open}, i64));
  types.append(paths, RankedTensorType::get({2}, i64));
  types.push_back(RankedTensorType::get({n.dim(inputs, 1), paths}, n.element(inputs)));
  return types;
}

static LogicalResult greedy(NodeImport &n) {
  Value inputs = sequences(n), lengths = n.in(1);
  if (!inputs || !lengths)
    return failure();
  return allResults(n, n.kernelCall("weir_kernel_ctc_greedy", decodedTypes(n, inputs, 1),
                                    {inputs, lengths},
                                    {n.isSet("merge_repeated"), n.i("blank_index")}));
}

static LogicalResult beamSearch(NodeImport &n) {
  Value inputs = sequences(n), lengths = n.in(1);
  int64_t paths = n.i("top_paths"), width = n.i("beam_width");
  if (!inputs || !lengths)
    return failure();
  // Each of them is memory of the run, and the paths are results.
  constexpr int64_t most = 1 << 16;
  if (paths < 1 || width < 1 || paths > most || width > most)
    return n.invalid("expected top_paths and beam_width from 1 to " + Twine(most) + ", got " +
                     Twine(paths) + " and " + Twine(width));
  return allResults(n, n.kernelCall("weir_kernel_ctc_beam_search", decodedTypes(n, inputs, paths),
                                    {inputs, lengths}, {n.isSet("merge_repeated"), width, paths}));
}

ArrayRef<OpImport> weir::tf::ctcImports() {
  static const OpImport rows[] = {
      {"CTCLoss", loss<-1>},
      {"CTCLossV2", loss<0>},
      {"CTCGreedyDecoder", greedy},
      {"CTCBeamSearchDecoder", beamSearch},
  };
  return rows;
}
