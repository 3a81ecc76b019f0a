//===- ControlImports.cpp - Loop, Scan ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/GraphOrder.h"
#include "compiler/frontend/onnx/Sequences.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// Sizes and element type, as 2x?xf32.
std::string shapeText(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (int64_t size : type.getShape())
    ShapedType::isDynamic(size) ? out << "?x" : out << size << "x";
  out << type.getElementType();
  return text;
}

/// `v` with the fixed shape that the graph declares, where its own is open.
Value refined(NodeImport &n, Value v, const TypeInfo &declared) {
  if (n.isStatic(v) || !declared.hasShape ||
      static_cast<int64_t>(declared.shape.size()) != n.rank(v))
    return v;
  SmallVector<int64_t> shape;
  for (const Dim &dim : declared.shape) {
    if (dim.size < 0)
      return v;
    shape.push_back(dim.size);
  }
  return n.reshape(v, shape);
}

/// What a loop gives of every iteration: entries of one fixed shape, written in
/// place, or, of an open shape, a sequence that is put together at the end.
struct LoopOutput {
  RankedTensorType fixed; ///< null: open
  Info info;
};

class LoopImport {
public:
  explicit LoopImport(NodeImport &n) : n(n), body(n.graphAttr("body")) {}

  LogicalResult run();

private:
  FailureOr<Values> iterate(Value index, Values args);
  LogicalResult keepRank(size_t i, Imported &next);
  LogicalResult probe(Value condition);
  void noteUnread(size_t i, const Imported &written);
  void beginAsWritten(Value count, Value begins);
  LogicalResult unroll(int64_t count);
  LogicalResult build(Value count, Value begins);

  NodeImport &n;
  const Graph &body;
  std::vector<Imported> carried; ///< as the node's inputs are built
  SmallVector<std::pair<size_t, RankedTensorType>> unread;  ///< carried, and what is written
  std::optional<std::unordered_set<std::string_view>> read; ///< names that the body takes
  bool fixedCount = false;       ///< entries are written in place
  bool conditional = false;      ///< the body may end the loop
  SmallVector<LoopOutput> outputs;
  bool again = false;  ///< an iteration gave more than the last try expected
  bool differ = false; ///< … or a sequence of another structure
};

void LoopImport::noteUnread(size_t i, const Imported &written) {
  if (carried[i].kind != Imported::Kind::Tensor || written.kind != Imported::Kind::Tensor ||
      n.isString(written.tensor))
    return;
  RankedTensorType begins = n.type(carried[i].tensor), type = n.type(written.tensor);
  if (frontend::joinTypes(begins, type))
    return;
  if (!read)
    read = namesRead(body);
  if (!read->count(body.inputs[i + 2].name))
    unread.emplace_back(i, type);
}

/// Of a carried value that the body writes and never reads, what it begins with is of no use but
/// to a loop without iterations: exporters of languages with variables begin it with some scalar.
/// It begins with the rank and type that are written; where its result has a name, the loop must
/// iterate, unless one element is what it begins with and what is written.
void LoopImport::beginAsWritten(Value count, Value begins) {
  bool asked = false;
  for (auto [i, type] : unread) {
    if (frontend::haveOneElement(n.type(carried[i].tensor), type)) {
      carried[i].tensor = n.reshape(carried[i].tensor, type.getShape());
      continue;
    }
    SmallVector<int64_t> sizes(type.getShape());
    std::replace(sizes.begin(), sizes.end(), ShapedType::kDynamic, int64_t(0));
    carried[i].tensor = n.splat(type.getElementType(), sizes, 0);
    asked |= n.wants(i);
  }
  if (!asked)
    return;
  if (count) {
    Value some = n.compare("gt", count, 0);
    begins = begins ? n.op<AndOp>(begins, some) : some;
  }
  n.require(begins,
            "the loop makes no iteration, and a value that it gives begins with another rank or "
            "type",
            unimplemented);
}

/// Runs the body once on a scratch block, to learn the types of its outputs.
LogicalResult LoopImport::probe(Value condition) {
  Block scratch;
  OpBuilder::InsertionGuard guard(n.b);
  n.b.setInsertionPointToEnd(&scratch);
  std::vector<Imported> inputs = {Imported(n.intScalar(0)), Imported(condition)};
  // Block arguments stand for the iteration's number and for what is carried: where they
  // begin says nothing of whether the loop goes on.
  auto unknown = [&](Type type) { return Imported(scratch.addArgument(type, n.loc)); };
  inputs[0] = unknown(RankedTensorType::get({}, n.b.getI64Type()));
  for (const Imported &value : carried)
    inputs.push_back(value.kind == Imported::Kind::Tensor ? unknown(value.tensor.getType())
                                                          : value);
  FailureOr<std::vector<Imported>> made = n.graph.subgraph(body, inputs, n.b);
  LogicalResult result = success();
  if (failed(made)) {
    result = failure();
  } else {
    std::optional<SmallVector<int64_t>> more = constantIntegers((*made)[0].tensor);
    bool passed = (*made)[0].tensor == condition;
    conditional = !passed && !(more && (*more)[0]);
    for (size_t i = 0; i < carried.size(); ++i)
      noteUnread(i, (*made)[i + 1]);
    outputs.clear();
    for (size_t i = 1 + carried.size(); i < made->size(); ++i) {
      if ((*made)[i].kind != Imported::Kind::Tensor) {
        result = n.invalid(
            "expected a tensor as an output of each iteration, got a sequence or optional");
        break;
      }
      auto type = n.type(refined(n, (*made)[i].tensor, body.outputs[i].type));
      outputs.push_back({type.hasStaticShape() ? type : RankedTensorType(), infoOf((*made)[i])});
    }
  }
  scratch.dropAllDefinedValueUses();
  while (!scratch.empty())
    scratch.back().erase();
  return result;
}

