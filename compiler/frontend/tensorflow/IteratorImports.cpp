//===- IteratorImports.cpp - iterators over data sets ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Datasets.h"
#include "compiler/frontend/tensorflow/Queues.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static LogicalResult named(NodeImport &n) { return n.result(n.stringScalar(resourceName(n, 'i'))); }

/// A handle, and a word that it may be deleted.
static LogicalResult anonymous(NodeImport &n) {
  Type type = RankedTensorType::get({}, StringType::get(n.b.getContext()));
  Value name = n.kernelCall("weir_kernel_iterator_anonymous", {type}, {}, {}, /*isPure=*/false)
                   ->getResult(0);
  if (failed(n.result(name)))
    return failure();
  return n.node.outputTypes.size() > 1 ? n.result(n.stringScalar("")) : success();
}

/// One whose data set a function makes, when it is first asked for.
static LogicalResult oneShot(NodeImport &n) {
  FailureOr<DatasetFunction> function = datasetFunction(n, "dataset_factory", {}, 0, 0);
  if (failed(function))
    return failure();
  Value name = n.stringScalar(resourceName(n, 'i'));
  n.kernelCall("weir_kernel_iterator_make_once", {}, {name, function->name}, {}, /*isPure=*/false);
  return n.result(name);
}

static LogicalResult makeIterator(NodeImport &n) {
  Value dataset = datasetAt(n, 0), name = n.in(1);
  return success(dataset && name &&
                 n.kernelCall("weir_kernel_iterator_make", {}, {name, dataset}, {},
                              /*isPure=*/false));
}

static LogicalResult getNext(NodeImport &n) {
  Value name = n.in(0);
  std::optional<SmallVector<Type>> types = name ? typesOf(n, saidComponents(n)) : std::nullopt;
  if (!types)
    return failure();
  return waitWith(n, "weir_kernel_iterator_next", "weir_kernel_iterator_finish", {name}, {}, {0},
                  *types);
}

/// An optional of several values is a sequence of them.
static LogicalResult getNextAsOptional(NodeImport &n) {
  Value name = n.in(0);
  return name ? waitWith(n, "weir_kernel_iterator_next", "weir_kernel_iterator_finish", {name}, {},
                         {1}, {sequenceType(n.b.getContext(), ShapedType::kDynamic)})
              : failure();
}

static LogicalResult deleted(NodeImport &n) {
  Value name = n.in(0);
  return success(name && n.kernelCall("weir_kernel_iterator_drop", {}, {name}, {},
                                      /*isPure=*/false));
}

static LogicalResult handed(NodeImport &n) {
  Value name = n.in(0);
  return name ? n.result(name) : failure();
}

/// What is cached ends with who iterates.
static LogicalResult memoryCache(NodeImport &n) {
  LogicalResult made = success();
  for (size_t i = 0; succeeded(made) && i < n.node.outputTypes.size(); ++i)
    made = n.result(n.stringScalar(""));
  return made;
}

static LogicalResult nothing(NodeImport &) { return success(); }

ArrayRef<OpImport> weir::tf::iteratorImports() {
  static const OpImport rows[] = {
      {"AnonymousMemoryCache", memoryCache},
      {"AnonymousIterator", anonymous},
      {"AnonymousIteratorV2", anonymous},
      {"AnonymousIteratorV3", anonymous},
      {"DeleteIterator", deleted},
      {"DeleteMemoryCache", nothing},
      {"DeleteSeedGenerator", nothing},
      {"DeleteRandomSeedGenerator", nothing},
      {"DummyMemoryCache", memoryCache},
      {"Iterator", named},
      {"IteratorFromStringHandle", handed},
      {"IteratorFromStringHandleV2", handed},
      {"IteratorGetNext", getNext},
      {"IteratorGetNextAsOptional", getNextAsOptional},
      {"IteratorGetNextSync", getNext},
      {"IteratorToStringHandle", handed},
      {"IteratorV2", named},
      {"MakeIterator", makeIterator},
      {"OneShotIterator", oneShot},
  };
  return rows;
}
