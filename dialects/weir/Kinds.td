//===- Kinds.td - kinds of reductions, windows and borders -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerations whose text form is the bare word in quotes, as in `kind = "sum"`: what is
// not among the words is refused when the operation is made, and C++ sees the enumeration.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_KINDS_TD
#define WEIR_KINDS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Weir_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::weir";
  let genSpecializedAttr = 0;
}

def Weir_ReduceKind : Weir_Enum<"ReduceKind", "kind of reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"Mean", 4, "mean">, I32EnumAttrCase<"Any", 5, "any">,
  I32EnumAttrCase<"All", 6, "all">]>;
def Weir_PoolKind : Weir_Enum<"PoolKind", "kind of pool", [
  I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Average", 1, "average">,
  I32EnumAttrCase<"Sum", 2, "sum">, I32EnumAttrCase<"Lp", 3, "lp">]>;
def Weir_PadMode : Weir_Enum<"PadMode", "mode of padding", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Reflect", 1, "reflect">,
  I32EnumAttrCase<"Symmetric", 2, "symmetric">, I32EnumAttrCase<"Edge", 3, "edge">,
  I32EnumAttrCase<"Wrap", 4, "wrap">]>;
def Weir_ByteProducts : Weir_Enum<"ByteProducts", "what multiplies bytes", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Pairs", 1, "pairs">,
  I32EnumAttrCase<"Quads", 2, "quads">, I32EnumAttrCase<"Blocks", 3, "blocks">]>;
def Weir_Bf16Products : Weir_Enum<"Bf16Products", "what multiplies bf16", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Pairs", 1, "pairs">,
  I32EnumAttrCase<"Blocks", 2, "blocks">]>;

class Weir_EnumString<string symbol, string summary>
    : Attr<CPred<"::llvm::isa<::mlir::StringAttr>($_self) && ::weir::symbolize" # symbol #
                 "(::llvm::cast<::mlir::StringAttr>($_self).getValue())">, summary> {
  let storageType = "::mlir::StringAttr";
  let returnType = "::weir::" # symbol;
  let convertFromStorage = "*::weir::symbolize" # symbol # "($_self.getValue())";
  let constBuilderCall = "$_builder.getStringAttr(::weir::stringify" # symbol # "($0))";
}
def Weir_ReduceKindAttr : Weir_EnumString<"ReduceKind", "kind of reduction">;
def Weir_PoolKindAttr : Weir_EnumString<"PoolKind", "kind of pool">;
def Weir_PadModeAttr : Weir_EnumString<"PadMode", "mode of padding">;

#endif // WEIR_KINDS_TD
