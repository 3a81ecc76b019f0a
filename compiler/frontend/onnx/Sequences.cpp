//===- Sequences.cpp - sequences that programs compute --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Sequences.h"
#include "compiler/frontend/onnx/Model.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

using Kind = Imported::Kind;

/// Numbers of element types as kernels take them: ONNX's, and one for boxes
/// (weir_dtype in runtime/include/weir/weir.h).
static constexpr int64_t lastDataType = 26, boxDataType = 64;

//===----------------------------------------------------------------------===//
// What is known of elements
//===----------------------------------------------------------------------===//

Info weir::onnx::infoOf(MLIRContext *context, const TypeInfo &declared) {
  auto info = std::make_shared<ElementInfo>();
  switch (declared.kind) {
  case TypeInfo::Kind::Tensor:
    info->element = elementType(context, declared.elementType);
    if (!info->element)
      return nullptr;
    info->ranked = declared.hasShape;
    for (const Dim &dim : declared.shape)
      info->shape.push_back(dim.size < 0 ? ShapedType::kDynamic : dim.size);
    return info;
  case TypeInfo::Kind::Sequence:
  case TypeInfo::Kind::Optional:
    info->kind = declared.kind == TypeInfo::Kind::Sequence ? Kind::Sequence : Kind::Optional;
    info->inner = declared.element ? infoOf(context, *declared.element) : nullptr;
    return info->inner ? info : nullptr;
  default:
    return nullptr;
  }
}

/// What is known of the elements of a list.
static Info elementsOf(const Imported &value) {
  if (value.boxes || value.elements.empty())
    return value.info;
  Info joined = infoOf(value.elements[0]);
  for (const Imported &element : ArrayRef(value.elements).drop_front())
    joined = joinInfo(joined, infoOf(element));
  return joined;
}

Info weir::onnx::infoOf(const Imported &value) {
  auto info = std::make_shared<ElementInfo>();
  info->kind = value.kind;
  if (value.kind == Kind::Tensor) {
    auto type = cast<RankedTensorType>(value.tensor.getType());
    info->element = type.getElementType();
    info->ranked = true;
    info->shape.assign(type.getShape().begin(), type.getShape().end());
  } else {
    info->inner = elementsOf(value);
  }
  return info;
}

/// An empty list says nothing of its elements: joins what may be null.
static Info joinInner(const Info &x, const Info &y) { return !x ? y : !y ? x : joinInfo(x, y); }

Info weir::onnx::joinInfo(const Info &x, const Info &y) {
  if (!x || !y || x->kind != y->kind)
    return nullptr;
  auto info = std::make_shared<ElementInfo>(*x);
  if (x->kind != Kind::Tensor) {
    info->inner = joinInner(x->inner, y->inner);
    return info;
  }
  if (x->element != y->element)
    return nullptr;
  info->ranked = x->ranked && y->ranked && x->shape.size() == y->shape.size();
  if (!info->ranked)
    info->shape.clear();
  for (auto [size, other] : llvm::zip(info->shape, y->shape))
    if (size != other)
      size = ShapedType::kDynamic;
  return info;
}

