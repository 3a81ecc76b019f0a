//===- SequenceImports.cpp - sequences and optionals ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences and optionals of known length are lists that the importer keeps;
// nothing of them is left in the program. Where lengths or positions are
// computed, they are values of the program (Sequences.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/Sequences.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

using Elements = std::vector<Imported>;

using Kind = Imported::Kind;

/// The sequence that input `i` is; null, with a report, where it is none.
const Imported *sequence(NodeImport &n, size_t i) {
  if (n.has(i) && n.imported(i).kind == Kind::Sequence)
    return &n.imported(i);
  (void)n.invalid("found an input that is no sequence");
  return nullptr;
}

/// Whether a list can be followed: it is one, and the position is known.
bool isFollowed(NodeImport &n, const Imported &sequence, size_t position) {
  return !sequence.boxes && (!n.has(position) || n.knownInts(position));
}

/// A known position in [0, size), or [0, size] with `end`; reports.
std::optional<size_t> position(NodeImport &n, size_t input, size_t size, bool end) {
  std::optional<SmallVector<int64_t>> given = n.constantInts(input);
  if (!given || given->empty())
    return std::nullopt;
  auto count = static_cast<int64_t>(size);
  int64_t at = (*given)[0] < 0 ? (*given)[0] + count : (*given)[0];
  if (at >= 0 && at < count + (end ? 1 : 0))
    return at;
  (void)n.invalid("found position " + Twine((*given)[0]) + " in a sequence of " + Twine(count));
  return std::nullopt;
}

/// The position operand of a kernel; null where the node has none.
LogicalResult positionOperand(NodeImport &n, size_t input, Value &at) {
  if (!n.has(input))
    return success();
  at = n.in(input);
  return success(static_cast<bool>(at));
}

/// Sets output 0 to a computed sequence.
LogicalResult computed(NodeImport &n, Value boxes, Info info) {
  if (!boxes)
    return failure();
  n.set(0, Imported::computed(Kind::Sequence, boxes, std::move(info)));
  return success();
}

LogicalResult construct(NodeImport &n) {
  Elements elements;
  for (size_t i = 0; i < n.inputCount(); ++i)
    elements.push_back(n.imported(i));
  n.set(0, Imported::sequence(std::move(elements)));
  return success();
}

LogicalResult empty(NodeImport &n) {
  n.set(0, Imported::sequence({}));
  return success();
}

LogicalResult at(NodeImport &n) {
  const Imported *given = sequence(n, 0);
  if (!given)
    return failure();
  if (!isFollowed(n, *given, 1)) {
    Imported element = elementAt(n, boxed(n, *given), n.in(1));
    if (element.kind == Kind::None)
      return failure();
    n.set(0, std::move(element));
    return success();
  }
  std::optional<size_t> place = position(n, 1, given->elements.size(), false);
  if (!place)
    return failure();
  n.set(0, Imported(given->elements[*place]));
  return success();
}

LogicalResult insert(NodeImport &n) {
  const Imported *given = sequence(n, 0);
  if (!given)
    return failure();
  if (!isFollowed(n, *given, 2)) {
    Imported whole = boxed(n, *given);
    Value at;
    if (failed(positionOperand(n, 2, at)))
      return failure();
    Info added = infoOf(n.imported(1));
    return computed(n, insertBox(n, whole.boxes, n.imported(1), at),
                    whole.info ? joinInfo(whole.info, added) : added);
  }
  Elements elements = given->elements;
  size_t place = elements.size();
  if (n.has(2)) {
    std::optional<size_t> asked = position(n, 2, elements.size(), true);
    if (!asked)
      return failure();
    place = *asked;
  }
  elements.insert(elements.begin() + place, n.imported(1));
  n.set(0, Imported::sequence(std::move(elements)));
  return success();
}

LogicalResult erase(NodeImport &n) {
  const Imported *given = sequence(n, 0);
  if (!given)
    return failure();
  if (!isFollowed(n, *given, 1)) {
    Imported whole = boxed(n, *given);
    Values operands = {whole.boxes};
    if (n.has(1))
      operands.push_back(n.in(1));
    if (!operands.front() || !operands.back())
      return failure();
    return computed(
        n,
        callKernel(n, "weir_kernel_sequence_erase", boxesType(n.b.getContext()), operands, {})
            ->getResult(0),
        whole.info);
  }
  Elements elements = given->elements;
  if (elements.empty())
    return n.invalid("found an empty sequence to erase from");
  size_t place = elements.size() - 1;
  if (n.has(1)) {
    std::optional<size_t> asked = position(n, 1, elements.size(), false);
    if (!asked)
      return failure();
    place = *asked;
  }
  elements.erase(elements.begin() + place);
  n.set(0, Imported::sequence(std::move(elements)));
  return success();
}

