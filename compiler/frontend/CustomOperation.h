//===- CustomOperation.h - operations that users bring -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A description file (JSON) declares C functions for operations that weir does
// not know:
//   {"operations": [{"name": "MyScale", "function": "my_scale",
//                    "attributes": ["factor"], "pure": true,
//                    "outputs": [{"dtype": "input:0", "shape": "input:0"}]}]}
// `function` has the type weir_library_fn and is linked with the object.
// `attributes` of the node are handed over in that order: integers as numbers, others
// (`{"name": "alpha", "type": "float", "default": 0.5}`) as tensors behind the inputs. An
// output's dtype is a name (f32, i64, …) or an input's; its shape a list with -1 for what
// the function decides, or an input's. See docs/custom-operations.md.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_CUSTOMOPERATION_H
#define WEIR_COMPILER_FRONTEND_CUSTOMOPERATION_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir {

struct CustomOperation {
  /// The value of an attribute: what its type needs of the three.
  struct Constant {
    std::vector<int64_t> integers;
    std::vector<double> reals;
    std::vector<std::string> texts;
  };
  struct Attribute {
    std::string name;
    std::string type = "int"; ///< one of attributeTypes()
    /// Whether it is handed over as a number, and not as a tensor behind the inputs.
    bool isNumber() const { return type == "int" || type == "bool"; }
    /// Of a node that has no such attribute; none: that is an error.
    std::optional<Constant> standard;
  };
  /// int, bool, float, string, type, shape, ints, floats, strings, types, tensor.
  static const std::vector<std::string> &attributeTypes();

  struct Output {
    int dtypeOfInput = -1; ///< -1: `dtype` says it
    std::string dtype;
    int shapeOfInput = -1; ///< -1: `shape` says it
    std::vector<int64_t> shape;
  };
  std::string name;
  std::string function; ///< "": the program that runs the model hands it over
  std::vector<Attribute> attributes;
  std::vector<Output> outputs;
  bool pure = true;
  /// The operation of the same file that computes the gradients of the inputs
  /// that are floats, and its function; "": there is none.
  std::string gradient, gradientFunction;
  /// Operations of arithmetic for each element of the results, for estimates;
  /// -1: not said.
  double flopsPerElement = -1;
};

/// The operations that a description file declares. False, with `error` set,
/// where it cannot be read or is malformed.
bool readCustomOperations(const std::string &path, std::vector<CustomOperation> &operations,
                          std::string &error);

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_CUSTOMOPERATION_H
