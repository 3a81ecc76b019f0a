//===- Control.td - control flow, state, order, devices -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_CONTROL_TD
#define WEIR_CONTROL_TD

include "dialects/weir/WeirBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def Weir_AnyValue : AnyTypeOf<[Weir_AnyTensor, Weir_TokenType, Weir_ResourceType]>;

def Weir_YieldOp : Weir_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["IfOp", "WhileOp"]>]> {
  let summary = "ends a region with its results";
  let arguments = (ins Variadic<Weir_AnyValue>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}
def Weir_IfOp : Weir_Op<"if", [RecursiveMemoryEffects, SingleBlock, NoRegionArguments]> {
  let summary = "runs one of two regions; both yield the results";
  let description = [{Regions see the values around them. The condition is a scalar i1 tensor.}];
  let arguments = (ins Weir_BoolTensor:$condition);
  let results = (outs Variadic<Weir_AnyValue>:$results);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = "$condition `:` functional-type($condition, results) `then` $then_region `else` $else_region attr-dict";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}
def Weir_WhileOp : Weir_Op<"while", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "repeats `body` while `condition` yields true";
  let description = [{
    Both regions take the loop-carried values as block arguments and may use
    values from around them. `condition` yields a scalar i1 tensor, `body` the
    next carried values. Types of carried values are invariant.
  }];
  let arguments = (ins Variadic<Weir_AnyValue>:$inits);
  let results = (outs Variadic<Weir_AnyValue>:$results);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let assemblyFormat = "operands `:` functional-type($inits, results) `while` $condition `do` $body attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

def Weir_GateOp : Weir_Op<"gate", [Pure, AllTypesMatch<["value", "result"]>, KeepsShape, CheapToRepeat]> {
  let summary = "`value`, but not before `tokens`";
  let arguments = (ins Weir_AnyTensor:$value, Variadic<Weir_TokenType>:$tokens);
  let results = (outs Weir_AnyTensor:$result);
  let assemblyFormat = "$value (`after` $tokens^)? attr-dict `:` type($value)";
  let hasFolder = 1;
}
def Weir_DoneOp : Weir_Op<"done", [Pure, CheapToRepeat]> {
  let summary = "a token that stands for having computed `values` and passed `tokens`";
  let arguments = (ins Variadic<Weir_AnyValue>:$values);
  let results = (outs Weir_TokenType:$token);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

def Weir_VariableOp : Weir_Op<"variable", [Pure, CheapToRepeat]> {
  let summary = "the variable `name` of the session";
  let description = [{
    `type` is the type of the values it may hold. `initial` is its value in a new
    session; without one, reading before an assignment is a run-time error.
    Operations with equal (container, shared name or name) are the same variable.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$container, TypeAttr:$type, OptionalAttr<AnyAttr>:$initial);
  let results = (outs Weir_ResourceType:$resource);
  let assemblyFormat = "attr-dict `:` type($resource)";
}
def Weir_VariableReadOp : Weir_Op<"variable_read", [WritesNoVariable]> {
  let summary = "the whole value that a variable holds";
  let arguments = (ins Arg<Weir_ResourceType, "", [MemRead]>:$resource, Variadic<Weir_TokenType>:$tokens);
  let results = (outs Weir_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def Weir_VariableAssignOp : Weir_Op<"variable_assign"> {
  let summary = "gives a variable a new value";
  let arguments = (ins Arg<Weir_ResourceType, "", [MemWrite]>:$resource, Weir_AnyTensor:$value, Variadic<Weir_TokenType>:$tokens);
  let results = (outs Weir_TokenType:$token);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Effects and calls
//===----------------------------------------------------------------------===//

def Weir_AssertOp : Weir_Op<"assert", [MemoryEffects<[MemWrite]>, WritesNoVariable]> {
  let summary = "ends the run with status `code` and `message` unless all of `condition` holds";
  let arguments = (ins Weir_BoolTensor:$condition, StrAttr:$message, I64Attr:$code, Variadic<Weir_TokenType>:$tokens);
  let results = (outs Weir_TokenType:$token);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def Weir_CustomCallOp : Weir_Op<"custom_call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a call of a C function of the user (weir_library_fn)";
  let description = [{
    `parameters` are handed over as integers. Sizes of results that the types
    leave open are those that the function reports.
  }];
  let arguments = (ins Variadic<Weir_AnyTensor>:$inputs, StrAttr:$callee, DenseI64ArrayAttr:$parameters, BoolAttr:$pure);
  let results = (outs Variadic<Weir_AnyTensor>:$results);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

def Weir_SendOp : Weir_Op<"send", [MemoryEffects<[MemWrite]>, WritesNoVariable]> {
  let summary = "sends a tensor (or only a control edge, without value) over `edge`";
  let arguments = (ins Variadic<Weir_AnyValue>:$value, I64Attr:$edge, StrAttr:$key);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def Weir_ReceiveOp : Weir_Op<"receive", [MemoryEffects<[MemRead]>, WritesNoVariable]> {
  let summary = "the tensor (or token) that arrives over `edge`";
  let arguments = (ins I64Attr:$edge, StrAttr:$key);
  let results = (outs Weir_AnyValue:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif // WEIR_CONTROL_TD