LogicalResult length(NodeImport &n) {
  const Imported *given = sequence(n, 0);
  if (!given)
    return failure();
  if (given->boxes)
    return n.result(n.toScalar(n.sizeOf(given->boxes, 0)));
  return n.result(n.intScalar(given->elements.size()));
}

/// Parts whose number or sizes the run decides.
LogicalResult splitComputed(NodeImport &n, Value x, int64_t axis) {
  bool keep = n.has(1) || n.i("keepdims") != 0;
  auto info = std::make_shared<ElementInfo>();
  info->element = n.element(x);
  info->ranked = true;
  for (auto [i, size] : llvm::enumerate(n.sizes(x)))
    if (static_cast<int64_t>(i) != axis)
      info->shape.push_back(size);
    else if (keep)
      info->shape.push_back(n.has(1) ? ShapedType::kDynamic : 1);
  Values operands = {x};
  if (n.has(1))
    operands.push_back(n.in(1));
  if (!operands.back())
    return failure();
  return computed(n,
                  callKernel(n, "weir_kernel_sequence_split", boxesType(n.b.getContext()), operands,
                             {axis, keep})
                      ->getResult(0),
                  info);
}

LogicalResult split(NodeImport &n) {
  constexpr int64_t mostParts = 4096;
  Value x = n.in(0);
  if (!x)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return failure();
  int64_t size = n.dim(x, *axis);
  SmallVector<int64_t> sizes;
  bool keep = true;
  if (n.has(1)) {
    std::optional<SmallVector<int64_t>> given = n.knownInts(1);
    Value split = n.in(1);
    if (!split)
      return failure();
    bool listed = n.rank(split) == 1;
    if (!given || (!listed && given->empty()) ||
        (!listed &&
         (ShapedType::isDynamic(size) || (*given)[0] < 1 || size / (*given)[0] > mostParts)))
      return splitComputed(n, x, *axis);
    if (listed) {
      sizes = *given;
    } else {
      for (int64_t from = 0; from < size; from += (*given)[0])
        sizes.push_back(std::min((*given)[0], size - from));
    }
  } else {
    if (ShapedType::isDynamic(size) || size > mostParts)
      return splitComputed(n, x, *axis);
    sizes.assign(size, 1);
    keep = n.i("keepdims") != 0;
  }
  Elements elements;
  int64_t from = 0;
  for (int64_t one : sizes) {
    Value part = n.slice(x, *axis, from, from + one);
    from += one;
    elements.push_back(Imported(keep ? part : n.squeeze(part, {*axis})));
    if (!elements.back().tensor)
      return failure();
  }
  n.set(0, Imported::sequence(std::move(elements)));
  return success();
}

LogicalResult concat(NodeImport &n) {
  const Imported *given = sequence(n, 0);
  if (!given)
    return failure();
  bool fresh = n.i("new_axis") != 0;
  if (given->boxes)
    return n.result(
        concatBoxes(n, given->boxes, given->info, n.i("axis"), fresh, /*mayBeEmpty=*/false));
  SmallVector<Value> values;
  for (const Imported &element : given->elements) {
    if (element.kind != Kind::Tensor)
      return n.unsupported("found a sequence of sequences");
    values.push_back(element.tensor);
  }
  if (values.empty())
    return n.invalid("found an empty sequence to concatenate");
  int64_t rank = n.rank(values[0]) + (fresh ? 1 : 0);
  std::optional<int64_t> axis = n.axis(n.i("axis"), rank);
  if (!axis)
    return failure();
  if (fresh)
    for (Value &value : values)
      value = n.unsqueeze(value, {*axis});
  return n.result(n.concat(values, *axis));
}

