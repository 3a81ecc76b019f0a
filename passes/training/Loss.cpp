//===- Loss.cpp - what training makes small -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/SizeOrigins.h"
#include "passes/training/Training.h"

using namespace mlir;
using namespace weir;
using namespace weir::training;

namespace {

constexpr int64_t invalidArgument = 3; // WEIR_INVALID_ARGUMENT

InFlightDiagnostic error(Value v) { return emitError(UnknownLoc::get(v.getContext())); }

std::string textOf(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : type.getShape())
    os << (ShapedType::isDynamic(size) ? "?" : std::to_string(size)) << "x";
  os << type.getElementType();
  return text;
}

IntVector upTo(int64_t rank) {
  IntVector axes(rank);
  for (int64_t i = 0; i < rank; ++i)
    axes[i] = i;
  return axes;
}

/// The argument of `function` of that name, or null.
Value feedOf(func::FuncOp function, StringRef name) {
  for (BlockArgument argument : function.getArguments())
    if (auto own = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "weir.name"))
      if (own == name)
        return argument;
  return {};
}

/// What a feed's dimensions are called, and their bounds.
struct Dims {
  SmallVector<std::string> names;
  SmallVector<int64_t> lower, upper;

  Dims(func::FuncOp function, BlockArgument argument) {
    auto type = cast<RankedTensorType>(argument.getType());
    auto numbers = [&](StringRef name, int64_t otherwise, SmallVector<int64_t> &to) {
      to.assign(type.getRank(), otherwise);
      if (auto all = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), name))
        for (auto [number, one] : llvm::zip(to, all.getAsRange<IntegerAttr>()))
          number = one.getInt();
    };
    numbers("weir.lower", 0, lower);
    numbers("weir.upper", -1, upper);
    names.assign(type.getRank(), "");
    if (auto all = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "weir.dims"))
      for (auto [name, one] : llvm::zip(names, all.getAsRange<StringAttr>()))
        name = one.str();
  }
  explicit Dims(int64_t rank) : names(rank, ""), lower(rank, 0), upper(rank, -1) {}

  SmallVector<NamedAttribute> attributes(Builder b) const {
    SmallVector<StringRef> texts(names.begin(), names.end());
    return {b.getNamedAttr("weir.dims", b.getStrArrayAttr(texts)),
            b.getNamedAttr("weir.lower", b.getI64ArrayAttr(lower)),
            b.getNamedAttr("weir.upper", b.getI64ArrayAttr(upper))};
  }
};

/// A new feed whose dimensions are those `axes` of `like`: where a feed's dimension is
/// what one comes from, both get one name, and the run refuses sizes that differ.
Value addFeedLike(func::FuncOp function, StringRef name, Value like, Ints axes, Type element) {
  SizeOrigins origins;
  origins.takeFeeds(function);
  Builder b(function.getContext());
  Dims dims(axes.size());
  SmallVector<int64_t> shape;
  for (auto [at, axis] : llvm::enumerate(axes)) {
    shape.push_back(Adjoint::type(like).getDimSize(axis));
    if (!ShapedType::isDynamic(shape.back()))
      continue;
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      for (int64_t i = 0; type && dims.names[at].empty() && i < type.getRank(); ++i) {
        if (!type.isDynamicDim(i) || !origins.areEqual(like, axis, argument, i))
          continue;
        Dims own(function, argument);
        if (own.names[i].empty()) {
          auto called = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "weir.name");
          own.names[i] = (called ? called.str() : "feed") + "." + std::to_string(i);
          for (NamedAttribute attribute : own.attributes(b))
            function.setArgAttr(argument.getArgNumber(), attribute.getName(), attribute.getValue());
        }
        dims.names[at] = own.names[i];
        dims.lower[at] = own.lower[i];
        dims.upper[at] = own.upper[i];
      }
    }
  }
  auto type = RankedTensorType::get(shape, element);
  return addFeed(function, name, type,
                 type.hasStaticShape() ? SmallVector<NamedAttribute>() : dims.attributes(b));
}

