//===- MapImports.cpp - maps from tensors to tensors ----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TensorFlow keeps a map in a variant, which each change copies. Here it is its keys and
// values, a row each, in the order they came; one that nothing was put into has neither. All
// keys are of one shape, and all values.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/NumericImports.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// Of n rows; without them where nothing was ever put in.
struct TensorMap {
  Value keys, values;
};

} // namespace

static std::optional<TensorMap> mapInput(NodeImport &n) {
  const Imported &input = n.inputs[0];
  if (input.kind != Imported::Kind::Group || (!input.group->empty() && input.group->size() != 2)) {
    (void)n.unsupported("found an input 0 that is no map of the graph; those that loops and "
                        "branches hand on are not followed");
    return std::nullopt;
  }
  if (input.group->empty())
    return TensorMap{};
  return TensorMap{input.group->front(), input.group->back()};
}

static LogicalResult mapResult(NodeImport &n, Value keys, Value values) {
  return keys && values ? n.result(Imported::makeGroup({keys, values})) : failure();
}

/// Whether each key is the one that input 1 is: i1 [n].
static Value matches(NodeImport &n, const TensorMap &map) {
  Value key = n.in(1);
  if (!map.keys || !key)
    return {};
  if (n.element(key) != n.element(map.keys) || n.rank(key) + 1 != n.rank(map.keys)) {
    (void)n.unsupported("found keys of different types or ranks in one map");
    return {};
  }
  require(n, n.compare("eq", n.shapeSlice(map.keys, 1, n.rank(map.keys)), n.shapeOf(key)),
          "keys of different shapes in one map");
  Value row = n.unsqueeze(key, {0});
  Value same = isa<StringType>(n.element(key)) ? n.equalStrings(map.keys, row)
                                               : n.compare("eq", map.keys, row);
  return same && n.rank(same) > 1 ? n.reduce(same, "all", axesFrom(1, n.rank(same)), false) : same;
}

static Value isAny(NodeImport &n, Value mask) {
  return mask ? n.logicalNot(allTrue(n, n.logicalNot(mask))) : Value();
}

static LogicalResult emptyMap(NodeImport &n) { return n.result(Imported::makeGroup({})); }

static LogicalResult insert(NodeImport &n) {
  std::optional<TensorMap> map = mapInput(n);
  Value key = n.in(1), value = n.in(2);
  if (!map || !key || !value)
    return failure();
  Value newKey = n.unsqueeze(key, {0}), newValue = n.unsqueeze(value, {0});
  if (!map->keys)
    return mapResult(n, newKey, newValue);
  Value same = matches(n, *map);
  if (!same)
    return failure();
  if (n.element(value) != n.element(map->values) || n.rank(newValue) != n.rank(map->values))
    return n.unsupported("found values of different types or ranks in one map");
  require(n, n.compare("eq", n.shapeSlice(map->values, 1, n.rank(map->values)), n.shapeOf(value)),
          "values of different shapes in one map");
  // A key that is there gives its row up; the new one comes last.
  Value kept = whereTrue(n, n.logicalNot(same));
  return mapResult(n, n.concat({take(n, map->keys, kept), newKey}, 0),
                   n.concat({take(n, map->values, kept), newValue}, 0));
}

/// The row of input 1's key (i64 scalar), which must be there.
static Value rowOf(NodeImport &n, const TensorMap &map, StringRef message) {
  if (!map.keys) {
    (void)n.invalid("found no key in the map");
    return {};
  }
  Value same = matches(n, map);
  if (!same)
    return {};
  require(n, isAny(n, same), message);
  Value rows = n.mul(n.cast(same, n.b.getI64Type()), countUp(n, n.sizeOf(same, 0)));
  return n.reduce(rows, "sum", {0}, false);
}

static LogicalResult lookUp(NodeImport &n) {
  std::optional<TensorMap> map = mapInput(n);
  Value row = map ? rowOf(n, *map, "Trying to lookup non-existent key.") : Value();
  return row ? n.result(take(n, map->values, row)) : failure();
}

static LogicalResult erase(NodeImport &n) {
  std::optional<TensorMap> map = mapInput(n);
  if (!map || !rowOf(n, *map, "Trying to erase non-existent item."))
    return failure();
  Value kept = whereTrue(n, n.logicalNot(matches(n, *map)));
  return mapResult(n, take(n, map->keys, kept), take(n, map->values, kept));
}

static LogicalResult hasKey(NodeImport &n) {
  std::optional<TensorMap> map = mapInput(n);
  if (!map)
    return failure();
  return n.result(map->keys ? isAny(n, matches(n, *map)) : n.splat(n.b.getI1Type(), {}, 0));
}

static LogicalResult size(NodeImport &n) {
  std::optional<TensorMap> map = mapInput(n);
  Type i32 = n.b.getI32Type();
  if (!map)
    return failure();
  return n.result(map->keys ? n.cast(n.toScalar(n.sizeOf(map->keys, 0)), i32) : n.scalar(i32, 0));
}

static LogicalResult stackKeys(NodeImport &n) {
  std::optional<TensorMap> map = mapInput(n);
  if (!map)
    return failure();
  if (!map->keys)
    return n.invalid("found no key in the map");
  require(n, n.compare("gt", n.sizeOf(map->keys, 0), 0),
          "TensorMapStackKeys cannot be called on empty map.");
  return n.result(map->keys);
}

ArrayRef<OpImport> weir::tf::mapImports() {
  static const OpImport rows[] = {
      {"EmptyTensorMap", emptyMap},      {"TensorMapInsert", insert}, {"TensorMapLookup", lookUp},
      {"TensorMapErase", erase},         {"TensorMapHasKey", hasKey}, {"TensorMapSize", size},
      {"TensorMapStackKeys", stackKeys},
  };
  return rows;
}
