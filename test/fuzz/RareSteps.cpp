//===- RareSteps.cpp - empty tensors, sequences, strings ------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of kinds that most operations do not take. Each step makes some, works
// on them, and ends with a value that all others take.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/GraphBuilder.h"

#include <algorithm>
#include <cmath>

using namespace weir;
using namespace weir::fuzz;

/// x cut to nothing along an axis, by bounds that a run may give.
static Value cutToNothing(GraphBuilder &g, const Value &x, int64_t axis) {
  int64_t at = g.below(static_cast<uint32_t>(x.dims[axis] + 1));
  Dims dims = x.dims;
  dims[axis] = 0;
  return g.make("Slice",
                {x, g.integers({at}, Role::Run), g.integers({at}, Role::Run),
                 g.integers({axis}, Role::Parameter)},
                x.type, dims, x.bound, x.error);
}

/// One or two operations that have nothing to compute.
static Value worked(GraphBuilder &g, Value none) {
  for (uint32_t i = 0, n = 1 + g.below(2); i < n; ++i)
    switch (g.below(none.isFloat() ? 6 : 3)) {
    case 0:
      none = g.make("Add", {none, none}, none.type, none.dims, 2 * none.bound,
                    2 * none.error + 2 * none.bound * none.epsilon());
      break;
    case 1: {
      Dims order, dims;
      for (size_t axis = none.rank(); axis-- > 0;) {
        order.push_back(int64_t(axis));
        dims.push_back(none.dims[axis]);
      }
      none = g.make("Transpose", {none}, none.type, dims, none.bound, none.error,
                    {g.attribute("perm", order)});
      // And back, so that it goes with what it was cut from.
      std::reverse(dims.begin(), dims.end());
      none = g.make("Transpose", {none}, none.type, dims, none.bound, none.error,
                    {g.attribute("perm", order)});
      break;
    }
    case 2:
      none = g.make("Mul", {none, g.number(none.type, 1)}, none.type, none.dims, none.bound,
                    none.error + none.bound * none.epsilon());
      break;
    case 3:
      none = g.make("Tanh", {none}, none.type, none.dims, 1, none.error + 8 * none.epsilon());
      break;
    case 4:
      none = g.make("Softmax", {none}, none.type, none.dims, 1, none.error,
                    {g.attribute("axis", int64_t(g.below(uint32_t(none.rank()))))});
      break;
    default:
      none = g.make("Exp", {g.make("Tanh", {none}, none.type, none.dims, 1, 0)}, none.type,
                    none.dims, 3, none.error);
    }
  return none;
}

bool weir::fuzz::emptyStep(GraphBuilder &g) {
  auto x = g.find([&](const Value &v) {
    return v.rank() > 0 && v.rank() < 5 && v.count() > 0 && v.count() * 2 <= g.most() &&
           v.bound < 1e3 && (v.isFloat() || v.type == WEIR_I32 || v.type == WEIR_I64);
  });
  if (!x)
    return false;
  int64_t axis = g.below(static_cast<uint32_t>(x->rank()));
  Value none = worked(g, cutToNothing(g, *x, axis));
  switch (g.below(x->rank() == 2 && x->isFloat() ? 6 : 5)) {
  case 0: // nothing beside something
    return g.add(g.make("Concat", {*x, none}, x->type, x->dims, x->bound, x->error,
                        {g.attribute("axis", axis)}));
  case 1: { // a sum of no terms
    Dims dims = x->dims;
    dims.erase(dims.begin() + axis);
    Value sum = g.make("ReduceSum", {none, g.integers({axis}, Role::Parameter)}, x->type, dims, 0,
                       0, {g.attribute("keepdims", int64_t(0))});
    return g.add(sum);
  }
  case 2: { // a border around nothing
    Dims pads(2 * x->rank(), 0), dims = none.dims;
    pads[axis] = dims[axis] = 1 + g.below(3);
    return g.add(g.make("Pad", {none, g.integers(pads, Role::Run)}, x->type, dims, 0, 0));
  }
  case 3: // its sizes
    return g.add(g.make("Shape", {none}, WEIR_I64, {int64_t(x->rank())},
                        double(*std::max_element(none.dims.begin(), none.dims.end())), 0));
  case 4: { // none of its entries, picked and put back
    Value picked = g.make("Gather", {*x, g.integers({}, Role::Run)}, x->type, none.dims, x->bound,
                          x->error, {g.attribute("axis", axis)});
    return g.add(g.make("Concat", {picked, *x, none}, x->type, x->dims, x->bound, x->error,
                        {g.attribute("axis", axis)}));
  }
  default: { // a product over no terms
    Value turned = g.make("Transpose", {none}, none.type, {none.dims[1], none.dims[0]}, none.bound,
                          none.error, {g.attribute("perm", Dims{1, 0})});
    bool inner = axis == 1; // [n, 0] times [0, n]
    Value left = inner ? none : turned, right = inner ? turned : none;
    return g.add(g.make("MatMul", {left, right}, x->type, {left.dims[0], right.dims[1]}, 0, 0));
  }
  }
}

