//===- Arranged.cpp - constants in another order --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Arranged.h"
#include "dialects/weir/BlobStore.h"
#include "dialects/weir/Halves.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Scaled.h"
#include "dialects/weir/WinogradFilter.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
using namespace weir;

/// Whether raw bytes of `value` hold its elements row-major, a whole number of
/// bytes each.
static bool hasRawElements(TypedAttr value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
    return false;
  Type element = type.getElementType();
  if (auto complexType = dyn_cast<ComplexType>(element))
    element = complexType.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return false;
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return !dense.isSplat();
  return isa<weir::BlobAttr, ScaledAttr, ArrangedAttr>(value);
}

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = (int64_t)shape.size() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

namespace {
/// A constant as its source read by strides.
struct View {
  TypedAttr source;
  Type element; ///< of what is read: the source's, bf16 of f32, or f32 of f16 and bf16
  SmallVector<int64_t> shape, strides, panel;

  explicit View(TypedAttr value) {
    auto type = cast<RankedTensorType>(value.getType());
    element = type.getElementType();
    shape.assign(type.getShape().begin(), type.getShape().end());
    if (auto arranged = dyn_cast<ArrangedAttr>(value)) {
      source = arranged.getSource();
      llvm::append_range(strides, arranged.getStrides().asArrayRef());
      llvm::append_range(panel, arranged.getPanel().asArrayRef());
      return;
    }
    source = value;
    strides = rowMajorStrides(shape);
  }

  TypedAttr attribute() const {
    auto type = RankedTensorType::get(shape, element);
    if (type == source.getType() && panel.empty() && strides == rowMajorStrides(shape))
      return source;
    // A blob in its own order stays one, under whatever shape.
    auto blob = dyn_cast<weir::BlobAttr>(source);
    bool isWhole = element == cast<RankedTensorType>(source.getType()).getElementType();
    if (blob && isWhole && panel.empty() && strides == rowMajorStrides(shape))
      return weir::BlobAttr::get(type, blob.getSource(), blob.getOffset(), blob.getLength(),
                                 blob.getHash());
    return ArrangedAttr::get(type, source, strides, panel);
  }
};
} // namespace

TypedAttr weir::transposedConstant(TypedAttr value, ArrayRef<int64_t> permutation) {
  if (!hasRawElements(value))
    return {};
  View from(value), to = from;
  SmallVector<int64_t> target(permutation.size());
  for (auto [i, dim] : llvm::enumerate(permutation)) {
    to.shape[i] = from.shape[dim];
    to.strides[i] = from.strides[dim];
    target[dim] = i;
  }
  if (!from.panel.empty()) {
    to.panel[0] = target[from.panel[0]];
    to.panel[1] = target[from.panel[1]];
  }
  return to.attribute();
}

TypedAttr weir::reshapedConstant(TypedAttr value, RankedTensorType type) {
  if (!hasRawElements(value) || !type.hasStaticShape() ||
      type.getNumElements() != cast<RankedTensorType>(value.getType()).getNumElements())
    return {};
  View view(value);
  if (!view.panel.empty())
    return {};
  // Dimensions that are read as one (each stride is the next one's times its
  // size) become one; the new shape then has to split these.
  SmallVector<std::pair<int64_t, int64_t>> merged; // size, stride
  for (auto [size, stride] : llvm::zip(view.shape, view.strides)) {
    if (size == 1)
      continue;
    if (!merged.empty() && merged.back().second == stride * size)
      merged.back() = {merged.back().first * size, stride};
    else
      merged.push_back({size, stride});
  }
  SmallVector<int64_t> strides(type.getRank(), 1);
  int64_t group = (int64_t)merged.size() - 1, inner = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    int64_t size = type.getDimSize(i);
    if (size == 1)
      continue;
    if (group < 0 || merged[group].first % (inner * size))
      return {};
    strides[i] = merged[group].second * inner;
    inner *= size;
    if (inner == merged[group].first) {
      --group;
      inner = 1;
    }
  }
  view.shape.assign(type.getShape().begin(), type.getShape().end());
  view.strides = strides;
  // Dimensions of size 1 count as row-major ones do, so that equal orders have
  // equal strides.
  for (int64_t i = type.getRank() - 2; i >= 0; --i)
    if (type.getDimSize(i) == 1)
      view.strides[i] = view.strides[i + 1] * view.shape[i + 1];
  return view.attribute();
}

