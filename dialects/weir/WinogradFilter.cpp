//===- WinogradFilter.cpp - constant filters in Winograd's form -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/WinogradFilter.h"
#include "dialects/weir/Arranged.h"
#include "dialects/weir/BlobStore.h"
#include "dialects/weir/Halves.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Scaled.h"
#include <cstring>

using namespace mlir;
using namespace weir;

//===----------------------------------------------------------------------===//
// Taps
//===----------------------------------------------------------------------===//

static bool isSplat(TypedAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  return dense && dense.isSplat();
}

FilterTaps::FilterTaps(TypedAttr filter, ArrayRef<char> source)
    : shape(cast<RankedTensorType>(filter.getType()).getShape()),
      element(getElementTypeOrSelf(rootOf(filter).getType())), source(source) {
  if (auto arranged = dyn_cast<ArrangedAttr>(filter))
    strides.assign(arranged.getStrides().asArrayRef().begin(),
                   arranged.getStrides().asArrayRef().end());
  else if (isSplat(filter))
    strides.assign(4, 0);
  else
    strides.assign({3 * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1});
  if (auto scaled = dyn_cast<ScaledAttr>(rootOf(filter))) {
    factors = scaled.getFactors().asArrayRef();
    perFactor = elementsPerFactor(scaled);
  }
}

llvm::Expected<FilterTaps> FilterTaps::of(TypedAttr filter) {
  if (auto arranged = dyn_cast<ArrangedAttr>(filter); arranged && !arranged.getPanel().empty())
    return llvm::createStringError("a filter in panels is not read by strides");
  if (isSplat(filter))
    return FilterTaps(filter, cast<DenseElementsAttr>(filter).getRawData());
  llvm::Expected<ArrayRef<char>> source = sourceBytes(filter);
  if (!source)
    return source.takeError();
  return FilterTaps(filter, *source);
}

/// A blob lies anywhere in its file: elements are not aligned.
template <typename T, uint32_t (*bitsOf)(T)>
static void readColumns(const char *from, int64_t stride, int64_t count, double *to) {
  for (int64_t l = 0; l < count; ++l) {
    T element;
    std::memcpy(&element, from + l * stride * int64_t(sizeof(T)), sizeof(T));
    to[l] = llvm::bit_cast<float>(bitsOf(element));
  }
}

static uint32_t sameBits(uint32_t bits) { return bits; }

void FilterTaps::operator()(int64_t c, int64_t first, WinogradForm::Taps &taps) const {
  const int64_t count = std::min(columns() - first, WinogradForm::lanes), step = strides[3];
  const int64_t size = element.isF32() ? 4 : 2;
  for (int64_t y = 0; y < 3; ++y)
    for (int64_t x = 0; x < 3; ++x) {
      const char *from =
          source.data() + (y * strides[0] + x * strides[1] + c * strides[2] + first * step) * size;
      double *to = taps[y][x];
      if (element.isBF16())
        readColumns<uint16_t, floatFromBrain>(from, step, count, to);
      else if (element.isF16())
        readColumns<uint16_t, floatFromHalf>(from, step, count, to);
      else if (step == 1) // in vectors
        readColumns<uint32_t, sameBits>(from, 1, count, to);
      else
        readColumns<uint32_t, sameBits>(from, step, count, to);
      if (!factors.empty())
        scale(y * strides[0] + x * strides[1] + c * strides[2] + first * step, count, to);
      std::fill(to + count, to + WinogradForm::lanes, 0.0);
    }
}

/// In f32, as a scaled constant is.
void FilterTaps::scale(int64_t element, int64_t count, double *taps) const {
  const int64_t channels = factors.size(), step = strides[3];
  int64_t channel = element / perFactor % channels;
  if (step == perFactor && channel + count <= channels) {
    for (int64_t l = 0; l < count; ++l)
      taps[l] = static_cast<float>(taps[l]) * factors[channel + l];
    return;
  }
  for (int64_t l = 0; l < count; ++l)
    taps[l] = static_cast<float>(taps[l]) * factors[(element + l * step) / perFactor % channels];
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

TypedAttr weir::winogradConstant(TypedAttr filter, int64_t results, int64_t width, bool isPairs) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(filter.getType()).getShape();
  int64_t panels = llvm::divideCeil(shape[3], width), matrices = WinogradForm{results}.matrices();
  MLIRContext *context = filter.getContext();
  auto type = isPairs ? RankedTensorType::get({panels, matrices, shape[2] / 2, width, 2},
                                              BFloat16Type::get(context))
                      : RankedTensorType::get({panels, matrices, shape[2], width},
                                              Float32Type::get(context));
  return WinogradAttr::get(type, filter, results);
}

