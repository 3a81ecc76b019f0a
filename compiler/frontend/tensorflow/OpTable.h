//===- OpTable.h - the signatures of TensorFlow's operations ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a graph leaves unsaid: which inputs and outputs an operation has, and
// the defaults of attributes that exporters strip. Read from operations.txt,
// which is part of the program.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_OPTABLE_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_OPTABLE_H

#include "compiler/frontend/tensorflow/GraphDef.h"

#include <optional>
#include <string_view>
#include <vector>

namespace weir::tf {

struct AttrDef {
  std::string_view name;
  std::string_view kind; ///< `int`, `list(shape)`, `func` …
  bool hasDefault = false;
  AttrValue value; ///< the default
};

struct OpDef {
  std::string_view name;
  std::vector<ArgDef> inputs, outputs;
  std::vector<AttrDef> attrs;
  bool isStateful = false;
};

/// The operation of that name, or null. Thread-safe; the result lives as long
/// as the program.
const OpDef *findOp(std::string_view name);

/// Names that differ little from `name`, nearest first, at most three.
std::vector<std::string_view> similarOps(std::string_view name);

/// How many tensors an argument stands for under these attributes; none where
/// an attribute it hangs on is missing or senseless (negative, above 2^20).
std::optional<int64_t> argCount(const ArgDef &arg, const std::vector<Attr> &attrs);

/// The types of an argument's tensors, references as their base type; Invalid
/// where attributes do not say. Same conditions as argCount.
std::optional<std::vector<DataType>> argTypes(const ArgDef &arg, const std::vector<Attr> &attrs);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_OPTABLE_H
