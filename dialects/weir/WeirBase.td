//===- WeirBase.td - dialect, types, attributes, interfaces -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_BASE_TD
#define WEIR_BASE_TD

include "dialects/weir/Kinds.td"
include "dialects/weir/WeirInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Weir_Dialect : Dialect {
  let name = "weir";
  let cppNamespace = "::weir";
  let summary = "graphs of tensor operations, neutral to the model's format";
  let description = [{
    The level that importers produce and graph passes transform. Value semantics
    on builtin tensors, with static or dynamic dimensions; NumPy broadcasting;
    explicit attributes without defaults that hang on a format. Unsigned
    integers are `ui8` and so on, signed ones signless `i8`, booleans `i1`,
    strings `!weir.string`, elements of sequences `!weir.box`. Every operation may carry a `weir.device` attribute
    with a (partial) device name. Locations are the names of the model's nodes.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  // Those that operations describe their elements in, too.
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
    "::mlir::complex::ComplexDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

class Weir_Type<string name, string mnem> : TypeDef<Weir_Dialect, name> {
  let mnemonic = mnem;
}
def Weir_StringType : Weir_Type<"String", "string"> {
  let summary = "element type of tensors of byte strings";
}
def Weir_BoxType : Weir_Type<"Box", "box"> {
  let summary = "element type of sequences and optionals: a tensor of any type and shape";
  let description = [{
    A sequence is a `tensor<?x!weir.box>`, an optional one of at most one
    element; either may itself lie in a box. Elements are pointers to tensors
    that do not change and live until the run ends, so that sequences are moved,
    cut, carried and joined as any tensor is.
  }];
}
def Weir_TokenType : Weir_Type<"Token", "token"> {
  let summary = "order between operations with effects (control dependency)";
}
def Weir_ResourceType : Weir_Type<"Resource", "resource"> {
  let summary = "state that lives in a session: a variable, a queue";
}

def Weir_BlobAttr : AttrDef<Weir_Dialect, "Blob", [TypedAttrInterface]> {
  let mnemonic = "blob";
  let summary = "constant bytes inside a mapped file";
  let description = [{
    Row-major little-endian bytes at `offset` of file `source`. `hash` is the
    128-bit XXH3 of the bytes in hexadecimal: equal contents are recognised by
    it. The bytes go from the map to the object without becoming IR.
  }];
  let parameters = (ins
    AttributeSelfTypeParameter<"">:$type,
    StringRefParameter<"file">:$source,
    "int64_t":$offset,
    "int64_t":$length,
    StringRefParameter<"XXH3-128 of the bytes">:$hash);
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::Type":$type,
      "::llvm::StringRef":$source, "int64_t":$offset, "int64_t":$length,
      "::llvm::StringRef":$hash), [{
    return $_get(type.getContext(), type, source, offset, length, hash);
  }]>];
  let assemblyFormat = "`<` $source `,` $offset `,` $length `,` $hash `>`";
}

def Weir_ScaledAttr : AttrDef<Weir_Dialect, "Scaled", [TypedAttrInterface]> {
  let mnemonic = "scaled";
  let summary = "the elements of a blob, times one factor for each entry of a dimension";
  let description = [{
    The elements of `source`, a blob of f32, each times the factor of its index along dimension
    `axis`, in f32: what becomes of a filter that a normalisation behind it scales. The bytes are
    made when the object is written, or arranged then.
  }];
  let parameters = (ins
    AttributeSelfTypeParameter<"">:$type,
    "::mlir::TypedAttr":$source,
    "::mlir::DenseF32ArrayAttr":$factors,
    "int64_t":$axis);
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::TypedAttr":$source,
      "::llvm::ArrayRef<float>":$factors, "int64_t":$axis), [{
    auto *context = source.getContext();
    return $_get(context, source.getType(), source,
                 ::mlir::DenseF32ArrayAttr::get(context, factors), axis);
  }]>];
  let assemblyFormat = "`<` $source `,` custom<Factors>($factors) `,` $axis `>`";
  let genVerifyDecl = 1;
}

