//===- BatchProduct.cpp - products whose batches are broadcast ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/BatchProduct.h"

using namespace mlir;
using namespace weir;
using namespace weir::frontend;

Value weir::frontend::batchProduct(TensorBuilder &t, Value x, Value y, int64_t batches,
                                   int64_t terms) {
  if (!x || !y)
    return {};
  int64_t rows = t.rank(x) - batches - terms, columns = t.rank(y) - batches - terms;
  auto matrices = [&](Value v, int64_t inner, int64_t outer) {
    if (inner == 1 && outer == 1)
      return v;
    int64_t middle = batches + inner, rank = middle + outer;
    return t.reshapeTo(v, t.concat({t.shapeSlice(v, 0, batches), t.sizeProduct(v, batches, middle),
                                    t.sizeProduct(v, middle, rank)},
                                   0));
  };
  Value product = t.matmul(matrices(x, rows, terms), matrices(y, terms, columns));
  if (!product || (rows == 1 && columns == 1))
    return product;
  return t.reshapeTo(product, t.concat({t.shapeSlice(product, 0, batches),
                                        t.shapeSlice(x, batches, batches + rows),
                                        t.shapeSlice(y, batches + terms, t.rank(y))},
                                       0));
}
