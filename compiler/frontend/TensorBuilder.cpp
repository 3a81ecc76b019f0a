//===- TensorBuilder.cpp - short ways to write weir operations ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/TensorBuilder.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weir;
using namespace weir::frontend;

SmallVector<int64_t> weir::frontend::axesFrom(int64_t first, int64_t end) {
  SmallVector<int64_t> axes;
  for (int64_t axis = first; axis < end; ++axis)
    axes.push_back(axis);
  return axes;
}

std::optional<int64_t> weir::frontend::productOf(ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return 0;
  int64_t product = 1;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(product, size, product))
      return std::nullopt;
  return product;
}

bool weir::frontend::canBe(ArrayRef<int64_t> sizes) {
  constexpr int64_t most = int64_t(1) << 48;
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size) || size == 0)
      continue;
    if (size < 0 || size > most || product > most / size)
      return false;
    product *= size;
  }
  return true;
}

bool TensorBuilder::arePossible(TypeRange types) {
  for (Type each : types)
    if (auto tensor = dyn_cast_if_present<RankedTensorType>(each))
      if (!canBe(tensor.getShape())) {
        emitError(loc) << "makes a tensor of more than 2^48 elements: " << tensor;
        return false;
      }
  return true;
}

bool TensorBuilder::isString(Value v) { return isa_and_nonnull<StringType>(element(v)); }

Value TensorBuilder::constant(TypedAttr value) { return ConstantOp::create(b, loc, value); }

Value TensorBuilder::ints(Ints values) {
  return constant(DenseElementsAttr::get(
      RankedTensorType::get({static_cast<int64_t>(values.size())}, b.getI64Type()), values));
}

Value TensorBuilder::intScalar(int64_t value) { return scalar(b.getI64Type(), value); }

Value TensorBuilder::scalar(Type element, double value) { return splat(element, {}, value); }

namespace {
/// A scalar of a numeric type as an attribute, for DenseElementsAttr.
Attribute scalarAttribute(OpBuilder &b, Type element, double value) {
  if (auto floating = dyn_cast<FloatType>(element)) {
    APFloat number(value);
    bool lost;
    number.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    return FloatAttr::get(floating, number);
  }
  if (auto integer = dyn_cast<IntegerType>(element)) {
    // Limits of unsigned 64 bits do not fit a signed conversion. Infinities become
    // limits, as attributes of a file may ask for them in any type.
    llvm::APSInt number(64, /*isUnsigned=*/value >= 0);
    bool isExact;
    APFloat(value).convertToInteger(number, APFloat::rmTowardZero, &isExact);
    return IntegerAttr::get(element, number.zextOrTrunc(integer.getWidth()));
  }
  return {};
}
} // namespace

Value TensorBuilder::splat(Type element, Ints shape, double value) {
  if (!element)
    return {};
  auto type = RankedTensorType::get(shape, element);
  if (!arePossible(type))
    return {};
  if (isa<StringType>(element) && value == 0)
    return constant(DenseElementsAttr::get(type, ArrayRef<StringRef>{StringRef()}));
  if (auto complex = dyn_cast<ComplexType>(element)) {
    auto real = cast<FloatAttr>(scalarAttribute(b, complex.getElementType(), value));
    auto zero = cast<FloatAttr>(scalarAttribute(b, complex.getElementType(), 0));
    return constant(
        DenseElementsAttr::get(type, std::complex<APFloat>(real.getValue(), zero.getValue())));
  }
  Attribute attr = scalarAttribute(b, element, value);
  return attr ? constant(DenseElementsAttr::get(type, attr)) : Value();
}

Value TensorBuilder::strings(ArrayRef<StringRef> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, StringType::get(b.getContext()));
  return constant(DenseElementsAttr::get(type, values));
}

Value TensorBuilder::stringScalar(StringRef value) {
  auto type = RankedTensorType::get({}, StringType::get(b.getContext()));
  return constant(DenseElementsAttr::get(type, ArrayRef<StringRef>{value}));
}

Operation *TensorBuilder::kernelCall(StringRef kernel, TypeRange results, ValueRange operands,
                                     Ints parameters, bool isPure) {
  if (isNull(operands))
    return nullptr;
  return CustomCallOp::create(b, loc, results, operands, text(kernel), list(parameters),
                              flag(isPure));
}

Value TensorBuilder::equalStrings(Value x, Value y) {
  SmallVector<Type> types;
  if (!x || !y || failed(weir::detail::inferBroadcast(loc, {x, y}, b.getI1Type(), types)))
    return {};
  return kernelCall("weir_kernel_string_equal", types, {x, y})->getResult(0);
}

Value TensorBuilder::like(Value v, double value) { return v ? scalar(element(v), value) : Value(); }

