//===- StringImports.cpp - operators on strings ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strings are computed by the runtime's kernels (runtime/include/weir/
// kernels.h), which are called by name.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Strings.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

Operation *call(NodeImport &n, StringRef kernel, TypeRange results,
                ValueRange operands, Ints parameters) {
  return CustomCallOp::create(n.b, n.loc, results, operands, n.text(kernel),
                              n.list(parameters), n.flag(true));
}

LogicalResult concat(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  SmallVector<Type> types;
  if (failed(weir::detail::inferBroadcast(n.loc, {x, y}, n.element(x), types)))
    return failure();
  return n.result(
      call(n, "weir_kernel_string_concat", types, {x, y}, {})->getResult(0));
}

LogicalResult split(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::string_view delimiter = n.s("delimiter");
  Value by = n.constant(
      DenseElementsAttr::get(RankedTensorType::get({}, n.element(x)),
                             {StringRef(delimiter.data(), delimiter.size())}));
  int64_t most = n.hasAttr("maxsplit") ? n.i("maxsplit") : -1;
  SmallVector<int64_t> shape(n.type(x).getShape());
  auto counts = RankedTensorType::get(shape, n.b.getI64Type());
  shape.push_back(ShapedType::kDynamic);
  auto parts = RankedTensorType::get(shape, n.element(x));
  Operation *made =
      call(n, "weir_kernel_string_split", {parts, counts}, {x, by}, {most});
  return n.results({made->getResult(0), made->getResult(1)});
}

constexpr OperatorImport table[] = {
    {"", "StringConcat", 20, 0, concat},
    {"", "StringSplit", 20, 0, split},
};

} // namespace

Value weir::onnx::equalStrings(NodeImport &n, Value x, Value y) {
  SmallVector<Type> types;
  if (!x || !y ||
      failed(
          weir::detail::inferBroadcast(n.loc, {x, y}, n.b.getI1Type(), types)))
    return {};
  return call(n, "weir_kernel_string_equal", types, {x, y}, {})->getResult(0);
}

ArrayRef<OperatorImport> weir::onnx::stringImports() { return table; }