LogicalResult WinogradAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type type,
                                   TypedAttr source, int64_t results) {
  auto filter = source ? dyn_cast<RankedTensorType>(source.getType()) : nullptr;
  auto arranged = dyn_cast_or_null<ArrangedAttr>(source);
  if (!isa_and_nonnull<weir::BlobAttr, ScaledAttr, DenseElementsAttr, ArrangedAttr>(source) ||
      (arranged && !arranged.getPanel().empty()))
    return emitError()
           << "the source must be a blob, scaled or not, dense elements, or arranged without "
              "panels";
  if (!filter || !filter.hasStaticShape() || filter.getRank() != 4 || filter.getDimSize(0) != 3 ||
      filter.getDimSize(1) != 3 || !filter.getElementType().isF32() || !filter.getNumElements())
    return emitError() << "the source must be a filter of 3x3 of f32";
  if (results != 2 && results != 4)
    return emitError() << "found tiles of " << results << " results; possible: 2, 4";
  auto made = dyn_cast<RankedTensorType>(type);
  int64_t channels = filter.getDimSize(2), rank = made ? made.getRank() : 0;
  bool isPairs = rank == 5;
  if (!made || !made.hasStaticShape() || (rank != 4 && rank != 5) || made.getDimSize(3) < 1 ||
      made.getDimSize(1) != WinogradForm{results}.matrices() ||
      made.getDimSize(0) != int64_t(llvm::divideCeil(filter.getDimSize(3), made.getDimSize(3))) ||
      made.getDimSize(2) * (isPairs ? 2 : 1) != channels || (isPairs && made.getDimSize(4) != 2) ||
      !(isPairs ? made.getElementType().isBF16() : made.getElementType().isF32()))
    return emitError() << "the type must be [panels, matrices, channels, width] of f32, or "
                          "[panels, matrices, channels / 2, width, 2] of bf16";
  return success();
}

bool weir::hasWinogradForm(ConvOp conv, ArrayRef<int64_t> window, int64_t channels, int64_t columns,
                           int64_t lanes) {
  constexpr int64_t fewestChannels = 32;
  auto isOne = [](int64_t value) { return value == 1; };
  auto isWide = [&](int64_t count) { return count >= fewestChannels && count % lanes == 0; };
  return window == ArrayRef<int64_t>{3, 3} && conv.getGroups() == 1 &&
         llvm::all_of(conv.getStrides(), isOne) && llvm::all_of(conv.getDilations(), isOne) &&
         isWide(channels) && isWide(columns);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

llvm::Error weir::transformFilter(const FilterTaps &filter, int64_t results, int64_t width,
                                  bool isPairs,
                                  llvm::function_ref<llvm::Error(ArrayRef<char>)> sink) {
  constexpr int64_t lanes = WinogradForm::lanes;
  const WinogradForm form{results};
  const int64_t channels = filter.channels();
  std::vector<float> panel(form.matrices() * channels * width);
  std::vector<uint16_t> pairs(isPairs ? panel.size() : 0);
  for (int64_t first = 0; first < filter.columns(); first += width) {
    const int64_t columns = std::min(width, filter.columns() - first);
    if (columns < width)
      std::fill(panel.begin(), panel.end(), 0.0f);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t at = 0; at < columns; at += lanes) {
        WinogradForm::Taps taps;
        WinogradForm::Transformed numbers;
        filter(c, first + at, taps);
        form.transformFilters(taps, numbers);
        // Taps beyond the last column are zero, and so is what they become.
        const int64_t count = std::min(width - at, lanes);
        for (int64_t i = 0; i < form.matrices(); ++i) {
          const double *from = numbers[i / form.square()][i % form.square()];
          float *to = &panel[(i * channels + c) * width + at];
          for (int64_t l = 0; l < count; ++l)
            to[l] = static_cast<float>(from[l]);
        }
      }
    ArrayRef<char> bytes(reinterpret_cast<const char *>(panel.data()), panel.size() * 4);
    if (isPairs) {
      for (int64_t row = 0; row < form.matrices() * channels; ++row)
        for (int64_t k = 0; k < width; ++k)
          pairs[(row / 2 * width + k) * 2 + row % 2] =
              brainFromFloat(llvm::bit_cast<uint32_t>(panel[row * width + k]));
      bytes = ArrayRef<char>(reinterpret_cast<const char *>(pairs.data()), pairs.size() * 2);
    }
    if (llvm::Error error = sink(bytes))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error weir::transformBytes(WinogradAttr value, ArrayRef<char> source,
                                 llvm::function_ref<llvm::Error(ArrayRef<char>)> sink) {
  auto type = cast<RankedTensorType>(value.getType());
  TypedAttr root = rootOf(value);
  auto rootType = cast<RankedTensorType>(root.getType());
  int64_t elements = isSplat(root) ? 1 : rootType.getNumElements();
  int64_t bytes = elements * blobElementSize(rootType.getElementType());
  if (int64_t(source.size()) != bytes)
    return llvm::createStringError("a filter has " + Twine(source.size()) + " bytes of " +
                                   Twine(bytes));
  return transformFilter(FilterTaps(value.getSource(), source), value.getResults(),
                         type.getDimSize(3), type.getRank() == 5, sink);
}