/// Has the carried value `i` go on with the rank and type with which it begins. One element may
/// gain or lose dimensions, where the body declares the rank that it had: exporters write scalars
/// that become vectors of one, which are declared as scalars.
LogicalResult LoopImport::keepRank(size_t i, Imported &next) {
  if (carried[i].kind != Imported::Kind::Tensor || next.kind != Imported::Kind::Tensor)
    return success();
  RankedTensorType begins = n.type(carried[i].tensor), goesOn = n.type(next.tensor);
  const ValueInfo &declared = body.outputs[i + 1];
  if (frontend::joinTypes(begins, goesOn))
    return success();
  if (frontend::haveOneElement(begins, goesOn) && declared.type.hasShape &&
      static_cast<int64_t>(declared.type.shape.size()) == begins.getRank()) {
    next.tensor = n.reshape(next.tensor, begins.getShape());
    return success();
  }
  return n.invalid("found a value of the loop, \"" + Twine(declared.name) + "\", that begins as " +
                   shapeText(begins) + " and goes on as " + shapeText(goesOn) +
                   ": expected one rank and type");
}

FailureOr<Values> LoopImport::iterate(Value index, Values args) {
  std::vector<Imported> inputs = {Imported(index), Imported(n.scalar(n.b.getI1Type(), 1))};
  ArrayRef<Value> tensors = args;
  for (const Imported &shape : carried)
    inputs.push_back(rebuild(shape, tensors));
  FailureOr<std::vector<Imported>> made = n.graph.subgraph(body, inputs, n.b);
  if (failed(made))
    return failure();
  Values next;
  for (size_t i = 0; i < carried.size(); ++i) {
    Imported &value = (*made)[i + 1];
    if (failed(keepRank(i, value)))
      return failure();
    if (carried[i].boxes)
      value = boxed(n, value);
    if (!sameStructure(value, carried[i])) {
      differ = true;
      return failure();
    }
    again |= !widenTo(carried[i], value);
    flatten(value, next);
  }
  for (auto [i, output] : llvm::enumerate(outputs)) {
    size_t number = i + 1 + carried.size();
    Value entry = (*made)[number].tensor, so_far = tensors[i];
    if (!output.fixed) {
      Info joined = joinInfo(output.info, infoOf((*made)[number]));
      again |= !sameInfo(joined, output.info);
      output.info = joined;
      next.push_back(insertBox(n, so_far, Imported(entry)));
      continue;
    }
    entry = refined(n, entry, body.outputs[number].type);
    if (entry && entry.getType() != output.fixed) {
      // A carried value turned out to change its shape, and so this one.
      output = {RankedTensorType(), infoOf(Imported(entry))};
      again = true;
      return failure();
    }
    next.push_back(fixedCount ? writeEntry(n, so_far, index, entry)
                              : n.concat({so_far, n.unsqueeze(entry, {0})}, 0));
  }
  if (conditional)
    next.push_back(n.toScalar((*made)[0].tensor));
  return next;
}

/// A loop of known length over sequences is written out: their lengths are then
/// known in each iteration.
LogicalResult LoopImport::unroll(int64_t count) {
  std::vector<Imported> state = carried;
  size_t scans = body.outputs.size() - 1 - carried.size();
  SmallVector<Values> collected(scans);
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Imported> inputs = {Imported(n.intScalar(i)),
                                    Imported(n.scalar(n.b.getI1Type(), 1))};
    llvm::append_range(inputs, state);
    FailureOr<std::vector<Imported>> made = n.graph.subgraph(body, inputs, n.b);
    if (failed(made))
      return failure();
    for (size_t k = 0; k < carried.size(); ++k)
      state[k] = (*made)[k + 1];
    for (size_t k = 0; k < scans; ++k)
      collected[k].push_back(n.unsqueeze((*made)[k + 1 + carried.size()].tensor, {0}));
  }
  for (size_t k = 0; k < carried.size(); ++k)
    n.set(k, state[k]);
  for (size_t k = 0; k < scans; ++k)
    n.set(carried.size() + k, Imported(n.concat(collected[k], 0)));
  return success();
}

