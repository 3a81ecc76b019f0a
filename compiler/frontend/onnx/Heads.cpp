//===- Heads.cpp - the heads of attention ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Heads.h"
#include "compiler/frontend/onnx/GraphImporter.h"

#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Value weir::onnx::separateHeads(NodeImport &n, Value x, int64_t heads) {
  if (!x || n.rank(x) != 3)
    return x;
  int64_t hidden = n.dim(x, 2);
  if (!n.isMultiple(x, 2, heads, "heads"))
    return {};
  // A size that a reshape derives has no bounds, and no value where the batch is empty.
  Value size = ShapedType::isDynamic(hidden) ? n.div(n.sizeOf(x, 2), double(heads))
                                             : n.ints({hidden / heads});
  return n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 2), n.ints({heads}), size}, 0));
}

Value weir::onnx::splitHeads(NodeImport &n, Value x, int64_t heads) {
  if (!x || n.rank(x) != 3)
    return x;
  return n.transpose(separateHeads(n, x, heads), {0, 2, 1, 3});
}

Value weir::onnx::joinHeads(TensorBuilder &t, Value x) {
  Value joined = t.transpose(x, {0, 2, 1, 3});
  if (!joined)
    return {};
  return t.reshapeTo(
      joined, t.concat({t.sizeOf(joined, 0), t.sizeOf(joined, 1), t.sizeProduct(joined, 2, 4)}, 0));
}

/// Each head `times` (tensor<1xi64>) times in a row.
static Value repeated(TensorBuilder &t, Value x, Value times) {
  if (!x || !times)
    return {};
  Value wide = t.unsqueeze(x, {2});
  wide = t.expandTo(wide, t.concat({t.shapeSlice(x, 0, 2), times, t.shapeSlice(x, 2, 4)}, 0));
  Value heads = t.mul(t.sizeOf(x, 1), times);
  return t.reshapeTo(wide, t.concat({t.sizeOf(x, 0), heads, t.shapeSlice(x, 2, 4)}, 0));
}

Value weir::onnx::repeatHeads(NodeImport &n, Value x, Value q) {
  if (!x || !q)
    return {};
  int64_t own = n.dim(x, 1), heads = n.dim(q, 1);
  if (!ShapedType::isDynamic(own) && !ShapedType::isDynamic(heads)) {
    if (own == 0 || heads % own) {
      (void)n.invalid("expected a number of key heads that divides the " + Twine(heads) +
                      " query heads, got " + Twine(own));
      return {};
    }
    return own == heads ? x : repeated(n, x, n.ints({heads / own}));
  }
  if (n.graph.sizes.areEqual(x, 1, q, 1))
    return x;
  Value count = n.sizeOf(x, 1), wanted = n.sizeOf(q, 1);
  Value times = n.div(wanted, n.maximum(count, 1.0));
  n.require(n.toScalar(n.compare("eq", n.mul(times, count), wanted)),
            "the number of query heads is no multiple of that of key heads");
  return repeated(n, x, times);
}

Value weir::onnx::overRootOfSize(NodeImport &n, Value x, Value q) {
  if (!x || !q)
    return {};
  int64_t size = n.dim(q, n.rank(q) - 1);
  if (!ShapedType::isDynamic(size))
    return n.mul(x, 1 / std::sqrt(double(size)));
  Value wide = n.cast(n.toScalar(n.sizeOf(q, n.rank(q) - 1)), n.b.getF64Type());
  return n.mul(x, n.cast(n.op<RsqrtOp>(wide), n.element(x)));
}

