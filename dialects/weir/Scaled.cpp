//===- Scaled.cpp - constants times factors -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Scaled.h"
#include "dialects/weir/Pch.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace weir;

static constexpr size_t pieceBytes = 1 << 16;

TypedAttr weir::scaledConstant(TypedAttr value, ArrayRef<float> factors, int64_t axis) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!isa<weir::BlobAttr>(value) || !type.getElementType().isF32() || type.getNumElements() == 0)
    return {};
  // What is made of infinities is for those who read numbers.
  if (!llvm::all_of(factors, [](float factor) { return std::isfinite(factor); }))
    return {};
  return ScaledAttr::get(value, factors, axis);
}

int64_t weir::elementsPerFactor(ScaledAttr value) {
  int64_t behind = 1;
  for (int64_t size :
       cast<RankedTensorType>(value.getType()).getShape().drop_front(value.getAxis() + 1))
    behind *= size;
  return behind;
}

/// Elements from `from` on times `factor`. A blob lies anywhere in its file: elements are not
/// aligned.
static void scaleRun(const char *from, char *to, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) {
    float element;
    std::memcpy(&element, from + i * sizeof(float), sizeof(float));
    element *= factor;
    std::memcpy(to + i * sizeof(float), &element, sizeof(float));
  }
}

/// The same, each with a factor of its own.
static void scaleRow(const char *from, char *to, int64_t count, const float *factors) {
  for (int64_t i = 0; i < count; ++i) {
    float element;
    std::memcpy(&element, from + i * sizeof(float), sizeof(float));
    element *= factors[i];
    std::memcpy(to + i * sizeof(float), &element, sizeof(float));
  }
}

llvm::Error weir::scaleBytes(ScaledAttr value, ArrayRef<char> source,
                             llvm::function_ref<llvm::Error(ArrayRef<char>)> sink) {
  const int64_t count = cast<RankedTensorType>(value.getType()).getNumElements();
  constexpr int64_t size = sizeof(float);
  if (int64_t(source.size()) != count * size)
    return llvm::createStringError("a scaled constant has " + Twine(source.size()) + " bytes of " +
                                   Twine(count * size));
  ArrayRef<float> factors = value.getFactors().asArrayRef();
  const int64_t behind = elementsPerFactor(value), channels = factors.size();
  SmallVector<char, 0> piece;
  for (int64_t done = 0; done < count;) {
    const int64_t end = std::min<int64_t>(count, done + pieceBytes / size);
    piece.resize_for_overwrite((end - done) * size);
    char *to = piece.data();
    while (done < end) {
      const int64_t channel = done / behind % channels;
      int64_t run;
      if (behind == 1) {
        run = std::min(channels - channel, end - done);
        scaleRow(source.data() + done * size, to, run, factors.data() + channel);
      } else {
        run = std::min(behind - done % behind, end - done);
        scaleRun(source.data() + done * size, to, run, factors[channel]);
      }
      done += run;
      to += run * size;
    }
    if (llvm::Error error = sink(piece))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<ArrayRef<char>> weir::scaledBytes(TypedAttr value, ArrayRef<char> source,
                                                 SmallVectorImpl<char> &room) {
  auto scaled = dyn_cast<ScaledAttr>(value);
  if (!scaled)
    return source;
  room.clear();
  room.reserve(source.size());
  llvm::Error error = scaleBytes(scaled, source, [&](ArrayRef<char> piece) {
    llvm::append_range(room, piece);
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return ArrayRef<char>(room);
}

LogicalResult ScaledAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type type,
                                 TypedAttr source, DenseF32ArrayAttr factors, int64_t axis) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!isa_and_nonnull<weir::BlobAttr>(source) || source.getType() != type)
    return emitError() << "the source must be a blob of the same type";
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isF32() ||
      !tensor.getNumElements())
    return emitError() << "the type must be of f32, have a fixed shape, and elements";
  if (axis < 0 || axis >= tensor.getRank() || factors.size() != tensor.getDimSize(axis))
    return emitError() << "found " << factors.size() << " factors for dimension " << axis
                       << "; possible: one for each entry of a dimension";
  return success();
}