def Weir_ArrangedAttr : AttrDef<Weir_Dialect, "Arranged", [TypedAttrInterface]> {
  let mnemonic = "arranged";
  let summary = "the elements of another constant in another order";
  let description = [{
    The element at index i is element `sum(i[d] * strides[d])` of `source`, a
    blob, a scaled one or dense elements, row-major. A `panel` [outer, inner, limit] says
    that dimensions outer and inner count one dimension of `limit` entries
    together, in panels of the size of inner; what lies beyond the limit is
    zero. Without panels `panel` is empty. The bytes are made when the object is
    written, a piece at a time.
  }];
  let parameters = (ins
    AttributeSelfTypeParameter<"">:$type,
    "::mlir::TypedAttr":$source,
    "::mlir::DenseI64ArrayAttr":$strides,
    "::mlir::DenseI64ArrayAttr":$panel);
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::Type":$type,
      "::mlir::TypedAttr":$source, "::llvm::ArrayRef<int64_t>":$strides,
      "::llvm::ArrayRef<int64_t>":$panel), [{
    auto *context = type.getContext();
    return $_get(context, type, source,
                 ::mlir::DenseI64ArrayAttr::get(context, strides),
                 ::mlir::DenseI64ArrayAttr::get(context, panel));
  }]>];
  let assemblyFormat = "`<` $source `,` $strides `,` $panel `>`";
  let genVerifyDecl = 1;
}

def Weir_WinogradAttr : AttrDef<Weir_Dialect, "Winograd", [TypedAttrInterface]> {
  let mnemonic = "winograd";
  let summary = "a filter of 3x3 in Winograd's form";
  let description = [{
    `source`, a filter [3, 3, C, K] of f32 (a blob, a scaled one, dense elements or an arranged
    constant without panels), transformed for tiles of `results` times `results` results into
    M = (results + 2)^2 matrices, in panels of `width` columns: [ceil(K / width), M, C, width] of
    f32, or, of products of bf16, [ceil(K / width), M, C / 2, width, 2]. Zero beyond column K. The
    bytes are made when the object is written, a panel at a time.
  }];
  let parameters = (ins
    AttributeSelfTypeParameter<"">:$type,
    "::mlir::TypedAttr":$source,
    "int64_t":$results);
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::Type":$type,
      "::mlir::TypedAttr":$source, "int64_t":$results), [{
    return $_get(type.getContext(), type, source, results);
  }]>];
  let assemblyFormat = "`<` $source `,` $results `>`";
  let genVerifyDecl = 1;
}