Value TensorBuilder::floats(ArrayRef<double> values, Type element) {
  if (!element)
    return {};
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, element);
  // Tables may be large: no attribute for each of their elements.
  if (element.isF64())
    return constant(DenseElementsAttr::get(type, values));
  if (element.isF32())
    return constant(
        DenseElementsAttr::get(type, ArrayRef(std::vector<float>(values.begin(), values.end()))));
  SmallVector<Attribute> attrs;
  for (double value : values)
    if (Attribute attr = scalarAttribute(b, element, value))
      attrs.push_back(attr);
    else
      return {};
  return constant(DenseElementsAttr::get(type, attrs));
}

Value TensorBuilder::shapeOf(Value v) {
  if (!v)
    return {};
  if (isStatic(v))
    return ints(sizes(v));
  return op<ShapeOfOp>(v, typeAttr(b.getI64Type()));
}

Value TensorBuilder::sizeOf(Value v, int64_t dim) { return shapeSlice(v, dim, dim + 1); }

Value TensorBuilder::shapeSlice(Value v, int64_t begin, int64_t end) {
  if (begin < 0 || end < begin || end > rank(v))
    return {};
  Ints sizes = this->sizes(v).slice(begin, end - begin);
  if (llvm::none_of(sizes, ShapedType::isDynamic))
    return ints(sizes);
  Value shape = op<ShapeOfOp>(v, typeAttr(b.getI64Type()));
  if (begin == 0 && end == rank(v))
    return shape;
  return slice(shape, 0, begin, end);
}

Value TensorBuilder::sizeProduct(Value v, int64_t begin, int64_t end) {
  if (begin < 0 || end < begin || end > rank(v))
    return {};
  Ints sizes = this->sizes(v).slice(begin, end - begin);
  if (llvm::none_of(sizes, ShapedType::isDynamic)) {
    auto product = productOf(sizes);
    return product ? ints({*product}) : Value();
  }
  return reduce(shapeSlice(v, begin, end), "prod", {0}, true);
}

Value TensorBuilder::reshape(Value v, Ints shape) {
  if (!v)
    return {};
  if (isStatic(v) && sizes(v) == shape)
    return v;
  return reshapeTo(v, ints(shape));
}

Value TensorBuilder::unsqueeze(Value v, Ints axes) {
  RankedTensorType source = type(v);
  if (!source || axes.empty())
    return source ? v : Value();
  int64_t resultRank = source.getRank() + static_cast<int64_t>(axes.size());
  SmallVector<int64_t> shape;
  int64_t next = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= resultRank || llvm::is_contained(axes.drop_front(i + 1), axes[i]))
      return {};
  for (int64_t i = 0; i < resultRank; ++i)
    shape.push_back(llvm::is_contained(axes, i) ? 1 : source.getDimSize(next++));
  auto dynamic = llvm::count_if(shape, ShapedType::isDynamic);
  if (dynamic == 0)
    return reshape(v, shape);
  if (dynamic == 1 && !llvm::is_contained(shape, 0)) {
    llvm::replace(shape, ShapedType::kDynamic, int64_t(-1));
    return reshape(v, shape);
  }
  SmallVector<Value> parts;
  next = 0;
  for (int64_t i = 0; i < resultRank; ++i)
    parts.push_back(llvm::is_contained(axes, i) ? ints({1}) : sizeOf(v, next++));
  return reshapeTo(v, concat(parts, 0));
}

Value TensorBuilder::squeeze(Value v, Ints axes) {
  RankedTensorType source = type(v);
  if (!source || axes.empty())
    return source ? v : Value();
  SmallVector<int64_t> shape;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < source.getRank(); ++i)
    if (!llvm::is_contained(axes, i))
      shape.push_back(source.getDimSize(i));
  auto dynamic = llvm::count_if(shape, ShapedType::isDynamic);
  if (dynamic == 0)
    return reshape(v, shape);
  if (dynamic == 1 && !llvm::is_contained(shape, 0)) {
    llvm::replace(shape, ShapedType::kDynamic, int64_t(-1));
    return reshape(v, shape);
  }
  for (int64_t i = 0; i < source.getRank(); ++i)
    if (!llvm::is_contained(axes, i))
      parts.push_back(sizeOf(v, i));
  return reshapeTo(v, concat(parts, 0));
}

Value TensorBuilder::expandTo(Value v, Value shape) { return op<BroadcastToOp>(v, shape); }

Value TensorBuilder::tuplesOfKnownLength(Value to, Value indices, Value updates) {
  if (!to || !indices || !updates || rank(indices) == 0 ||
      !type(indices).isDynamicDim(rank(indices) - 1))
    return indices;
  int64_t last = rank(indices) - 1, length = last + rank(to) - rank(updates);
  if (length < 0 || length > rank(to))
    return {};
  return reshapeTo(indices, concat({shapeSlice(indices, 0, last), ints({length})}, 0));
}

Value TensorBuilder::concat(ArrayRef<Value> values, int64_t axis) {
  if (values.empty()) // the sizes of a scalar
    return ints({});
  if (values.size() == 1)
    return values[0];
  return op<ConcatOp>(ValueRange(values), number(axis));
}

