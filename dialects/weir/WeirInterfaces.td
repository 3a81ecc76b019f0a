//===- WeirInterfaces.td - what operations say of themselves -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_INTERFACES_TD
#define WEIR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def ElementalOpInterface : OpInterface<"ElementalOpInterface"> {
  let cppNamespace = "::weir";
  let description = [{
    How one element of a result is computed from elements of the operands. Code
    generators build whole fused kernels from it: a kernel is a loop over a
    root's elements whose operands are read, or computed in turn by the
    operations that were fused into it.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits code for the element of result `result` at `indices` (values of type
      index, one a dimension) and returns it, in the form that
      `ElementReader::element` documents.
    }], "::mlir::Value", "emitElement",
      (ins "::weir::ElementReader &":$reader, "unsigned":$result,
           "::mlir::ValueRange":$indices)>,
    InterfaceMethod<[{
      Whether computing an element visits many operand elements (a sum, a
      window): fusing such an operation into a consumer that reads elements more
      than once would repeat the work.
    }], "bool", "isElementExpensive", (ins), "", [{ return false; }]>,
  ];
}

def ReifyShapeOpInterface : OpInterface<"ReifyShapeOpInterface"> {
  let cppNamespace = "::weir";
  let description = [{
    The sizes of results as code, for dimensions that types leave open.
  }];
  let methods = [
    InterfaceMethod<[{
      Appends the dimensions of result `result` as values of type index. Failure
      means that they are known only by running the operation (data-dependent).
    }], "::llvm::LogicalResult", "reifyShape",
      (ins "::weir::ElementReader &":$reader, "unsigned":$result,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$dims)>,
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::weir";
  let description = [{What the operation costs on any device, from static sizes.}];
  let methods = [
    InterfaceMethod<"Arithmetic operations, -1 when sizes are unknown.",
      "int64_t", "getFlops", (ins), "", [{
        return ::weir::detail::elementCountOfResults($_op);
      }]>,
  ];
}

def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::weir";
  let description = [{
    A composite in terms of smaller operations, for back ends that do not claim
    it whole. Used by the one late decomposition.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the equivalent before the operation, and returns one value a result.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def ParametersOpInterface : OpInterface<"ParametersOpInterface"> {
  let cppNamespace = "::weir";
  let description = [{
    Operands that say what is done with the others: shapes, bounds, counts. Where they are
    constant, what is wrong with them is found when the model is compiled.
  }];
  let methods = [
    InterfaceMethod<"The parameters: all operands behind the first.", "::mlir::OperandRange",
      "getParameters", (ins), "", [{ return $_op->getOperands().drop_front(); }]>,
  ];
}

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::weir";
  let description = [{An operation of the elementwise table.}];
  let methods = [
    InterfaceMethod<"The computation on scalars (or on vectors, lane by lane).",
      "::mlir::Value", "emitScalar",
      (ins "::weir::ScalarBuilder &":$s, "::mlir::ValueRange":$args)>,
  ];
}

#endif // WEIR_INTERFACES_TD
