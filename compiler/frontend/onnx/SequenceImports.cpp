//===- SequenceImports.cpp - sequences and optionals ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences and optionals are lists that the importer keeps; nothing of them is
// left in the program. Their lengths, and positions in them, must so be known
// when the model is compiled.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

using Elements = std::vector<Imported>;

/// The sequence that input `i` is; null, with a report, where it is none.
const Elements *sequence(NodeImport &n, size_t i) {
  if (n.has(i) && n.imported(i).kind == Imported::Kind::Sequence)
    return &n.imported(i).elements;
  (void)n.unsupported("found an input whose sequence is not known when the "
                      "model is compiled; possible are sequences that the "
                      "model builds itself");
  return nullptr;
}

/// A constant position in [0, size), or [0, size] with `end`; reports.
std::optional<size_t> position(NodeImport &n, size_t input, size_t size,
                               bool end) {
  std::optional<SmallVector<int64_t>> given = n.constantInts(input);
  if (!given || given->empty())
    return std::nullopt;
  auto count = static_cast<int64_t>(size);
  int64_t at = (*given)[0] < 0 ? (*given)[0] + count : (*given)[0];
  if (at >= 0 && at < count + (end ? 1 : 0))
    return at;
  (void)n.invalid("found position " + Twine((*given)[0]) +
                  " in a sequence of " + Twine(count));
  return std::nullopt;
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
  const Elements *elements = sequence(n, 0);
  if (!elements)
    return failure();
  std::optional<size_t> place = position(n, 1, elements->size(), false);
  if (!place)
    return failure();
  n.set(0, (*elements)[*place]);
  return success();
}

LogicalResult insert(NodeImport &n) {
  const Elements *given = sequence(n, 0);
  if (!given)
    return failure();
  Elements elements = *given;
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
  const Elements *given = sequence(n, 0);
  if (!given)
    return failure();
  Elements elements = *given;
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
  const Elements *elements = sequence(n, 0);
  if (!elements)
    return failure();
  return n.result(n.intScalar(elements->size()));
}

LogicalResult split(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::optional<int64_t> axis = n.axis(n.i("axis"), n.rank(x));
  if (!axis)
    return failure();
  int64_t size = n.type(x).getDimSize(*axis);
  SmallVector<int64_t> sizes;
  bool keep = true;
  if (n.has(1)) {
    std::optional<SmallVector<int64_t>> given = n.constantInts(1);
    Value split = n.in(1);
    if (!given || !split)
      return failure();
    if (n.rank(split) == 1) {
      sizes = *given;
    } else if (ShapedType::isDynamic(size) || (*given)[0] < 1) {
      return n.unsupported("found a dimension of open size to split");
    } else {
      for (int64_t from = 0; from < size; from += (*given)[0])
        sizes.push_back(std::min((*given)[0], size - from));
    }
  } else {
    if (ShapedType::isDynamic(size) || size > 4096)
      return n.unsupported("found a dimension of open size to split");
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
  const Elements *elements = sequence(n, 0);
  if (!elements)
    return failure();
  SmallVector<Value> values;
  bool fresh = n.i("new_axis") != 0;
  for (const Imported &element : *elements) {
    if (element.kind != Imported::Kind::Tensor)
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

/// Applies a graph to the elements of sequences; other inputs go to all.
LogicalResult map(NodeImport &n) {
  const Elements *first = sequence(n, 0);
  if (!first)
    return failure();
  const Graph &body = *n.attr("body")->graphs[0];
  std::vector<Elements> outputs(n.outputCount());
  for (size_t i = 0; i < first->size(); ++i) {
    Elements inputs;
    for (size_t k = 0; k < n.inputCount(); ++k) {
      const Imported &input = n.imported(k);
      bool sequence = input.kind == Imported::Kind::Sequence;
      if (sequence && input.elements.size() != first->size())
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
  n.set(0, Imported::optional(std::move(elements)));
  return success();
}

LogicalResult optionalHasElement(NodeImport &n) {
  bool there = n.has(0) && (n.imported(0).kind != Imported::Kind::Optional ||
                            !n.imported(0).elements.empty());
  return n.result(n.scalar(n.b.getI1Type(), there));
}

LogicalResult optionalGetElement(NodeImport &n) {
  if (!n.has(0))
    return n.invalid("found no optional");
  Imported value = n.imported(0);
  if (value.kind == Imported::Kind::Optional) {
    if (value.elements.empty())
      return n.invalid("found an optional without an element");
    value = Imported(value.elements[0]);
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