/// Ends the run unless both have the same sizes, where types do not say so. False after
/// an error where they say otherwise.
bool areOfSizes(Value labels, Value like, Ints axes, StringRef name, Adjoint &a) {
  Ints mine = Adjoint::type(labels).getShape();
  bool isKnown = mine.size() == axes.size(), fits = isKnown;
  for (size_t i = 0; i < axes.size() && fits; ++i) {
    int64_t wanted = Adjoint::type(like).getDimSize(axes[i]);
    bool isOpen = ShapedType::isDynamic(wanted) || ShapedType::isDynamic(mine[i]);
    fits = isOpen || wanted == mine[i];
    isKnown &= !isOpen;
  }
  if (!fits) {
    error(like) << "W0413: found feed \"" << name << "\" of type " << textOf(Adjoint::type(labels))
                << " for an output of type " << textOf(Adjoint::type(like))
                << "; possible: the output's sizes, for numbers of classes without that of classes";
    return false;
  }
  if (isKnown)
    return true;
  SmallVector<Value> sizes = {a.ints({})};
  for (int64_t axis : axes)
    sizes.push_back(a.sizes(like, axis, axis + 1));
  AssertOp::create(a.b, a.loc, TokenType::get(a.b.getContext()),
                   a.compare("eq", a.shapeOf(labels), a.concat(sizes, 0)),
                   a.b.getStringAttr("labels of other sizes than the model's output"),
                   a.b.getI64IntegerAttr(invalidArgument), ValueRange());
  return true;
}

/// A part's share of a mean over the whole batch.
Value shareOf(Value mean, const TrainingSpec &spec, Adjoint &a) {
  return spec.parts() > 1 ? a.over(mean, a.number(mean, double(spec.parts()))) : mean;
}

/// The logarithm of the probability of each row's label, 0 of a negative one; `labels` have a
/// dimension of 1 at `axis`, along which `numbers` count. What is
/// differentiated goes by a tensor of all logarithms, which the gradient is computed of; without
/// one only numbers of rows are kept.
Value pickedLogs(Value logits, Value labels, Value numbers, int64_t axis, bool isTrained,
                 Adjoint &a) {
  if (isTrained) {
    Value logs = a.op<SoftmaxOp>(logits, axis, true);
    return a.reduce(a.where(a.compare("eq", labels, numbers), logs), ReduceKind::Sum, {axis},
                    false);
  }
  Value largest = a.reduce(logits, ReduceKind::Max, {axis}, true);
  Value sum = a.reduce(a.op<ExpOp>(a.minus(logits, largest)), ReduceKind::Sum, {axis}, true);
  Value zero = a.number(labels, 0);
  Value own = a.op<GatherElementsOp>(logits, a.op<MaximumOp>(labels, zero), axis, false);
  Value log = a.minus(a.minus(own, largest), a.op<LogOp>(sum));
  log = a.where(a.compare("ge", labels, zero), log);
  return a.reduce(log, ReduceKind::Sum, {axis}, false);
}

/// The mean over rows of minus the logarithm of the probability of the label; of all
/// rows of the batch, the part that the own ones have in it. Rows of a negative label do not
/// count.
Value ofClasses(Value logits, Value labels, int64_t axis, const TrainingSpec &spec, bool isTrained,
                Adjoint &a) {
  int64_t rank = Adjoint::rank(logits);
  Value classes = a.sizes(logits, axis, axis + 1);
  SmallVector<Value> column = {a.ints({})}, row = {a.ints({})};
  for (int64_t i = 0; i < rank; ++i) {
    column.push_back(i == axis  ? a.ints({1})
                     : i < axis ? a.sizes(labels, i, i + 1)
                                : a.sizes(labels, i - 1, i));
    row.push_back(i == axis ? classes : a.ints({1}));
  }
  Type index = Adjoint::type(labels).getElementType();
  AssertOp::create(
      a.b, a.loc, TokenType::get(a.b.getContext()),
      a.compare("lt", a.cast(labels, a.b.getI64Type()), a.reshape(classes, a.ints({}))),
      a.b.getStringAttr("a label that is no class: numbers from 0 to below their count, "
                        "negative ones for what does not count"),
      a.b.getI64IntegerAttr(invalidArgument), ValueRange());
  Value numbers = a.op<IotaOp>(a.concat(row, 0), axis, index);
  Value picked =
      pickedLogs(logits, a.reshape(labels, a.concat(column, 0)), numbers, axis, isTrained, a);
  Value counts =
      a.cast(a.compare("ge", labels, a.number(labels, 0)), Adjoint::type(logits).getElementType());
  Value count = sumOverBatch(a.reduce(counts, ReduceKind::Sum, upTo(rank - 1), false), spec, a);
  count = a.op<MaximumOp>(count, a.number(count, 1));
  Value sum = a.reduce(picked, ReduceKind::Sum, upTo(rank - 1), false);
  return a.op<NegOp>(a.over(sum, count));
}