def Weir_TargetAttr : AttrDef<Weir_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "what passes and kernels are told of the machine that code is for";
  let description = [{
    A module's `weir.target`, as in `#weir.target<vector_bytes = 64, vector_registers = 32,
    byte_products = quads, may_offload>`; what is left out is unknown, or is not there.
    `vector_bytes` and `vector_registers`: size and number of the host's vector registers.
    `byte_products`: what the host multiplies bytes by: `pairs` as pairs of words of 16 bits,
    `quads` with instructions that add four products, `blocks` with ones that multiply blocks
    of matrices. `bf16_products`, likewise: `pairs` or `blocks`. `widens_halves`: all of the
    module runs on hosts, which compute f16 and bf16 in f32. `passes_halves`: the host computes
    vectors by halves, so that one of half the size takes half the time. `may_offload`: devices
    beside the host may get parts of the program.
  }];
  let parameters = (ins "int64_t":$vectorBytes, "int64_t":$vectorRegisters,
    "::weir::ByteProducts":$byteProducts, "::weir::Bf16Products":$bf16Products,
    "bool":$widensHalves, "bool":$passesHalves, "bool":$mayOffload);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Weir_AnyTensor : Type<CPred<"::llvm::isa<::mlir::TensorType>($_self)">,
                          "tensor of any element type", "::mlir::TensorType">;
def Weir_BoolTensor : Type<CPred<"::llvm::isa<::mlir::TensorType>($_self) && "
    "::llvm::cast<::mlir::TensorType>($_self).getElementType().isInteger(1)">,
    "tensor of i1", "::mlir::TensorType">;
def Weir_IntTensor : Type<CPred<"::llvm::isa<::mlir::TensorType>($_self) && "
    "::llvm::isa<::mlir::IntegerType>(::llvm::cast<::mlir::TensorType>($_self).getElementType())">,
    "tensor of integers", "::mlir::TensorType">;

//===----------------------------------------------------------------------===//
// Facts that passes ask for: OperationFacts.h says what each means
//===----------------------------------------------------------------------===//

class Weir_Fact<string name> : NativeOpTrait<name> {
  let cppNamespace = "::weir::traits";
}
def ReadsElementsRepeatedly : Weir_Fact<"ReadsElementsRepeatedly">;
def ComputedByTiles : Weir_Fact<"ComputedByTiles">;
def KernelAnchor : Weir_Fact<"KernelAnchor">;
def CheapToRepeat : Weir_Fact<"CheapToRepeat">;
def OneInstruction : Weir_Fact<"OneInstruction">;
def SlowInstruction : Weir_Fact<"SlowInstruction">;
def CallsFunction : Weir_Fact<"CallsFunction">;
def Arithmetic : Weir_Fact<"Arithmetic">;
def SelectsElements : Weir_Fact<"SelectsElements">;
def BitLogic : Weir_Fact<"BitLogic">;
def Weir_Idempotent : Weir_Fact<"Idempotent">;
def AssociativeOnIntegers : Weir_Fact<"AssociativeOnIntegers">;
def ZeroIsNeutral : Weir_Fact<"ZeroIsNeutral">;
def RoundsToIntegral : Weir_Fact<"RoundsToIntegral">;
def CannotFail : Weir_Fact<"CannotFail">;
def DividesIntegers : Weir_Fact<"DividesIntegers">;
def ChecksIndices : Weir_Fact<"ChecksIndices">;
def WritesNoVariable : Weir_Fact<"WritesNoVariable">;
def KeepsShape : Weir_Fact<"KeepsShape">;
def SizesFromSizes : Weir_Fact<"SizesFromSizes">;

//===----------------------------------------------------------------------===//
// Operation classes
//===----------------------------------------------------------------------===//

class Weir_Op<string mnemonic, list<Trait> traits = []>
    : Op<Weir_Dialect, mnemonic, traits>;

// A pure operation on tensors whose result types follow from its operands and
// attributes. `inferReturnTypes(…, Adaptor, …)` is written beside its family.
// `cost`: ["getFlops"] where the operation counts its own.
class Weir_PureOp<string mnemonic, list<Trait> traits = [], list<string> cost = []>
    : Weir_Op<mnemonic, !listconcat([Pure, InferTypeOpAdaptorWithIsCompatible,
        DeclareOpInterfaceMethods<CostOpInterface, cost>], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  code baseDefinition = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return ::weir::detail::areCompatibleTypes(l, r);
    }
  }];
  let extraClassDefinition = baseDefinition;
}

// A pure operation computed element by element.
class Weir_ElementalOp<string mnemonic, list<Trait> traits = [], list<string> cost = []>
    : Weir_PureOp<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<ElementalOpInterface>,
        DeclareOpInterfaceMethods<ReifyShapeOpInterface>], traits), cost>;

// One that only moves elements: no arithmetic.
class Weir_MovementOp<string mnemonic, list<Trait> traits = []>
    : Weir_ElementalOp<mnemonic, traits, ["getFlops"]> {
  code movementDefinition = baseDefinition # [{
    int64_t $cppClass::getFlops() { return 0; }
  }];
  let extraClassDefinition = movementDefinition;
}

// As Weir_ElementalOp, and an element is costly: sums, windows.
class Weir_ContractionOp<string mnemonic, list<Trait> traits>
    : Weir_PureOp<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<ElementalOpInterface, ["isElementExpensive"]>,
        DeclareOpInterfaceMethods<ReifyShapeOpInterface>], traits), ["getFlops"]> {
  let extraClassDefinition = baseDefinition # [{
    bool $cppClass::isElementExpensive() { return true; }
  }];
}

#endif // WEIR_BASE_TD