/// Builds the loop with what is known of its values now; where the body shows
/// that they are more, once more. What is known only ever gets less.
LogicalResult LoopImport::build(Value count, Value begins) {
  constexpr int mostTries = 64;
  Value rows = fixedCount ? n.reshape(n.maximum(count, 0.0), {1}) : Value();
  for (int tries = 0; tries < mostTries; ++tries) {
    again = differ = false;
    Values inits;
    for (const Imported &value : carried)
      flatten(value, inits);
    for (const LoopOutput &output : outputs)
      inits.push_back(output.fixed ? makeEntries(n, rows ? rows : n.ints({0}), output.fixed)
                                   : toBoxes(n, Imported::sequence({})));
    FailureOr<Values> made = buildLoop(
        n, count, begins, inits, [&](Value index, Values args) { return iterate(index, args); });
    if (failed(made) && differ) {
      for (Imported &value : carried)
        value = boxed(n, value);
      continue;
    }
    if (again) {
      if (succeeded(made) && !made->empty())
        made->front().getDefiningOp()->erase();
      continue;
    }
    if (failed(made))
      return failure();
    ArrayRef<Value> tensors = *made;
    for (auto [i, shape] : llvm::enumerate(carried))
      n.set(i, rebuild(shape, tensors));
    for (auto [i, output] : llvm::enumerate(outputs)) {
      Value value = output.fixed ? tensors[i]
                                 : concatBoxes(n, tensors[i], output.info, /*axis=*/0,
                                               /*fresh=*/true, /*mayBeEmpty=*/true);
      if (!value)
        return failure();
      n.set(carried.size() + i, Imported(value));
    }
    return success();
  }
  return n.unsupported("found a sequence in a loop whose elements change their "
                       "type from iteration to iteration");
}

LogicalResult LoopImport::run() {
  Value count = n.has(0) ? n.cast(n.toScalar(n.in(0)), n.b.getI64Type()) : Value();
  Value condition = n.has(1) ? n.toScalar(n.in(1)) : Value();
  if ((n.has(0) && !count) || (n.has(1) && !condition))
    return failure();
  if (body.inputs.size() != n.inputCount() || body.outputs.size() + 1 < body.inputs.size())
    return n.invalid("found a body whose inputs and outputs do not go with "
                     "those of the loop");
  bool structured = false;
  for (size_t i = 2; i < n.inputCount(); ++i) {
    carried.push_back(n.imported(i));
    structured |= carried.back().kind != Imported::Kind::Tensor;
    // Of what is empty at first, the body's declaration may know more.
    Imported &value = carried.back();
    if (value.kind == Imported::Kind::Tensor || !value.elements.empty() ||
        (value.info && (value.info->kind != Imported::Kind::Tensor || value.info->ranked)))
      continue;
    Info declared = infoOf(n.b.getContext(), body.inputs[i].type);
    if (declared && declared->inner) {
      auto open = std::make_shared<ElementInfo>(*declared->inner);
      open->shape.assign(open->shape.size(), ShapedType::kDynamic);
      value.info = open->kind != Imported::Kind::Tensor || open->ranked ? open : nullptr;
    }
  }
  std::optional<SmallVector<int64_t>> knownCount = count ? constantIntegers(count) : std::nullopt;
  std::optional<SmallVector<int64_t>> knownCondition =
      condition ? constantIntegers(condition) : SmallVector<int64_t>{1};
  bool alwaysBegins = knownCondition && (*knownCondition)[0];
  Value scalarTrue = n.scalar(n.b.getI1Type(), 1);
  if (failed(probe(condition ? condition : scalarTrue)))
    return failure();
  beginAsWritten(count, condition);
  constexpr int64_t mostUnrolled = 256;
  if (structured && knownCount && alwaysBegins && !conditional && (*knownCount)[0] > 0 &&
      (*knownCount)[0] <= mostUnrolled)
    return unroll((*knownCount)[0]);
  fixedCount = count && alwaysBegins && !conditional;
  // Without a condition of its own, the loop begins.
  Value begins = condition ? condition : scalarTrue;
  return build(count, conditional || !alwaysBegins || !count ? begins : Value());
}

LogicalResult loopNode(NodeImport &n) { return LoopImport(n).run(); }

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

LogicalResult scanNode(NodeImport &n) {
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

/// Version 8: everything has a leading batch dimension. Of one batch entry, it
/// is dropped; several are written out, one after the other.
LogicalResult batchedScan(NodeImport &n) {
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

constexpr OperatorImport table[] = {
    {"", "Loop", 1, 0, loopNode},
    {"", "Scan", 8, 8, batchedScan},
    {"", "Scan", 9, 0, scanNode},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::controlImports() { return table; }
