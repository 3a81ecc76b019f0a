//===- Diagonals.cpp - several diagonals at once --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Diagonals.h"
#include "compiler/frontend/tensorflow/Sparse.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace weir;
using namespace weir::tf;

int64_t Diagonals::length(int64_t d) const {
  return std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0));
}

int64_t Diagonals::longest() const {
  int64_t best = 0;
  for (int64_t d = low; d <= high; ++d)
    best = std::max(best, length(d));
  return best;
}

IntVector Diagonals::matrixOfPacked() const {
  int64_t width = longest();
  IntVector places(count() * width, -1);
  for (int64_t d = low; d <= high; ++d) {
    bool left = (d >= 0 && superLeft) || (d <= 0 && subLeft);
    int64_t offset = left ? 0 : width - length(d);
    for (int64_t i = 0; i < length(d); ++i) {
      int64_t row = i + std::max<int64_t>(-d, 0), column = i + std::max<int64_t>(d, 0);
      places[(high - d) * width + offset + i] = row * columns + column;
    }
  }
  return places;
}

IntVector Diagonals::packedOfMatrix() const {
  IntVector places(rows * columns, -1);
  for (auto [packed, place] : llvm::enumerate(matrixOfPacked()))
    if (place >= 0)
      places[place] = static_cast<int64_t>(packed);
  return places;
}

std::optional<Diagonals> weir::tf::readDiagonals(NodeImport &n, Ints k, int64_t rows,
                                                 int64_t columns) {
  constexpr int64_t kMaxElements = 1 << 22;
  if (k.empty() || k.size() > 2 || k.back() < k.front()) {
    (void)n.invalid("found bounds of diagonals that are not ordered");
    return std::nullopt;
  }
  std::optional<int64_t> elements = ShapedType::isDynamic(rows) || ShapedType::isDynamic(columns)
                                        ? std::nullopt
                                        : frontend::productOf({rows, columns});
  if (!elements || *elements > kMaxElements) {
    (void)n.unsupported("found matrices of unknown size, or of more than " + Twine(kMaxElements) +
                        " elements");
    return std::nullopt;
  }
  Diagonals diagonals{rows, columns, k.front(), k.back()};
  auto isInside = [&](int64_t d) { return d == 0 || (d > -rows && d < columns); };
  if (!isInside(k.front()) || !isInside(k.back())) {
    (void)n.invalid("found a diagonal outside of the matrix");
    return std::nullopt;
  }
  if (const AttrValue *align = n.attr("align")) {
    diagonals.superLeft = align->s == "LEFT_LEFT" || align->s == "LEFT_RIGHT";
    diagonals.subLeft = align->s == "LEFT_LEFT" || align->s == "RIGHT_LEFT";
  }
  return diagonals;
}

LogicalResult weir::tf::requireDiagonal(NodeImport &n, Value x, int64_t k) {
  if (k == 0)
    return success();
  int64_t axis = n.rank(x) - (k < 0 ? 2 : 1), size = n.dim(x, axis);
  double distance = std::abs(static_cast<double>(k));
  if (ShapedType::isDynamic(size))
    require(n, n.compare("gt", n.sizeOf(x, axis), distance),
            "a diagonal lies outside of the matrix");
  else if (static_cast<double>(size) <= distance)
    return n.invalid("expected a diagonal inside of the matrix, got k = " + Twine(k) + " where " +
                     Twine(size) + (k < 0 ? " rows" : " columns") + " are");
  return success();
}

Value weir::tf::pickPlaces(NodeImport &n, Value x, Ints places, Value otherwise) {
  if (!x)
    return {};
  IntVector index(places);
  SmallVector<bool> there;
  bool any = false;
  for (int64_t &place : index) {
    there.push_back(place >= 0);
    any |= place < 0;
    place = std::max<int64_t>(place, 0);
  }
  Value picked = n.gather(x, n.ints(index), n.rank(x) - 1);
  if (!any)
    return picked;
  auto type = RankedTensorType::get({static_cast<int64_t>(there.size())}, n.b.getI1Type());
  Value mask = n.constant(DenseElementsAttr::get(type, ArrayRef<bool>(there)));
  return n.select(mask, picked, otherwise);
}