bool weir::onnx::sameInfo(const Info &x, const Info &y) {
  if (!x || !y)
    return !x && !y;
  return x->kind == y->kind && x->element == y->element && x->ranked == y->ranked &&
         x->shape == y->shape && sameInfo(x->inner, y->inner);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

RankedTensorType weir::onnx::boxesType(MLIRContext *context) {
  return RankedTensorType::get({ShapedType::kDynamic}, BoxType::get(context));
}

Operation *weir::onnx::callKernel(TensorBuilder &t, StringRef kernel, TypeRange results,
                                  ValueRange operands, Ints parameters) {
  return CustomCallOp::create(t.b, t.loc, results, operands, t.text(kernel), t.list(parameters),
                              t.flag(true));
}

static Value callForBoxes(TensorBuilder &t, StringRef kernel, ArrayRef<Value> operands,
                          Ints parameters = {}) {
  for (Value operand : operands)
    if (!operand)
      return {};
  return callKernel(t, kernel, boxesType(t.b.getContext()), operands, parameters)->getResult(0);
}

/// (dtype, rank, sizes…), as the kernels take it.
static void appendType(const ElementInfo &info, SmallVectorImpl<int64_t> &to) {
  if (info.kind != Kind::Tensor) {
    to.append({boxDataType, 1, -1});
    return;
  }
  int64_t dtype = 0;
  for (int64_t number = 1; number <= lastDataType; ++number)
    if (elementType(info.element.getContext(), DataType(number)) == info.element)
      dtype = number;
  to.append({dtype, info.ranked ? int64_t(info.shape.size()) : -1});
  for (int64_t size : info.shape)
    to.push_back(ShapedType::isDynamic(size) ? -1 : size);
}

/// The value that goes into a box: a tensor, or a nested sequence's boxes.
static Value contentOf(TensorBuilder &t, const Imported &value) {
  return value.kind == Kind::Tensor ? value.tensor : toBoxes(t, value);
}

Value weir::onnx::toBoxes(TensorBuilder &t, const Imported &value) {
  if (value.boxes)
    return value.boxes;
  Values contents;
  for (const Imported &element : value.elements)
    contents.push_back(contentOf(t, element));
  return callForBoxes(t, "weir_kernel_sequence_construct", contents);
}

Imported weir::onnx::boxed(TensorBuilder &t, const Imported &value) {
  if (value.kind != Kind::Sequence && value.kind != Kind::Optional)
    return value;
  return Imported::computed(value.kind, toBoxes(t, value), elementsOf(value));
}

Imported weir::onnx::elementAt(NodeImport &n, const Imported &sequence, Value position) {
  const Info &info = sequence.info;
  if (!info || (info->kind == Kind::Tensor && !info->ranked)) {
    (void)n.unsupported("expected a sequence whose elements have equal ranks, declared for inputs, "
                        "got one without a known type and rank");
    return {};
  }
  if (!position || !sequence.boxes)
    return {};
  bool isTensor = info->kind == Kind::Tensor;
  Type type =
      isTensor ? RankedTensorType::get(info->shape, info->element) : boxesType(n.b.getContext());
  SmallVector<int64_t> parameters = {sequence.kind == Kind::Optional};
  appendType(*info, parameters);
  Value made =
      callKernel(n, "weir_kernel_sequence_at", type, {sequence.boxes, position}, parameters)
          ->getResult(0);
  return isTensor ? Imported(made) : Imported::computed(info->kind, made, info->inner);
}

Value weir::onnx::insertBox(TensorBuilder &t, Value boxes, const Imported &element,
                            Value position) {
  Values operands = {boxes, contentOf(t, element)};
  if (position)
    operands.push_back(position);
  return callForBoxes(t, "weir_kernel_sequence_insert", operands);
}

Value weir::onnx::concatBoxes(NodeImport &n, Value boxes, const Info &info, int64_t axis,
                              bool fresh, bool mayBeEmpty) {
  if (!info || info->kind != Kind::Tensor || !info->ranked)
    return (void)n.unsupported("expected tensors of equal ranks, got elements without a known type "
                               "and rank to put together"),
           Value();
  if (!boxes)
    return {};
  std::optional<int64_t> along = n.axis(axis, int64_t(info->shape.size()) + fresh);
  if (!along)
    return {};
  // What is put together may have any size there.
  ElementInfo element = *info;
  if (!fresh)
    element.shape[*along] = ShapedType::kDynamic;
  SmallVector<int64_t> shape(element.shape);
  if (fresh)
    shape.insert(shape.begin() + *along, ShapedType::kDynamic);
  SmallVector<int64_t> parameters = {*along, fresh, mayBeEmpty};
  appendType(element, parameters);
  return callKernel(n, "weir_kernel_sequence_concat", RankedTensorType::get(shape, info->element),
                    boxes, parameters)
      ->getResult(0);
}

Imported weir::onnx::checkedFeed(TensorBuilder &t, Value boxes, const TypeInfo &declared) {
  Info whole = infoOf(t.b.getContext(), declared);
  if (!whole || whole->kind == Kind::Tensor)
    return {};
  SmallVector<int64_t> parameters = {0};
  const ElementInfo *level = whole.get();
  for (; level->kind != Kind::Tensor; level = level->inner.get()) {
    ++parameters[0];
    parameters.push_back(level->kind == Kind::Optional ? 1 : -1);
  }
  appendType(*level, parameters);
  return Imported::computed(whole->kind,
                            callForBoxes(t, "weir_kernel_sequence_check", {boxes}, parameters),
                            whole->inner);
}

//===----------------------------------------------------------------------===//
// Values of branches and loops
//===----------------------------------------------------------------------===//

void weir::onnx::flatten(const Imported &value, Values &out) {
  if (value.kind == Kind::Tensor)
    out.push_back(value.tensor);
  if (value.boxes)
    out.push_back(value.boxes);
  for (const Imported &element : value.elements)
    flatten(element, out);
}

Imported weir::onnx::rebuild(const Imported &shape, ArrayRef<Value> &tensors) {
  Imported result = shape;
  if (result.kind == Kind::Tensor || result.boxes) {
    (result.boxes ? result.boxes : result.tensor) = tensors.front();
    tensors = tensors.drop_front();
  }
  for (Imported &element : result.elements)
    element = rebuild(element, tensors);
  return result;
}

bool weir::onnx::sameStructure(const Imported &x, const Imported &y) {
  if (x.kind != y.kind || x.elements.size() != y.elements.size() || !x.boxes != !y.boxes)
    return false;
  for (auto [a, b] : llvm::zip(x.elements, y.elements))
    if (!sameStructure(a, b))
      return false;
  return true;
}

bool weir::onnx::widenTo(Imported &x, const Imported &y) {
  bool kept = true;
  if (x.boxes) {
    // Of an empty sequence nothing is known: anything may be put into it.
    Info joined = joinInner(x.info, y.info);
    kept = sameInfo(joined, x.info);
    x.info = joined;
  }
  for (auto [a, b] : llvm::zip(x.elements, y.elements))
    kept &= widenTo(a, b);
  return kept;
}