Value weir::onnx::rotateHeads(NodeImport &n, Value x, Value cosines, Value sines, int64_t rotated,
                              bool interleaved, int64_t headsAt) {
  if (!x || !cosines || !sines)
    return {};
  int64_t size = n.dim(x, 3);
  if (n.rank(cosines) != 3 || n.rank(sines) != 3) {
    (void)n.invalid("found caches that do not go with the positions");
    return {};
  }
  if (!n.isSameShape(sines, cosines, "sines and cosines"))
    return {};
  bool isAll = rotated == 0; // of the head, if the caches are as wide
  if (isAll)
    rotated = ShapedType::isDynamic(size) && !ShapedType::isDynamic(n.dim(cosines, 2))
                  ? 2 * n.dim(cosines, 2)
                  : size;
  bool isOpen = ShapedType::isDynamic(rotated);
  if (n.rank(x) != 4 || (!isOpen && ((!ShapedType::isDynamic(size) && rotated > size) ||
                                     rotated < 0 || rotated % 2))) {
    (void)n.invalid("expected an even number of rotated entries, up to " + sizeText(size) +
                    ", got " + sizeText(rotated));
    return {};
  }
  // Heads whose size the run finds are as wide as said, or refused.
  if (ShapedType::isDynamic(size) && isAll && !isOpen) {
    if (!n.hasSize(x, 3, rotated, "heads"))
      return {};
    x = n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 3), n.ints({rotated})}, 0));
    size = rotated;
  }
  Value all = n.sizeOf(x, 3);
  Value end = isOpen ? all : n.ints({rotated});
  Value half = isOpen ? n.div(end, 2.0) : n.ints({rotated / 2});
  auto part = [&](Value v, int64_t axis, Value from, Value to) {
    return n.op<SliceOp>(v, from, to, n.ints({1}), n.list({axis}), n.flag(true));
  };
  // Caches are of what is rotated, or of whole heads.
  for (Value v : {cosines, sines}) {
    int64_t width = n.dim(v, 2);
    if (!isOpen && width == rotated / 2)
      continue;
    if (!isOpen && !ShapedType::isDynamic(width) && !ShapedType::isDynamic(size)) {
      if (width == size / 2)
        continue;
      (void)n.invalid("expected " + Twine(rotated / 2) + " angles, got " + Twine(width));
      return {};
    }
    Value given = n.sizeOf(v, 2);
    n.require(n.toScalar(n.op<OrOp>(n.compare("eq", given, half),
                                    n.compare("eq", given, n.div(all, 2.0)))),
              "there are not half as many angles as entries that are rotated");
  }
  Value begin = n.ints({0});
  bool isWhole = isOpen || rotated == size;
  Value rest = isWhole ? Value() : part(x, 3, end, all);
  Value turned = isWhole ? x : part(x, 3, begin, end);
  auto angles = [&](Value v) { return n.unsqueeze(part(v, 2, begin, half), {headsAt}); };
  Value c = angles(cosines), s = angles(sines);
  Value first, second;
  if (interleaved) {
    Value shape = n.concat({n.shapeSlice(turned, 0, 3), half, n.ints({2})}, 0);
    Value pairs = n.reshapeTo(turned, shape);
    first = n.pick(pairs, 4, 0);
    second = n.pick(pairs, 4, 1);
  } else {
    first = part(turned, 3, begin, half);
    second = part(turned, 3, half, end);
  }
  Value real = n.sub(n.mul(c, first), n.mul(s, second));
  Value imaginary = n.add(n.mul(s, first), n.mul(c, second));
  if (interleaved) {
    Value both = n.concat({n.unsqueeze(real, {4}), n.unsqueeze(imaginary, {4})}, 4);
    turned = n.reshapeTo(both, n.shapeOf(turned));
  } else {
    turned = n.concat({real, imaginary}, 3);
  }
  return !isWhole ? n.concat({turned, rest}, 3) : turned;
}

Value weir::onnx::linesAt(NodeImport &n, Value cache, Value positions) {
  return n.op<GatherOp>(cache, positions, n.number(0), n.number(0), n.flag(false));
}

void weir::onnx::rotateByPlaces(NodeImport &n, Value &q, Value &k, Value at, size_t cache) {
  if (!n.isSameShape(n.in(cache + 1), n.in(cache), "sines and cosines")) {
    q = k = {};
    return;
  }
  Value cosines = linesAt(n, n.in(cache), at), sines = linesAt(n, n.in(cache + 1), at);
  int64_t half = n.dim(cosines, 2);
  int64_t rotated = ShapedType::isDynamic(half) ? 0 : 2 * half;
  bool interleaved = n.i("rotary_interleaved") != 0;
  q = rotateHeads(n, q, cosines, sines, rotated, interleaved);
  k = rotateHeads(n, k, cosines, sines, rotated, interleaved);
}
