//===- Heads.cpp - the heads of attention ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/Heads.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

Value weir::onnx::separateHeads(NodeImport &n, Value x, int64_t heads) {
  if (!x || n.rank(x) != 3)
    return x;
  int64_t hidden = n.dim(x, 2);
  if (heads < 1 || ShapedType::isDynamic(hidden) || hidden % heads) {
    (void)n.invalid("found " + Twine(heads) + " heads for a hidden size of " + Twine(hidden));
    return {};
  }
  return n.reshapeTo(x, n.concat({n.shapeSlice(x, 0, 2), n.ints({heads, hidden / heads})}, 0));
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

Value weir::onnx::repeatHeads(TensorBuilder &t, Value x, int64_t times) {
  if (!x || times == 1)
    return x;
  Value wide = t.unsqueeze(x, {2});
  wide = t.expandTo(wide,
                    t.concat({t.shapeSlice(x, 0, 2), t.ints({times}), t.shapeSlice(x, 2, 4)}, 0));
  return t.reshapeTo(
      wide,
      t.concat({t.sizeOf(x, 0), t.mul(t.sizeOf(x, 1), double(times)), t.shapeSlice(x, 2, 4)}, 0));
}

Value weir::onnx::rotateHeads(NodeImport &n, Value x, Value cosines, Value sines, int64_t rotated,
                              bool interleaved) {
  if (!x || !cosines || !sines)
    return {};
  int64_t size = n.dim(x, 3);
  rotated = rotated ? rotated : size;
  if (n.rank(x) != 4 || ShapedType::isDynamic(size) || rotated > size || rotated < 0 ||
      rotated % 2) {
    (void)n.invalid("found " + Twine(rotated) + " rotated entries of " + Twine(size));
    return {};
  }
  if (n.rank(cosines) != 3 || n.rank(sines) != 3) {
    (void)n.invalid("found caches that do not go with the positions");
    return {};
  }
  Value rest = rotated < size ? n.slice(x, 3, rotated, size) : Value();
  Value turned = n.slice(x, 3, 0, rotated);
  int64_t half = rotated / 2;
  auto angles = [&](Value v) { return n.unsqueeze(n.slice(v, 2, 0, half), {2}); };
  Value c = angles(cosines), s = angles(sines);
  Value first, second;
  if (interleaved) {
    Value pairs = n.reshapeTo(turned, n.concat({n.shapeSlice(turned, 0, 3), n.ints({half, 2})}, 0));
    first = n.pick(pairs, 4, 0);
    second = n.pick(pairs, 4, 1);
  } else {
    first = n.slice(turned, 3, 0, half);
    second = n.slice(turned, 3, half, rotated);
  }
  Value real = n.sub(n.mul(c, first), n.mul(s, second));
  Value imaginary = n.add(n.mul(s, first), n.mul(c, second));
  if (interleaved) {
    Value both = n.concat({n.unsqueeze(real, {4}), n.unsqueeze(imaginary, {4})}, 4);
    turned = n.reshapeTo(both, n.shapeOf(turned));
  } else {
    turned = n.concat({real, imaginary}, 3);
  }
  return rest ? n.concat({turned, rest}, 3) : turned;
}
