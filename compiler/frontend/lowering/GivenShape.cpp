//===- GivenShape.cpp - shapes that a model computes ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/lowering/GivenShape.h"
#include "dialects/weir/SizeOrigins.h"

using namespace mlir;
using namespace weir;

Value weir::frontend::ofGivenShape(TensorBuilder &t, Value made, Value shape, bool mayBeDerived,
                                   Require require) {
  auto type = made ? dyn_cast<RankedTensorType>(made.getType()) : RankedTensorType();
  if (!type || !shape)
    return made;
  SizeOrigins origins;
  auto sizes = origins.integers(shape);
  for (int64_t i = 0; i < type.getRank(); ++i) {
    bool isKnown = sizes && static_cast<size_t>(i) < sizes->size() && (*sizes)[i].value;
    if (type.isDynamicDim(i) || isKnown)
      continue; // the operation itself makes sure, or did
    Value given = t.slice(shape, 0, i, i + 1);
    Value fits = t.compare("eq", given, static_cast<double>(type.getDimSize(i)));
    if (mayBeDerived)
      fits = t.op<OrOp>(fits, t.compare("eq", given, -1));
    require(fits, "a size of the shape that is asked for does not fit the elements that are there");
  }
  return made;
}
