//===- CrossImports.cpp - crossed features --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's kernel makes them (weir_kernel_cross); here operands are put in its
// order: ragged columns, sparse ones, dense ones, and what joins them.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NumericImports.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {
struct Crossing {
  size_t ragged = 0, sparse = 0, dense = 0;
  int64_t hashing = 0; ///< weir_kernel_cross's `hashed`
  bool givesSplits = false;
  int64_t buckets = 0, key = 0;
  SmallVector<int64_t> kinds; ///< of each column: 0 ragged, 1 sparse, 2 dense
  Value last;                 ///< the separator, or buckets and salt
};
} // namespace

/// Input lists as TensorFlow has them, each list after the other.
static LogicalResult cross(NodeImport &n, Crossing c, Type element, Type splitsType) {
  size_t first = 2 * c.ragged, dense = first + 3 * c.sparse;
  SmallVector<Value> in = n.tensors(0, dense + c.dense), operands;
  if (in.size() != dense + c.dense || in.empty() || !c.last)
    return failure();
  auto feature = [&](Value v) { return n.isString(v) ? v : n.toI64(v); };
  for (size_t i = 0; i < c.ragged; ++i) {
    operands.push_back(feature(in[i]));
    operands.push_back(n.toI64(in[c.ragged + i]));
  }
  for (size_t i = 0; i < c.sparse; ++i) {
    operands.push_back(n.toI64(in[first + i]));
    operands.push_back(feature(in[first + c.sparse + i]));
    operands.push_back(n.toI64(in[first + 2 * c.sparse + i]));
  }
  for (size_t i = 0; i < c.dense; ++i)
    operands.push_back(feature(in[dense + i]));
  operands.push_back(c.last);
  SmallVector<int64_t> attributes = {c.hashing,
                                     c.buckets,
                                     c.key,
                                     static_cast<int64_t>(c.sparse),
                                     static_cast<int64_t>(c.ragged),
                                     static_cast<int64_t>(c.dense),
                                     c.givesSplits};
  attributes.append(c.kinds);
  constexpr int64_t open = ShapedType::kDynamic;
  Type i64 = n.b.getI64Type();
  SmallVector<Type> types;
  if (c.givesSplits)
    types = {RankedTensorType::get({open}, element), RankedTensorType::get({open}, splitsType)};
  else
    types = {RankedTensorType::get({open, 2}, i64), RankedTensorType::get({open}, element),
             RankedTensorType::get({2}, i64)};
  Operation *call = n.kernelCall("weir_kernel_cross", types, operands, attributes);
  return call ? n.results(SmallVector<Value>(call->getResults())) : failure();
}

/// The number of the tensors that a list attribute tells the types of.
static size_t listSize(NodeImport &n, std::string_view name) {
  const AttrValue *value = n.attr(name);
  return value && value->list ? value->list->size() : 0;
}

static Crossing sparseCrossing(NodeImport &n) {
  Crossing c;
  c.sparse = static_cast<size_t>(std::max<int64_t>(n.i("N"), 0));
  c.dense = listSize(n, "dense_types");
  c.kinds.assign(c.sparse, 1);
  c.kinds.append(c.dense, 2);
  return c;
}

static LogicalResult sparseCross(NodeImport &n) {
  Crossing c = sparseCrossing(n);
  c.hashing = n.isSet("hashed_output");
  c.buckets = n.i("num_buckets");
  c.key = n.i("hash_key");
  c.last = n.stringScalar("_X_");
  return cross(n, c, n.elementAttr("out_type"), {});
}

static LogicalResult sparseCrossV2(NodeImport &n) {
  Crossing c = sparseCrossing(n);
  c.last = n.in(3 * c.sparse + c.dense);
  return cross(n, c, StringType::get(n.b.getContext()), {});
}

static LogicalResult sparseCrossHashed(NodeImport &n) {
  Crossing c = sparseCrossing(n);
  size_t first = 3 * c.sparse + c.dense;
  Value buckets = n.in(first), salt = n.in(first + 2);
  auto isStrong = n.constantInt(first + 1);
  if (!buckets || !salt || !isStrong)
    return failure();
  c.hashing = *isStrong ? 3 : 2;
  for (size_t i = 0; i < first; ++i) {
    bool isSparse = i >= c.sparse && i < 2 * c.sparse, isDense = i >= 3 * c.sparse;
    Value feature = isSparse || (isDense && *isStrong) ? n.in(i) : Value();
    if (feature && !n.isString(feature))
      return n.unsupported("expected strings in sparse columns and with strong_hash, got integers");
  }
  c.last = n.concat({n.reshape(n.toI64(buckets), {1}), n.reshape(n.toI64(salt), {2})}, 0);
  return cross(n, c, n.b.getI64Type(), {});
}

/// `input_order` says which of the lists the next column is of.
static LogicalResult raggedCross(NodeImport &n) {
  Crossing c;
  c.ragged = listSize(n, "ragged_values_types");
  c.sparse = static_cast<size_t>(std::max<int64_t>(n.i("Nsparse"), 0));
  c.dense = listSize(n, "dense_types");
  size_t counts[3] = {};
  for (char kind : n.s("input_order")) {
    int64_t number = kind == 'R' ? 0 : kind == 'S' ? 1 : 2;
    ++counts[number];
    c.kinds.push_back(number);
  }
  if (counts[0] != c.ragged || counts[1] != c.sparse || counts[2] != c.dense)
    return n.invalid("found an input_order that does not fit the inputs");
  c.hashing = n.isSet("hashed_output");
  c.buckets = n.i("num_buckets");
  c.key = n.i("hash_key");
  c.givesSplits = true;
  c.last = n.stringScalar("_X_");
  return cross(n, c, n.elementAttr("out_values_type"), n.elementAttr("out_row_splits_type"));
}

ArrayRef<OpImport> weir::tf::crossImports() {
  static const OpImport rows[] = {
      {"SparseCross", sparseCross},
      {"SparseCrossV2", sparseCrossV2},
      {"SparseCrossHashed", sparseCrossHashed},
      {"RaggedCross", raggedCross},
  };
  return rows;
}
