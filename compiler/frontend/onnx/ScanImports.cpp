//===- ScanImports.cpp - Scan ----------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Scan.h"
#include "compiler/frontend/onnx/Sequences.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// The types of what an iteration gives behind `states` states, by a trial of it.
FailureOr<SmallVector<RankedTensorType>>
entryTypes(NodeImport &n, ArrayRef<Value> states, size_t count,
           function_ref<FailureOr<std::vector<Imported>>(Value, ArrayRef<Value>)> once) {
  SmallVector<RankedTensorType> types;
  Block scratch;
  OpBuilder::InsertionGuard guard(n.b);
  n.b.setInsertionPointToEnd(&scratch);
  Value index = scratch.addArgument(RankedTensorType::get({}, n.b.getI64Type()), n.loc);
  FailureOr<std::vector<Imported>> made = once(index, states);
  if (succeeded(made))
    for (size_t i = 0; i < count; ++i)
      types.push_back(cast<RankedTensorType>((*made)[states.size() + i].tensor.getType()));
  scratch.dropAllDefinedValueUses();
  while (!scratch.empty())
    scratch.back().erase();
  if (failed(made))
    return failure();
  return types;
}

/// Scan from version 9 on, on values without a batch dimension.
LogicalResult scan(NodeImport &n, ArrayRef<Value> states, ArrayRef<Value> sequences,
                   ArrayRef<int64_t> inputAxes, ArrayRef<int64_t> inputDirections,
                   ArrayRef<int64_t> outputAxes, ArrayRef<int64_t> outputDirections,
                   Values &results) {
  const Graph &body = n.graphAttr("body");
  if (body.inputs.size() != states.size() + sequences.size() ||
      body.outputs.size() < states.size() || sequences.empty())
    return n.invalid("found a body whose inputs and outputs do not go with "
                     "those of the scan");
  size_t outputs = body.outputs.size() - states.size();
  // The node may leave out the last of them.
  auto entryOf = [](ArrayRef<int64_t> list, size_t i) { return i < list.size() ? list[i] : 0; };
  Value count1 = n.sizeOf(sequences[0], inputAxes[0]);
  Value count = n.toScalar(count1);
  auto once = [&](Value index, ArrayRef<Value> state) -> FailureOr<std::vector<Imported>> {
    std::vector<Imported> inputs(state.begin(), state.end());
    for (auto [i, sequence] : llvm::enumerate(sequences)) {
      Value at = index;
      if (inputDirections[i])
        at = n.sub(n.sub(count, 1.0), index);
      inputs.push_back(Imported(n.gather(sequence, at, inputAxes[i])));
    }
    return n.graph.subgraph(body, inputs, n.b);
  };
  FailureOr<SmallVector<RankedTensorType>> trial = entryTypes(n, states, outputs, once);
  if (failed(trial))
    return failure();
  SmallVector<RankedTensorType> types = std::move(*trial);
  // Entries of an open shape are a sequence until the end. That a state changes
  // its shape, and an entry with it, shows when the loop is built.
  std::vector<Info> infos(outputs);
  Values made;
  for (bool again = true; again;) {
    again = false;
    Values inits(states.begin(), states.end());
    for (RankedTensorType type : types)
      inits.push_back(type.hasStaticShape() ? makeEntries(n, count1, type)
                                            : toBoxes(n, Imported::sequence({})));
    FailureOr<Values> built =
        buildLoop(n, count, {}, inits, [&](Value index, Values args) -> FailureOr<Values> {
          FailureOr<std::vector<Imported>> step =
              once(index, ArrayRef(args).take_front(states.size()));
          if (failed(step))
            return failure();
          Values next;
          for (size_t i = 0; i < states.size(); ++i)
            next.push_back((*step)[i].tensor);
          for (size_t i = 0; i < outputs; ++i) {
            const Imported &entry = (*step)[states.size() + i];
            Value so_far = args[states.size() + i];
            infos[i] = infoOf(entry);
            if (!types[i].hasStaticShape()) {
              next.push_back(insertBox(n, so_far, entry,
                                       entryOf(outputDirections, i) ? n.intScalar(0) : Value()));
              continue;
            }
            if (entry.tensor.getType() != types[i]) {
              types[i] = n.type(entry.tensor);
              again = true;
              return failure();
            }
            Value at = index;
            if (entryOf(outputDirections, i))
              at = n.sub(n.sub(count, 1.0), index);
            next.push_back(writeEntry(n, so_far, at, entry.tensor));
          }
          return next;
        });
    if (failed(built) && !again)
      return failure();
    if (succeeded(built))
      made = *built;
  }
  for (size_t i = 0; i < outputs; ++i) {
    Value &entries = made[states.size() + i];
    if (!types[i].hasStaticShape())
      entries = concatBoxes(n, entries, infos[i], /*axis=*/0, /*fresh=*/true,
                            /*mayBeEmpty=*/true);
    if (!entries)
      return failure();
    std::optional<int64_t> axis = n.axis(entryOf(outputAxes, i), n.rank(entries));
    if (!axis)
      return failure();
    SmallVector<int64_t> order;
    for (int64_t d = 1; d < n.rank(entries); ++d)
      order.push_back(d);
    order.insert(order.begin() + *axis, 0);
    entries = n.transpose(entries, order);
  }
  results = made;
  return success();
}

} // namespace

