//===- CheckpointImports.cpp - saving and restoring in a run --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checkpoints are written and read by the runtime's kernels (runtime/include/weir/
// kernels.h); names, slices and prefixes may be computed.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/RestoredShapes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

/// Numbers of the types in an attribute that is one, or a list of them.
static IntVector typeNumbers(NodeImport &n, std::string_view name) {
  IntVector numbers;
  const AttrValue *value = n.attr(name);
  if (value && value->list)
    numbers.assign(value->list->ints.begin(), value->list->ints.end());
  else if (value)
    numbers.push_back(static_cast<int64_t>(value->type()));
  for (int64_t &number : numbers)
    number = static_cast<int64_t>(toDataType(number));
  return numbers;
}

/// Operands of the node: `strings` of them first, then `count` tensors. Empty after a report.
static SmallVector<Value> operandsOf(NodeImport &n, size_t strings, size_t count) {
  if (n.inputCount() != strings + count) {
    (void)n.invalid("found " + Twine(n.inputCount()) + " inputs for " + Twine(count) +
                    " types of tensors");
    return {};
  }
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  for (size_t i = 0; i < strings && i < operands.size(); ++i)
    if (!n.isString(operands[i])) {
      (void)n.invalid("found an input " + Twine(i) + " that is no tensor of strings");
      return {};
    }
  return operands;
}

/// Shapes that TensorFlow wants of names and slices, where they are known.
static LogicalResult checkVectors(NodeImport &n, ArrayRef<Value> operands) {
  for (size_t i = 1; i < operands.size(); ++i)
    if (n.rank(operands[i]) != 1)
      return n.invalid("expected names or slices of rank 1, got " + Twine(n.rank(operands[i])));
  return success();
}

template <bool isOld, bool hasSlices> static LogicalResult save(NodeImport &n) {
  IntVector types = typeNumbers(n, isOld ? "T" : "dtypes");
  constexpr size_t strings = hasSlices ? 3 : 2;
  SmallVector<Value> operands = operandsOf(n, strings, types.size());
  if (operands.empty() ||
      (!isOld && failed(checkVectors(n, ArrayRef<Value>(operands).take_front(strings)))))
    return failure();
  if (isOld)
    types.insert(types.begin(), hasSlices);
  n.kernelCall(isOld ? "weir_kernel_save_slices" : "weir_kernel_save", {}, operands, types,
               /*isPure=*/false);
  return success();
}

/// Element `i` of strings that are known now.
static std::optional<std::string> stringAt(Value v, size_t i) {
  DenseElementsAttr constant;
  if (!v || !matchPattern(v, m_Constant(&constant)) ||
      !isa<StringType>(constant.getElementType()) ||
      static_cast<int64_t>(i) >= constant.getNumElements())
    return std::nullopt;
  return constant.isSplat() ? constant.getSplatValue<StringRef>().str()
                            : (*(constant.value_begin<StringRef>() + i)).str();
}

template <bool isOld, size_t strings> static LogicalResult restore(NodeImport &n) {
  IntVector types = typeNumbers(n, isOld ? "dt" : "dtypes");
  SmallVector<Value> operands = operandsOf(n, strings, 0);
  if (operands.empty() || (!isOld && failed(checkVectors(n, operands))))
    return failure();
  SmallVector<Type> results;
  IntVector attributes{isOld};
  auto at = static_cast<uint32_t>(&n.node - n.g.current->graph().nodes.data());
  for (auto [port, type] : llvm::enumerate(types)) {
    Type element = elementType(n.b.getContext(), toDataType(type));
    if (!element)
      return n.unsupported("found a tensor of a type that weir does not have");
    RestoredTensor tensor{at, static_cast<uint32_t>(port), knownString(operands[0]),
                          stringAt(operands[1], port), std::nullopt};
    if (strings > 2)
      tensor.slice = stringAt(operands[2], port);
    std::optional<RestoredShape> found = restoredShape(n, tensor);
    if (!found) {
      std::string name = n.g.nameOf(n.node) + ":" + std::to_string(port);
      n.g.sink->report({"W0255",
                        n.g.file,
                        n.g.nameOf(n.node),
                        std::string(n.node.op),
                        "the rank of output " + std::to_string(port) +
                            " is not known, and taken for a scalar's; give its shape by --shape=" +
                            name + "=1x2x3 (? for a dimension that varies)",
                        {},
                        Severity::Warning});
      found.emplace();
    }
    RankedTensorType result = tensorType(n.b.getContext(), toDataType(type), found->shape);
    if (!result)
      return n.unsupported("found a tensor of more elements than there can be");
    results.push_back(result);
    attributes.append({type, found->code});
  }
  Operation *made =
      n.kernelCall("weir_kernel_restore", results, operands, attributes, /*isPure=*/false);
  return n.results(SmallVector<Value>(made->getResults()));
}

static LogicalResult merge(NodeImport &n) {
  SmallVector<Value> operands = operandsOf(n, 2, 0);
  if (operands.empty())
    return failure();
  if (n.rank(operands[0]) != 1 || n.rank(operands[1]) != 0)
    return n.invalid("expected prefixes of rank 1 and a destination of rank 0, got " +
                     Twine(n.rank(operands[0])) + " and " + Twine(n.rank(operands[1])));
  n.kernelCall("weir_kernel_merge_checkpoints", {}, operands,
               {n.isSet("delete_old_dirs"), n.isSet("allow_missing_files")}, /*isPure=*/false);
  return success();
}

static LogicalResult shardedName(NodeImport &n) {
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (operands.size() < 2)
    return failure();
  for (Value operand : operands)
    if (n.rank(operand) != 0)
      return n.invalid("expected a scalar, got an input of rank " + Twine(n.rank(operand)));
  Operation *made =
      n.kernelCall("weir_kernel_sharded_name",
                   {RankedTensorType::get({}, StringType::get(n.b.getContext()))}, operands, {});
  return n.result(made->getResult(0));
}

ArrayRef<OpImport> weir::tf::checkpointImports() {
  static const OpImport rows[] = {
      {"MergeV2Checkpoints", merge},      {"Restore", restore<true, 2>},
      {"RestoreSlice", restore<true, 3>}, {"RestoreV2", restore<false, 3>},
      {"Save", save<true, false>},        {"SaveSlices", save<true, true>},
      {"SaveV2", save<false, true>},      {"ShardedFilename", shardedName},
      {"ShardedFilespec", shardedName},
  };
  return rows;
}
