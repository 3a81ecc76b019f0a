//===- Target.cpp - what a module knows of its target ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Target.h"
#include "dialects/weir/Pch.h"

using namespace mlir;
using namespace weir;

TargetAttr weir::targetOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (auto target = module ? module->getAttrOfType<TargetAttr>(targetAttribute) : TargetAttr())
    return target;
  return TargetAttr::get(op->getContext(), 0, 0, ByteProducts::None, Bf16Products::None, false,
                         false, false);
}

LogicalResult TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 int64_t vectorBytes, int64_t vectorRegisters, ByteProducts,
                                 Bf16Products, bool, bool, bool) {
  if (vectorBytes < 0 || (vectorBytes && !llvm::isPowerOf2_64(vectorBytes)))
    return emitError() << "vector_bytes must be a power of two, got " << vectorBytes;
  if (vectorRegisters < 0)
    return emitError() << "vector_registers must not be negative, got " << vectorRegisters;
  return success();
}

/// Reads `= word` with one of an enumeration's words.
template <typename Kind>
static ParseResult parseWord(AsmParser &parser, std::optional<Kind> (*symbolize)(StringRef),
                             Kind &kind) {
  StringRef word;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseEqual() || parser.parseKeyword(&word))
    return failure();
  std::optional<Kind> known = symbolize(word);
  if (!known)
    return parser.emitError(at, "expected what multiplies such numbers, got ") << word;
  kind = *known;
  return success();
}

Attribute TargetAttr::parse(AsmParser &parser, Type) {
  int64_t bytes = 0, registers = 0;
  auto byteProducts = ByteProducts::None;
  auto bf16Products = Bf16Products::None;
  bool widensHalves = false, passesHalves = false, mayOffload = false;
  SMLoc begin = parser.getCurrentLocation();
  auto field = [&]() -> ParseResult {
    StringRef name;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    bool *fact = llvm::StringSwitch<bool *>(name)
                     .Case("widens_halves", &widensHalves)
                     .Case("passes_halves", &passesHalves)
                     .Case("may_offload", &mayOffload)
                     .Default(nullptr);
    if (fact) {
      *fact = true;
      return success();
    }
    if (name == "byte_products")
      return parseWord(parser, symbolizeByteProducts, byteProducts);
    if (name == "bf16_products")
      return parseWord(parser, symbolizeBf16Products, bf16Products);
    if (name == "vector_bytes" || name == "vector_registers")
      return failure(parser.parseEqual() ||
                     parser.parseInteger(name == "vector_bytes" ? bytes : registers));
    return parser.emitError(at, "expected a fact of a target, got ") << name;
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, field))
    return {};
  return TargetAttr::getChecked([&] { return parser.emitError(begin); }, parser.getContext(), bytes,
                                registers, byteProducts, bf16Products, widensHalves, passesHalves,
                                mayOffload);
}

void TargetAttr::print(AsmPrinter &printer) const {
  SmallVector<std::string> fields;
  auto add = [&](const Twine &field) { fields.push_back(field.str()); };
  if (getVectorBytes())
    add("vector_bytes = " + Twine(getVectorBytes()));
  if (getVectorRegisters())
    add("vector_registers = " + Twine(getVectorRegisters()));
  if (getByteProducts() != ByteProducts::None)
    add("byte_products = " + stringifyByteProducts(getByteProducts()));
  if (getBf16Products() != Bf16Products::None)
    add("bf16_products = " + stringifyBf16Products(getBf16Products()));
  if (getWidensHalves())
    add("widens_halves");
  if (getPassesHalves())
    add("passes_halves");
  if (getMayOffload())
    add("may_offload");
  printer << "<" << llvm::join(fields, ", ") << ">";
}