TypedAttr weir::packedConstant(TypedAttr value, int64_t width) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() < 1 || width < 1)
    return {};
  int64_t columns = type.getShape().back();
  SmallVector<int64_t> shape{(int64_t)llvm::divideCeil(columns, width)};
  llvm::append_range(shape, type.getShape().drop_back());
  shape.push_back(width);
  // What lies beyond the last column is read, but not used.
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return dense.resizeSplat(RankedTensorType::get(shape, type.getElementType()));
  if (!hasRawElements(value))
    return {};
  View view(value);
  if (!view.panel.empty())
    return {};
  view.strides.insert(view.strides.begin(), view.strides.back() * width);
  view.shape = shape;
  if (columns % width)
    view.panel = {0, (int64_t)shape.size() - 1, columns};
  return view.attribute();
}

TypedAttr weir::narrowedConstant(TypedAttr value, bool isBrain) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isF32() || type.getRank() == 0 || !hasRawElements(value))
    return {};
  View view(value);
  if (getElementTypeOrSelf(view.source.getType()).isF16())
    return {};
  view.element = isBrain ? Type(BFloat16Type::get(type.getContext()))
                         : Type(Float16Type::get(type.getContext()));
  return view.attribute();
}

TypedAttr weir::exactlyNarrowed(TypedAttr value, bool isBrain) {
  TypedAttr narrow = narrowedConstant(value, isBrain);
  if (!narrow || isa<ScaledAttr>(rootOf(value)) ||
      !getElementTypeOrSelf(rootOf(value).getType()).isF32())
    return {};
  llvm::Expected<ArrayRef<char>> source = sourceBytes(value);
  if (!source) {
    llvm::consumeError(source.takeError());
    return {};
  }
  for (const char *at = source->begin(); at != source->end(); at += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, at, sizeof(bits));
    if (bits !=
        (isBrain ? floatFromBrain(brainFromFloat(bits)) : floatFromHalf(halfFromFloat(bits))))
      return {};
  }
  return narrow;
}

TypedAttr weir::inTypeOfSource(TypedAttr value) {
  auto arranged = dyn_cast<ArrangedAttr>(value);
  Type source = arranged ? getElementTypeOrSelf(arranged.getSource().getType()) : Type();
  if (!arranged || getElementTypeOrSelf(value.getType()) == source)
    return {};
  View view(value);
  view.element = source;
  return view.attribute();
}

TypedAttr weir::widenedConstant(TypedAttr value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() == 0 || !hasRawElements(value))
    return {};
  View view(value);
  Type source = getElementTypeOrSelf(view.source.getType());
  if (source != type.getElementType() || !(source.isF16() || source.isBF16()))
    return {};
  view.element = Float32Type::get(type.getContext());
  return view.attribute();
}

bool weir::isWidenedBrain(TypedAttr value) {
  auto arranged = dyn_cast<ArrangedAttr>(value);
  return arranged && getElementTypeOrSelf(value.getType()).isF32() &&
         getElementTypeOrSelf(arranged.getSource().getType()).isBF16();
}

TypedAttr weir::interleavedConstant(TypedAttr value, int64_t rows, int64_t width) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 2 ||
      type.getDimSize(type.getRank() - 2) % rows)
    return {};
  SmallVector<int64_t> split(type.getShape());
  split.insert(split.end() - 1, rows);
  split[split.size() - 3] /= rows;
  auto parts = RankedTensorType::get(split, type.getElementType());
  // One value everywhere is one beyond the last column, too, where nothing reads it.
  auto dense = dyn_cast<DenseElementsAttr>(value);
  bool isSplat = dense && dense.isSplat();
  TypedAttr byRows = isSplat ? dense.resizeSplat(parts) : reshapedConstant(value, parts);
  TypedAttr panels = byRows ? packedConstant(byRows, width) : TypedAttr();
  if (!panels)
    return {};
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, split.size() + 1));
  std::swap(order[split.size() - 1], order[split.size()]);
  if (!isSplat)
    return transposedConstant(panels, order);
  SmallVector<int64_t> shape(cast<RankedTensorType>(panels.getType()).getShape());
  std::swap(shape[split.size() - 1], shape[split.size()]);
  return dense.resizeSplat(RankedTensorType::get(shape, type.getElementType()));
}

TypedAttr weir::rootOf(TypedAttr value) {
  if (auto filter = dyn_cast<WinogradAttr>(value))
    value = filter.getSource();
  auto arranged = dyn_cast<ArrangedAttr>(value);
  return arranged ? arranged.getSource() : value;
}