bool weir::fuzz::sequenceStep(GraphBuilder &g) {
  // SequenceConstruct takes no bf16.
  auto x = g.find([&](const Value &v) {
    return v.rank() > 0 && v.rank() < 5 && v.count() > 0 && v.count() * 3 <= g.most() &&
           v.type != WEIR_BF16;
  });
  if (!x)
    return false;
  // Elements of one rank and type, whose sizes may differ.
  std::vector<Value> elements{*x};
  while (elements.size() < 3 && !g.oneIn(3))
    if (auto other = g.find([&](const Value &v) {
          return v.type == x->type && v.rank() == x->rank() && v.count() > 0 &&
                 v.count() * 3 <= g.most();
        }))
      elements.push_back(*other);
  std::vector<std::string> names;
  for (const Value &element : elements)
    names.push_back(element.name);
  std::string list = g.node("SequenceConstruct", names)[0];
  // Positions that only the run knows make it a value of the program.
  auto position = [&](size_t at) {
    int64_t fromEnd = g.oneIn(3) ? int64_t(elements.size()) : 0;
    return g.integer(int64_t(at) - fromEnd, g.oneIn(2) ? Role::Run : Role::Parameter).name;
  };
  if (g.oneIn(2)) {
    Value extra = elements[g.below(uint32_t(elements.size()))];
    size_t at = g.below(uint32_t(elements.size()));
    list = g.node("SequenceInsert", {list, extra.name, position(at)})[0];
    elements.insert(elements.begin() + at, extra);
  }
  if (elements.size() > 1 && g.oneIn(2)) {
    size_t at = g.below(uint32_t(elements.size()));
    list = g.node("SequenceErase", {list, position(at)})[0];
    elements.erase(elements.begin() + at);
  }
  if (g.oneIn(4)) {
    Value length{g.node("SequenceLength", {list})[0], WEIR_I64, {}, double(elements.size()), 0};
    return g.add(length);
  }
  // Joined, where all but one size agree.
  int64_t axis = g.below(uint32_t(x->rank()));
  Value joined = elements[0];
  bool fits = g.oneIn(2);
  for (size_t i = 1; i < elements.size(); ++i) {
    Dims other = elements[i].dims;
    joined.dims[axis] += other[axis];
    other[axis] = joined.dims[axis];
    fits &= other == joined.dims;
    joined.bound = std::max(joined.bound, elements[i].bound);
    joined.error = std::max(joined.error, elements[i].error);
  }
  if (fits) {
    joined.name = g.node("ConcatFromSequence", {list}, {g.attribute("axis", axis)})[0];
    return g.add(joined);
  }
  size_t at = g.below(uint32_t(elements.size()));
  Value taken = elements[at];
  taken.name = g.node("SequenceAt", {list, position(at)})[0];
  return g.add(taken);
}

bool weir::fuzz::stringStep(GraphBuilder &g) {
  auto x = g.find([&](const Value &v) {
    return v.isExact() && v.rank() < 5 && v.count() > 0 && v.count() <= 512 &&
           (v.type == WEIR_I32 || v.type == WEIR_I64);
  });
  if (!x)
    return false;
  auto cast = [&](const Value &v, int32_t type) {
    return g.make("Cast", {v}, type, v.dims, v.bound, 0, {g.attribute("to", int64_t(type))});
  };
  Value text = cast(*x, WEIR_STRING);
  Dims flat{x->count()};
  switch (g.below(3)) {
  case 0: { // moved, and read again
    Value moved =
        g.make("Reshape", {text, g.integers({-1}, Role::Run)}, WEIR_STRING, flat, x->bound, 0);
    Value picked = g.make("Gather", {moved, g.integers({flat[0] - 1, 0}, Role::Run)}, WEIR_STRING,
                          {2}, x->bound, 0);
    return g.add(cast(picked, WEIR_I64));
  }
  case 1: { // equal to itself, and hardly to something longer
    Value longer = g.make("StringConcat", {text, text}, WEIR_STRING, x->dims, 0, 0);
    return g.add(g.make("Equal", {g.oneIn(2) ? text : longer, text}, WEIR_BOOL, x->dims, 1, 0));
  }
  default: { // read back, it is what it was
    Value back = cast(text, WEIR_I64);
    return g.add(g.make("Sub", {back, cast(*x, WEIR_I64)}, WEIR_I64, x->dims, 0, 0));
  }
  }
}
