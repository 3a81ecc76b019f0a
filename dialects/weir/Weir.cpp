//===- Weir.cpp - the weir dialect ----------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/BlockQuantized.h"
#include "dialects/weir/Folding.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/TreeEnsemble.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace weir;

#include "dialects/weir/WeirDialect.cpp.inc"
#include "dialects/weir/WeirInterfaces.cpp.inc"
#include "dialects/weir/WeirKinds.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/weir/WeirTypes.cpp.inc"

/// Factors as they are: MLIR's own form of an array has six digits.
static void printFactors(AsmPrinter &printer, DenseF32ArrayAttr factors) {
  printer << '[';
  llvm::interleaveComma(factors.asArrayRef(), printer,
                        [&](float factor) { printer.printFloat(APFloat(factor)); });
  printer << ']';
}
static ParseResult parseFactors(AsmParser &parser, DenseF32ArrayAttr &factors) {
  SmallVector<float> values;
  auto parseFactor = [&] {
    APFloat value(0.0f);
    if (parser.parseFloat(APFloat::IEEEsingle(), value))
      return failure();
    values.push_back(value.convertToFloat());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseFactor))
    return failure();
  factors = DenseF32ArrayAttr::get(parser.getContext(), values);
  return success();
}

#define GET_ATTRDEF_CLASSES
#include "dialects/weir/WeirAttrs.cpp.inc"

/// Planned programs have buffers of strings, which the parser is to read back.
struct StringsInBuffers : MemRefElementTypeInterface::ExternalModel<StringsInBuffers, StringType> {
};

void WeirDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/weir/WeirTypes.cpp.inc"
      >();
  StringType::attachInterface<StringsInBuffers>(*getContext());
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/weir/WeirAttrs.cpp.inc"
      >();
  registerWeirDialectOperations(this);
  addOperations<
#define GET_OP_LIST
#include "dialects/weir/BlockQuantizedOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/weir/TreeEnsembleOps.cpp.inc"
      >();
  addInterfaces<WeirFolder>();
}

Operation *WeirDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed || typed.getType() != type || !isa<RankedTensorType>(type))
    return nullptr;
  return ConstantOp::create(builder, loc, typed);
}

void ConstantOp::build(OpBuilder &builder, OperationState &state, TypedAttr value) {
  state.addAttribute("value", value);
  state.addTypes(value.getType());
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
LogicalResult ConstantOp::verify() {
  auto typed = dyn_cast<TypedAttr>(getValue());
  if (!typed || !isa<ElementsAttr, BlobAttr, ScaledAttr, ArrangedAttr, WinogradAttr>(getValue()))
    return emitOpError("value must be an elements attribute, a blob, a scaled or an arranged one, "
                       "or a filter in Winograd's form");
  auto type = dyn_cast<RankedTensorType>(typed.getType());
  if (!type || !type.hasStaticShape() || type != getType())
    return emitOpError("value's type must be static and that of the result");
  return success();
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &state) {
  TypedAttr value;
  if (parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseAttribute(value, "value", state.attributes))
    return failure();
  state.addTypes(value.getType());
  return success();
}
void ConstantOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << ' ' << getValue();
}