LogicalResult weir::onnx::scanNode(NodeImport &n) {
  Values inputs = n.tensors();
  if (inputs.empty())
    return failure();
  auto count = static_cast<size_t>(n.i("num_scan_inputs"));
  if (count > inputs.size() || !n.attr("body"))
    return n.invalid("found more scanned inputs than inputs");
  size_t states = inputs.size() - count;
  ArrayRef<Value> sequences = ArrayRef(inputs).drop_front(states);
  auto list = [&](std::string_view name, size_t size) {
    SmallVector<int64_t> values = n.is(name).value_or(SmallVector<int64_t>(size, 0));
    values.resize(size, 0);
    return values;
  };
  size_t outputs = n.outputCount() - std::min(states, n.outputCount());
  SmallVector<int64_t> axes = list("scan_input_axes", count);
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> axis = n.axis(axes[i], n.rank(sequences[i]));
    if (!axis)
      return failure();
    axes[i] = *axis;
  }
  Values results;
  if (failed(scan(n, ArrayRef(inputs).take_front(states), sequences, axes,
                  list("scan_input_directions", count), list("scan_output_axes", outputs),
                  list("scan_output_directions", outputs), results)))
    return failure();
  return n.results(results);
}

/// Of one batch entry, the dimension is dropped; several are written out, one after the other.
LogicalResult weir::onnx::batchedScan(NodeImport &n) {
  if (n.has(0))
    return n.unsupported("expected no sequence_lens, got the input");
  auto count = static_cast<size_t>(n.i("num_scan_inputs"));
  Values inputs;
  for (size_t i = 1; i < n.inputCount(); ++i) {
    inputs.push_back(n.in(i));
    if (!inputs.back())
      return failure();
  }
  if (inputs.empty() || count > inputs.size())
    return n.invalid("found more scanned inputs than inputs");
  size_t states = inputs.size() - count;
  int64_t batch = n.dim(inputs[0], 0);
  if (ShapedType::isDynamic(batch) || batch < 1 || batch > 64)
    return n.unsupported("found a batch of open size, or of more than 64");
  SmallVector<int64_t> directions = n.is("directions").value_or(SmallVector<int64_t>(count, 0));
  directions.resize(count, 0);
  SmallVector<int64_t> zeros(n.outputCount() + inputs.size(), 0);
  SmallVector<Values> byOutput(n.outputCount());
  for (int64_t i = 0; i < batch; ++i) {
    Values one, results;
    for (Value input : inputs)
      one.push_back(n.pick(input, 0, i));
    if (failed(scan(n, ArrayRef(one).take_front(states), ArrayRef(one).drop_front(states), zeros,
                    directions, zeros, zeros, results)))
      return failure();
    for (auto [k, value] : llvm::enumerate(results))
      if (k < byOutput.size())
        byOutput[k].push_back(n.unsqueeze(value, {0}));
  }
  Values results;
  for (Values &parts : byOutput) {
    if (parts.empty())
      return n.invalid("found more outputs than the body has");
    results.push_back(n.concat(parts, 0));
  }
  return n.results(results);
}
