//===- PickedConstant.cpp - some entries of a constant --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/PickedConstant.h"

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

TypedAttr weir::ofEqualElements(Attribute value, RankedTensorType type) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || !dense.isSplat())
    return {};
  if (auto strings = dyn_cast<DenseStringElementsAttr>(value))
    return DenseElementsAttr::get(type, ArrayRef<StringRef>{strings.getSplatValue<StringRef>()});
  return dense.resizeSplat(type);
}

TypedAttr weir::pickedConstant(TypedAttr value, RankedTensorType result, int64_t axis,
                               ArrayRef<int64_t> indices) {
  if (TypedAttr equal = ofEqualElements(value, result))
    return equal;
  auto type = cast<RankedTensorType>(value.getType());
  constexpr int64_t mostBytes = 1 << 28;
  unsigned bits = type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 0;
  if (bits == 0 || bits % 8 || result.getNumElements() * (bits / 8) > mostBytes)
    return {};
  // A file's bytes are read where they are.
  ArrayRef<char> from;
  if (isa<weir::BlobAttr>(value)) {
    auto bytes = sourceBytes(value);
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return {};
    }
    from = *bytes;
  } else {
    DenseElementsAttr dense = materializedConstant(value);
    if (!dense || dense.isSplat())
      return {};
    from = dense.getRawData();
  }
  int64_t size = type.getDimSize(axis), outer = 1, inner = bits / 8;
  for (int64_t i = 0; i < axis; ++i)
    outer *= type.getDimSize(i);
  for (int64_t i = axis + 1; i < type.getRank(); ++i)
    inner *= type.getDimSize(i);
  std::vector<char> to;
  to.reserve(result.getNumElements() * (bits / 8));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : indices) {
      ArrayRef<char> row = from.slice((o * size + index) * inner, inner);
      to.insert(to.end(), row.begin(), row.end());
    }
  return DenseElementsAttr::getFromRawBuffer(result, to);
}