Value TensorBuilder::transpose(Value v, Ints permutation) {
  if (v && llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return v;
  return op<TransposeOp>(v, list(permutation));
}

Value TensorBuilder::slice(Value v, int64_t axis, int64_t start, int64_t end) {
  return op<SliceOp>(v, ints({start}), ints({end}), ints({1}), list({axis}), flag(false));
}

Value TensorBuilder::pick(Value v, int64_t axis, int64_t index) {
  return gather(v, intScalar(index), axis);
}

Value TensorBuilder::gather(Value v, Value indices, int64_t axis) {
  return op<GatherOp>(v, indices, number(axis), number(0), flag(true));
}

Value TensorBuilder::reduce(Value v, StringRef kind, Ints axes, bool keepDims) {
  return op<ReduceOp>(v, text(kind), list(axes), flag(keepDims));
}

Value TensorBuilder::softmax(Value v, int64_t axis, bool log) {
  return op<SoftmaxOp>(v, number(axis), flag(log));
}

Value TensorBuilder::cast(Value v, Type element, bool saturate) {
  if (!v || !element)
    return {};
  if (this->element(v) == element)
    return v;
  return CastOp::create(b, loc, cast<TensorType>(v.getType()).clone(element), v, flag(saturate));
}

Value TensorBuilder::widen(Value v) {
  if (!v)
    return {};
  auto floating = dyn_cast<FloatType>(element(v));
  return floating && floating.getWidth() < 32 ? cast(v, b.getF32Type()) : v;
}

Value TensorBuilder::besideReals(Value v) {
  return !v || isFloat(v) ? widen(v) : cast(v, b.getF64Type());
}

Value TensorBuilder::matmul(Value x, Value y, Type accumulator) {
  if (!x || !y)
    return {};
  if (!accumulator)
    accumulator = element(x);
  int64_t xRank = rank(x), yRank = rank(y);
  if (xRank < 1 || yRank < 1)
    return {};
  // Vectors become matrices of one row or column, dropped again at the end.
  if (xRank == 1)
    x = unsqueeze(x, {0});
  if (yRank == 1)
    y = unsqueeze(y, {1});
  if (!x || !y)
    return {};
  int64_t resultRank = std::max(rank(x), rank(y));
  int64_t batch = resultRank - 2;
  if (rank(y) == 2 || (rank(x) == 2 && batch == 0)) {
    // One matrix for all of x: no batch, x's rows are free dimensions.
    Value result = op<DotGeneralOp>(x, y, list({}), list({}), list({rank(x) - 1}), list({0}),
                                    typeAttr(accumulator));
    if (!result)
      return {};
    SmallVector<int64_t> dropped;
    if (xRank == 1)
      dropped.push_back(rank(result) - 2);
    if (yRank == 1)
      dropped.push_back(rank(result) - 1);
    return squeeze(result, dropped);
  }
  auto batchSizes = [&](Value v) {
    SmallVector<int64_t> sizes(batch - (rank(v) - 2), 1);
    llvm::append_range(sizes, this->sizes(v).drop_back(2));
    return sizes;
  };
  SmallVector<int64_t> xs = batchSizes(x), ys = batchSizes(y);
  x = unsqueeze(x, axesFrom(0, resultRank - rank(x)));
  y = unsqueeze(y, axesFrom(0, resultRank - rank(y)));
  auto spread = [&](Value v, SmallVector<int64_t> &own, SmallVector<int64_t> &other,
                    Value partner) -> Value {
    if (!v || !partner || (own == other && !llvm::is_contained(own, ShapedType::kDynamic)))
      return v;
    SmallVector<Value> sizes;
    for (int64_t i = 0; i < batch; ++i) {
      if (own[i] == 1)
        sizes.push_back(sizeOf(partner, i));
      else if (!ShapedType::isDynamic(own[i]) || other[i] == 1)
        sizes.push_back(sizeOf(v, i));
      else if (!ShapedType::isDynamic(other[i]))
        sizes.push_back(ints({other[i]}));
      else { // Either may be 1 at run time. Sizes that are equal fold to one.
        Value size = sizeOf(v, i);
        sizes.push_back(select(compare("eq", size, 1), sizeOf(partner, i), size));
      }
    }
    sizes.push_back(shapeSlice(v, batch, resultRank));
    return expandTo(v, concat(sizes, 0));
  };
  Value wideX = spread(x, xs, ys, y), wideY = spread(y, ys, xs, x);
  Value result =
      op<DotGeneralOp>(wideX, wideY, list(axesFrom(0, batch)), list(axesFrom(0, batch)),
                       list({resultRank - 1}), list({resultRank - 2}), typeAttr(accumulator));
  SmallVector<int64_t> dropped;
  if (xRank == 1)
    dropped.push_back(resultRank - 2);
  if (yRank == 1)
    dropped.push_back(resultRank - 1);
  return squeeze(result, dropped);
}