Value crossEntropy(func::FuncOp function, const TrainingSpec &spec, Value logits, bool isTrained,
                   Adjoint &a) {
  int64_t rank = Adjoint::rank(logits), axis = spec.axis < 0 ? spec.axis + rank : spec.axis;
  if (axis < 0 || axis >= rank) {
    error(logits) << "W0413: found axis " << spec.axis << " of classes in output \"" << spec.output
                  << "\" of type " << textOf(Adjoint::type(logits))
                  << "; possible: one of its dimensions";
    return {};
  }
  Type named = spec.labelType == "i32"   ? Type(a.b.getI32Type())
               : spec.labelType == "f32" ? Type(a.b.getF32Type())
                                         : Type(a.b.getI64Type());
  IntVector rows = upTo(rank);
  Value labels = feedOf(function, spec.labels);
  bool areChances = isa<FloatType>(labels ? Adjoint::type(labels).getElementType() : named);
  if (!areChances)
    rows.erase(rows.begin() + axis);
  if (!labels)
    labels = addFeedLike(function, spec.labels, logits, rows, named);
  if (!areOfSizes(labels, logits, rows, spec.labels, a))
    return {};
  if (!areChances)
    return ofClasses(logits, labels, axis, spec, isTrained, a);
  Value logs = a.op<SoftmaxOp>(logits, axis, true);
  Value wide = a.cast(labels, Adjoint::type(logs).getElementType());
  Value sums = a.reduce(a.times(wide, logs), ReduceKind::Sum, {axis}, false);
  return shareOf(a.op<NegOp>(a.reduce(sums, ReduceKind::Mean, upTo(rank - 1), false)), spec, a);
}

Value meanSquares(func::FuncOp function, const TrainingSpec &spec, Value y, Adjoint &a) {
  IntVector all = upTo(Adjoint::rank(y));
  Value target = feedOf(function, spec.labels);
  if (!target)
    target = addFeedLike(function, spec.labels, y, all, Adjoint::type(y).getElementType());
  if (!areOfSizes(target, y, all, spec.labels, a))
    return {};
  Value distance = a.minus(y, a.cast(target, Adjoint::type(y).getElementType()));
  return shareOf(a.reduce(a.square(distance), ReduceKind::Mean, all, false), spec, a);
}

} // namespace

Value training::addFeed(func::FuncOp function, StringRef name, Type type,
                        ArrayRef<NamedAttribute> attributes) {
  Builder b(function.getContext());
  SmallVector<NamedAttribute> all(attributes);
  all.push_back(b.getNamedAttr("weir.name", b.getStringAttr(name)));
  unsigned at = function.getNumArguments();
  (void)function.insertArgument(at, type, b.getDictionaryAttr(all), function.getLoc());
  return function.getArgument(at);
}

/// A gate that stands for something else, as `mark` says.
static Value marked(Value value, StringRef mark, Adjoint &a) {
  auto gate = GateOp::create(a.b, a.loc, value.getType(), value, ValueRange());
  gate->setAttr(mark, a.b.getUnitAttr());
  return gate;
}

Value training::sumOverReplicas(Value value, int64_t replicas, Adjoint &a) {
  return replicas < 2 ? value : marked(value, replicaSumAttr, a);
}

Value training::sumOverBatch(Value value, const TrainingSpec &spec, Adjoint &a) {
  if (spec.microBatches > 1)
    value = marked(value, microSumAttr, a);
  return sumOverReplicas(value, spec.replicas, a);
}

Value training::buildLoss(func::FuncOp function, const TrainingSpec &spec, Value output,
                          bool isTrained, Adjoint &a) {
  auto type = dyn_cast<RankedTensorType>(output.getType());
  if (!type || !isa<FloatType>(type.getElementType())) {
    error(output) << "W0411: found output \"" << spec.output
                  << "\" to be no tensor of floats; possible: one of floats to train by";
    return {};
  }
  if (type.getElementType().getIntOrFloatBitWidth() < 32)
    output = a.cast(output, a.b.getF32Type());
  if (spec.loss == "cross_entropy")
    return crossEntropy(function, spec, output, isTrained, a);
  if (spec.loss == "mse")
    return meanSquares(function, spec, output, a);
  if (!type.hasStaticShape() || type.getNumElements() != 1) {
    error(output) << "W0411: found loss \"" << spec.output << "\" of type " << textOf(type)
                  << "; possible: a value of one element, or --train=cross_entropy:…, mse:… of "
                     "an output";
    return {};
  }
  return shareOf(a.reshape(output, a.ints({})), spec, a);
}