llvm::Expected<ArrayRef<char>> weir::sourceBytes(TypedAttr value) {
  const bool isFilter = isa<WinogradAttr>(value);
  value = rootOf(value);
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && isFilter)
    return dense.getRawData(); // of a splat its one number
  if (auto scaled = dyn_cast<ScaledAttr>(value))
    value = scaled.getSource();
  if (auto blob = dyn_cast<weir::BlobAttr>(value))
    return BlobStore::global().bytes(blob);
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && hasRawElements(dense))
    return dense.getRawData();
  return llvm::createStringError("a constant that has no bytes of its own");
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

LogicalResult ArrangedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type type,
                                   TypedAttr source, DenseI64ArrayAttr strides,
                                   DenseI64ArrayAttr panel) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto from = source ? dyn_cast<RankedTensorType>(source.getType()) : nullptr;
  if (!tensor || !tensor.hasStaticShape() || !from || !from.hasStaticShape())
    return emitError() << "both constants must have fixed shapes";
  if (!isa<weir::BlobAttr, ScaledAttr, DenseElementsAttr>(source) || !hasRawElements(source))
    return emitError() << "the source must be a blob, scaled or not, or dense elements of whole "
                          "bytes";
  Type to = tensor.getElementType(), of = from.getElementType();
  auto isHalf = [](Type type) { return type.isBF16() || type.isF16(); };
  if (to != of && !(isHalf(to) && of.isF32()) && !(to.isF32() && isHalf(of)))
    return emitError() << "both constants must have the same element type, or one of them f32 "
                          "and the other bf16, or f32 the elements of an f16";
  int64_t rank = tensor.getRank();
  ArrayRef<int64_t> steps = strides.asArrayRef(), parts = panel.asArrayRef();
  if ((int64_t)steps.size() != rank || rank == 0)
    return emitError() << "found " << steps.size() << " strides for " << rank << " dimensions";
  if (!parts.empty() && (parts.size() != 3 || parts[0] < 0 || parts[0] >= rank || parts[1] < 0 ||
                         parts[1] >= rank || parts[0] == parts[1] || parts[2] < 1 ||
                         steps[parts[0]] != steps[parts[1]] * tensor.getDimSize(parts[1])))
    return emitError() << "a panel names two dimensions that count one together, and a limit";
  // The last element that is read must exist.
  int64_t last = 0;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t most = tensor.getDimSize(i) - 1, reach = 0;
    if (most < 0)
      return emitError() << "a rearranged constant has elements";
    if (!parts.empty() && i == parts[0])
      continue;
    if (!parts.empty() && i == parts[1])
      most = std::min(tensor.getDimSize(i) * tensor.getDimSize(parts[0]), parts[2]) - 1;
    if (steps[i] < 0 || llvm::MulOverflow(most, steps[i], reach) ||
        llvm::AddOverflow(last, reach, last))
      return emitError() << "strides lead outside of the source";
  }
  if (last >= from.getNumElements())
    return emitError() << "strides lead outside of the source";
  return success();
}

std::optional<ArrayRef<char>> weir::materializedBytes(TypedAttr value,
                                                      SmallVectorImpl<char> &room) {
  auto source = sourceBytes(value);
  SmallVector<char, 0> scaled;
  auto arranged = dyn_cast<ArrangedAttr>(value);
  auto filter = dyn_cast<WinogradAttr>(value);
  if (source && !filter)
    source = scaledBytes(rootOf(value), *source, arranged ? scaled : room);
  if (!source) {
    llvm::consumeError(source.takeError());
    return std::nullopt;
  }
  if (!arranged && !filter)
    return *source;
  room.clear();
  auto append = [&](ArrayRef<char> piece) {
    room.append(piece.begin(), piece.end());
    return llvm::Error::success();
  };
  llvm::Error error =
      arranged ? arrangeBytes(arranged, *source, append) : transformBytes(filter, *source, append);
  if (error) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return room;
}

DenseElementsAttr weir::materializedConstant(TypedAttr value) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense;
  SmallVector<char, 0> room;
  std::optional<ArrayRef<char>> bytes = materializedBytes(value, room);
  bool isSplat = false;
  auto type = cast<ShapedType>(value.getType());
  if (!bytes || !DenseElementsAttr::isValidRawBuffer(type, *bytes, isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, *bytes);
}