/// The map as a loop, over sequences whose lengths the run decides.
LogicalResult mapComputed(NodeImport &n, const Graph &body) {
  Elements inputs;
  for (size_t k = 0; k < n.inputCount(); ++k)
    inputs.push_back(n.imported(k).kind == Kind::Sequence ? boxed(n, n.imported(k))
                                                          : n.imported(k));
  Value count = n.toScalar(n.sizeOf(inputs[0].boxes, 0));
  if (!count)
    return failure();
  // A sequence that is longer would go unnoticed: one that is shorter fails at
  // the element that it lacks.
  for (const Imported &input : ArrayRef(inputs).drop_front()) {
    if (!input.boxes)
      continue;
    n.require(n.compare("eq", n.toScalar(n.sizeOf(input.boxes, 0)), count),
              "the sequences have different lengths");
  }
  std::vector<Info> infos(n.outputCount());
  Values inits;
  for (size_t k = 0; k < infos.size(); ++k)
    inits.push_back(toBoxes(n, Imported::sequence({})));
  FailureOr<Values> made =
      buildLoop(n, count, {}, inits, [&](Value index, Values args) -> FailureOr<Values> {
        Elements own;
        for (const Imported &input : inputs) {
          own.push_back(input.boxes ? elementAt(n, input, index) : input);
          if (own.back().kind == Kind::None)
            return failure();
        }
        FailureOr<Elements> outputs = n.graph.subgraph(body, own, n.b);
        if (failed(outputs) || outputs->size() < infos.size())
          return failure();
        Values next;
        for (size_t k = 0; k < infos.size(); ++k) {
          infos[k] = infoOf((*outputs)[k]);
          next.push_back(insertBox(n, args[k], (*outputs)[k]));
        }
        return next;
      });
  if (failed(made))
    return failure();
  for (size_t k = 0; k < infos.size(); ++k)
    n.set(k, Imported::computed(Kind::Sequence, (*made)[k], infos[k]));
  return success();
}

/// Applies a graph to the elements of sequences; other inputs go to all.
LogicalResult map(NodeImport &n) {
  const Imported *first = sequence(n, 0);
  if (!first)
    return failure();
  const Graph &body = n.graphAttr("body");
  for (size_t k = 0; k < n.inputCount(); ++k)
    if (n.imported(k).boxes && n.imported(k).kind == Kind::Sequence)
      return mapComputed(n, body);
  std::vector<Elements> outputs(n.outputCount());
  for (size_t i = 0; i < first->elements.size(); ++i) {
    Elements inputs;
    for (size_t k = 0; k < n.inputCount(); ++k) {
      const Imported &input = n.imported(k);
      bool sequence = input.kind == Kind::Sequence;
      if (sequence && input.elements.size() != first->elements.size())
        return n.invalid("found sequences of different lengths");
      inputs.push_back(sequence ? input.elements[i] : input);
    }
    FailureOr<Elements> made = n.graph.subgraph(body, inputs, n.b);
    if (failed(made))
      return failure();
    for (size_t k = 0; k < outputs.size() && k < made->size(); ++k)
      outputs[k].push_back((*made)[k]);
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    n.set(k, Imported::sequence(std::move(outputs[k])));
  return success();
}

LogicalResult optional(NodeImport &n) {
  Elements elements;
  if (n.has(0))
    elements.push_back(n.imported(0));
  Imported made = Imported::optional(std::move(elements));
  if (const NodeAttribute *type = n.attr("type"); type && !n.has(0) && !type->types.empty())
    made.info = infoOf(n.b.getContext(), type->types[0]);
  n.set(0, std::move(made));
  return success();
}

LogicalResult optionalHasElement(NodeImport &n) {
  if (n.has(0) && n.imported(0).kind == Kind::Optional && n.imported(0).boxes)
    return n.result(n.compare("gt", n.toScalar(n.sizeOf(n.imported(0).boxes, 0)), 0.0));
  bool there =
      n.has(0) && (n.imported(0).kind != Kind::Optional || !n.imported(0).elements.empty());
  return n.result(n.scalar(n.b.getI1Type(), there));
}

LogicalResult optionalGetElement(NodeImport &n) {
  if (!n.has(0))
    return n.invalid("found no optional");
  Imported value = n.imported(0);
  if (value.kind == Kind::Optional) {
    if (value.boxes)
      value = elementAt(n, value, n.intScalar(0));
    else if (value.elements.empty())
      return n.invalid("found an optional without an element");
    else
      value = Imported(value.elements[0]);
    if (value.kind == Kind::None)
      return failure();
  }
  n.set(0, std::move(value));
  return success();
}

constexpr OperatorImport table[] = {
    {"", "ConcatFromSequence", 11, 0, concat},
    {"", "Optional", 15, 0, optional},
    {"", "OptionalGetElement", 15, 0, optionalGetElement},
    {"", "OptionalHasElement", 15, 0, optionalHasElement},
    {"", "SequenceAt", 11, 0, at},
    {"", "SequenceConstruct", 11, 0, construct},
    {"", "SequenceEmpty", 11, 0, empty},
    {"", "SequenceErase", 11, 0, erase},
    {"", "SequenceInsert", 11, 0, insert},
    {"", "SequenceLength", 11, 0, length},
    {"", "SequenceMap", 17, 0, map},
    {"", "SplitToSequence", 11, 0, split},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::sequenceImports() { return table; }
