//===- ScatterImports.cpp - values put where indices say -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static LogicalResult scatterInto(NodeImport &n, Value to, Value indices, Value updates,
                                 StringRef reduction) {
  if (to && n.isString(to) && reduction != "none")
    return n.unsupported("expected a reduction of numbers, got one of strings");
  Value tuples = n.tuplesOfKnownLength(to, indices, updates);
  if (indices && !tuples)
    return n.invalid("found updates of rank " + Twine(n.rank(updates)) + " for a tensor of rank " +
                     Twine(n.rank(to)));
  bool ignore = n.s("bad_indices_policy") == "IGNORE";
  return n.result(
      n.op<ScatterNdOp>(to, tuples, updates, n.text(reduction), n.flag(false), n.flag(ignore)));
}

/// Strings for one place are joined by TensorFlow.
static LogicalResult requireOnePlaceEach(NodeImport &n, Value indices, Value shape) {
  int64_t last = n.rank(indices) - 1, length = last < 0 ? -1 : n.dim(indices, last);
  if (length < 0)
    return n.unsupported("found strings to be scattered by indices of unknown length");
  Value count = n.sizeProduct(indices, 0, last);
  Value tuples = n.toI64(n.reshapeTo(indices, n.concat({count, n.ints({length})}, 0)));
  Value sizes = n.slice(n.toI64(shape), 0, 0, length);
  require(n, n.op<AndOp>(n.compare("ge", tuples, 0), n.compare("lt", tuples, sizes)),
          "an index is out of range");
  Value keys = linearKeys(n, tuples, sizes, length);
  Distinct places = distinct(n, keys);
  if (!places)
    return failure();
  require(n, n.compare("eq", n.sizeOf(places.values, 0), n.sizeOf(keys, 0)),
          "several strings are for one place, and would be joined", unimplemented);
  return success();
}

static LogicalResult scatterNd(NodeImport &n) {
  Value indices = n.in(0), updates = n.in(1), shape = n.in(2);
  if (!indices || !updates || !shape)
    return failure();
  if (n.isString(updates) && failed(requireOnePlaceEach(n, indices, shape)))
    return failure();
  Value zeros = n.expandTo(n.like(updates, 0), shape);
  requireRoomFor(n, zeros, indices, updates);
  return scatterInto(n, zeros, indices, updates, n.isString(updates) ? "none" : "add");
}

namespace {
struct Reduction {
  static constexpr char none[] = "none", add[] = "add", sub[] = "sub", max[] = "max_or_old",
                        min[] = "min_or_old";
};
} // namespace

template <const char *reduction> static LogicalResult tensorScatter(NodeImport &n) {
  requireRoomFor(n, n.in(0), n.in(1), n.in(2));
  return scatterInto(n, n.in(0), n.in(1), n.in(2), reduction);
}

/// Rows of `x` at `i` set, added to or taken from. TensorFlow takes any index modulo the number of
/// rows; where there are none, it would divide by 0, and the scatter refuses index 0.
template <const char *reduction> static LogicalResult inplace(NodeImport &n) {
  Value to = n.in(0), indices = n.in(1);
  if (!to || !indices)
    return failure();
  Value rows = n.maximum(n.sizeOf(to, 0), 1.0);
  indices = n.op<FloorModOp>(n.toI64(indices), rows);
  return scatterInto(n, to, n.unsqueeze(indices, {n.rank(indices)}), n.in(2), reduction);
}

ArrayRef<OpImport> weir::tf::scatterImports() {
  static const OpImport rows[] = {
      {"ScatterNd", scatterNd},
      {"TensorScatterUpdate", tensorScatter<Reduction::none>},
      {"TensorScatterAdd", tensorScatter<Reduction::add>},
      {"ScatterNdNonAliasingAdd", tensorScatter<Reduction::add>},
      {"TensorScatterSub", tensorScatter<Reduction::sub>},
      {"TensorScatterMax", tensorScatter<Reduction::max>},
      {"TensorScatterMin", tensorScatter<Reduction::min>},
      {"InplaceUpdate", inplace<Reduction::none>},
      {"InplaceAdd", inplace<Reduction::add>},
      {"InplaceSub", inplace<Reduction::sub>},
  };
  return rows;
}
