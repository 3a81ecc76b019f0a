//===- Elementwise.td - the table of elementwise operations -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row an operation: its name and, beside it, the computation on scalars.
// Operands broadcast as in NumPy. In the code, `s` is a ScalarBuilder (see
// ScalarBuilder.h), `a`, `b`, `c` are the operands' elements. f16, bf16 and the
// 8-bit floats are computed in f32 and rounded once. All of inference, fusion,
// vectorisation and documentation follows from the row.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_ELEMENTWISE_TD
#define WEIR_ELEMENTWISE_TD

include "dialects/weir/WeirBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

class Weir_Elementwise<string mnemonic, code scalar, list<Trait> traits>
    : Weir_ElementalOp<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<ElementwiseOpInterface>], traits)> {
  code elementwiseDefinition = baseDefinition # [{
    ::mlir::Value $cppClass::emitElement(::weir::ElementReader &reader, unsigned result, ::mlir::ValueRange indices) {
      return ::weir::detail::emitElementwise(*this, reader, indices);
    }
    ::llvm::LogicalResult $cppClass::reifyShape(::weir::ElementReader &reader, unsigned result, ::llvm::SmallVectorImpl<::mlir::Value> &dims) {
      return ::weir::detail::reifyBroadcast(*this, reader, dims);
    }
    ::mlir::Value $cppClass::emitScalar(::weir::ScalarBuilder &s, ::mlir::ValueRange args) {
      [[maybe_unused]] ::mlir::Value a = args[0];
      [[maybe_unused]] ::mlir::Value b = args.size() > 1 ? args[1] : ::mlir::Value();
      [[maybe_unused]] ::mlir::Value c = args.size() > 2 ? args[2] : ::mlir::Value();
  }] # scalar # "\n}\n";
  // Result element type: that of the first operand.
  code inferSame = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> loc, Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::weir::detail::inferBroadcast(loc, adaptor.getOperands(), ::mlir::Type(), types);
    }
  }];
  code inferBool = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> loc, Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::weir::detail::inferBroadcast(loc, adaptor.getOperands(), ::mlir::IntegerType::get(context, 1), types);
    }
  }];
  let extraClassDefinition = elementwiseDefinition # inferSame;
  let results = (outs Weir_AnyTensor:$result);
}
class Weir_Unary<string mnemonic, code scalar, list<Trait> traits = []>
    : Weir_Elementwise<mnemonic, scalar, !listconcat([Arithmetic], traits)> {
  let arguments = (ins Weir_AnyTensor:$operand);
}
class Weir_UnaryPredicate<string mnemonic, code scalar> : Weir_Unary<mnemonic, scalar> {
  let extraClassDefinition = elementwiseDefinition # inferBool;
}
class Weir_Binary<string mnemonic, code scalar, list<Trait> traits = []>
    : Weir_Elementwise<mnemonic, scalar, !listconcat([Arithmetic], traits)> {
  let arguments = (ins Weir_AnyTensor:$lhs, Weir_AnyTensor:$rhs);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

def Weir_AddOp : Weir_Binary<"add", [{ return s.add(a, b); }], [Commutative, OneInstruction, AssociativeOnIntegers, ZeroIsNeutral]>;
def Weir_SubOp : Weir_Binary<"sub", [{ return s.sub(a, b); }], [OneInstruction, AssociativeOnIntegers, ZeroIsNeutral]>;
def Weir_MulOp : Weir_Binary<"mul", [{ return s.mul(a, b); }], [Commutative, OneInstruction, AssociativeOnIntegers]>;
// Integers: towards zero; a zero divisor is a run-time error.
def Weir_DivOp : Weir_Binary<"div", [{ return s.div(a, b); }], [SlowInstruction, DividesIntegers]>;
def Weir_FloorDivOp : Weir_Binary<"floor_div", [{ return s.floorDiv(a, b); }], [DividesIntegers]>;
// Remainder with the sign of the dividend, and with the sign of the divisor.
def Weir_RemOp : Weir_Binary<"rem", [{ return s.rem(a, b); }], [DividesIntegers]>;
def Weir_FloorModOp : Weir_Binary<"floor_mod", [{ return s.floorMod(a, b); }], [DividesIntegers]>;
def Weir_PowOp : Weir_Binary<"pow", [{ return s.pow(a, b); }], [DividesIntegers, CallsFunction]>;
// NaN in either operand gives NaN.
def Weir_MaximumOp : Weir_Binary<"maximum", [{ return s.maximum(a, b); }], [Commutative, OneInstruction, AssociativeOnIntegers, Weir_Idempotent]>;
def Weir_MinimumOp : Weir_Binary<"minimum", [{ return s.minimum(a, b); }], [Commutative, OneInstruction, AssociativeOnIntegers, Weir_Idempotent]>;
// All operands, combined in their order. kind: sum prod max min. Where operands and
// result are several devices' these may do it together, in an order of their own
// (weir_plan.all_reduce).
def Weir_AllReduceOp : Weir_Elementwise<"all_reduce", [{
    for (::mlir::Value next : args.drop_front())
      a = s.combine(getKind(), a, next);
    return a; }], []> {
  let arguments = (ins Variadic<Weir_AnyTensor>:$inputs, Weir_ReduceKindAttr:$kind);
  let hasVerifier = 1;
}
def Weir_Atan2Op : Weir_Binary<"atan2", [{ return s.atan2(a, b); }], [CallsFunction]>;
// a * b + c, rounded once, of floats.
def Weir_FmaOp : Weir_Elementwise<"fma", [{ return s.math<::mlir::math::FmaOp>(a, b, c); }], [Arithmetic, OneInstruction]> {
  let arguments = (ins Weir_AnyTensor:$a, Weir_AnyTensor:$b, Weir_AnyTensor:$c);
}
def Weir_NegOp : Weir_Unary<"neg", [{ return s.neg(a); }], [OneInstruction]>;
def Weir_AbsOp : Weir_Unary<"abs", [{ return s.abs(a); }], [OneInstruction, Weir_Idempotent]>;
def Weir_SignOp : Weir_Unary<"sign", [{ return s.sign(a); }], [Weir_Idempotent]>;

//===----------------------------------------------------------------------===//
// Logic and bits: on i1 they are logic, on integers bit by bit
//===----------------------------------------------------------------------===//

def Weir_AndOp : Weir_Binary<"and", [{ return s.op<::mlir::arith::AndIOp>(a, b); }], [Commutative, BitLogic, AssociativeOnIntegers, Weir_Idempotent]>;
def Weir_OrOp : Weir_Binary<"or", [{ return s.op<::mlir::arith::OrIOp>(a, b); }], [Commutative, BitLogic, AssociativeOnIntegers, Weir_Idempotent, ZeroIsNeutral]>;
def Weir_XorOp : Weir_Binary<"xor", [{ return s.op<::mlir::arith::XOrIOp>(a, b); }], [Commutative, BitLogic, AssociativeOnIntegers, ZeroIsNeutral]>;
def Weir_NotOp : Weir_Unary<"not", [{ return s.bitNot(a); }], [BitLogic]>;
// Counts of the width or more give 0 (or the sign, for signed right shifts).
def Weir_ShlOp : Weir_Binary<"shl", [{ return s.shiftLeft(a, b); }]>;
def Weir_ShrOp : Weir_Binary<"shr", [{ return s.shiftRight(a, b); }]>;
def Weir_PopulationCountOp : Weir_Unary<"population_count", [{ return s.op<::mlir::math::CtPopOp>(a); }]>;

//===----------------------------------------------------------------------===//
// Elementary functions, floats only (the first group complex, too)
//===----------------------------------------------------------------------===//

def Weir_ExpOp : Weir_Unary<"exp", [{ return s.math<::mlir::math::ExpOp, ::mlir::complex::ExpOp>(a); }]>;
def Weir_LogOp : Weir_Unary<"log", [{ return s.math<::mlir::math::LogOp, ::mlir::complex::LogOp>(a); }], [CallsFunction]>;
def Weir_SqrtOp : Weir_Unary<"sqrt", [{ return s.math<::mlir::math::SqrtOp, ::mlir::complex::SqrtOp>(a); }], [SlowInstruction]>;
def Weir_RsqrtOp : Weir_Unary<"rsqrt", [{ return s.rsqrt(a); }]>;
def Weir_SinOp : Weir_Unary<"sin", [{ return s.math<::mlir::math::SinOp, ::mlir::complex::SinOp>(a); }], [CallsFunction]>;
def Weir_CosOp : Weir_Unary<"cos", [{ return s.math<::mlir::math::CosOp, ::mlir::complex::CosOp>(a); }], [CallsFunction]>;
def Weir_TanhOp : Weir_Unary<"tanh", [{ return s.math<::mlir::math::TanhOp, ::mlir::complex::TanhOp>(a); }], [CallsFunction]>;
def Weir_LogisticOp : Weir_Unary<"logistic", [{ return s.logistic(a); }]>;
def Weir_Log1pOp : Weir_Unary<"log1p", [{ return s.math<::mlir::math::Log1pOp, ::mlir::complex::Log1pOp>(a); }], [CallsFunction]>;
def Weir_Expm1Op : Weir_Unary<"expm1", [{ return s.math<::mlir::math::ExpM1Op, ::mlir::complex::Expm1Op>(a); }], [CallsFunction]>;
def Weir_TanOp : Weir_Unary<"tan", [{ return s.math<::mlir::math::TanOp, ::mlir::complex::TanOp>(a); }], [CallsFunction]>;
def Weir_AsinOp : Weir_Unary<"asin", [{ return s.isComplex(a) ? s.complexAsin(a) : s.op<::mlir::math::AsinOp>(a); }], [CallsFunction]>;
def Weir_AcosOp : Weir_Unary<"acos", [{ return s.isComplex(a) ? s.complexAcos(a) : s.op<::mlir::math::AcosOp>(a); }], [CallsFunction]>;
def Weir_AtanOp : Weir_Unary<"atan", [{ return s.isComplex(a) ? s.complexAtan(a) : s.op<::mlir::math::AtanOp>(a); }], [CallsFunction]>;
def Weir_SinhOp : Weir_Unary<"sinh", [{ return s.isComplex(a) ? s.complexSinh(a) : s.op<::mlir::math::SinhOp>(a); }], [CallsFunction]>;
def Weir_CoshOp : Weir_Unary<"cosh", [{ return s.isComplex(a) ? s.complexCosh(a) : s.op<::mlir::math::CoshOp>(a); }], [CallsFunction]>;
def Weir_AsinhOp : Weir_Unary<"asinh", [{ return s.isComplex(a) ? s.complexAsinh(a) : s.op<::mlir::math::AsinhOp>(a); }], [CallsFunction]>;
def Weir_AcoshOp : Weir_Unary<"acosh", [{ return s.isComplex(a) ? s.complexAcosh(a) : s.op<::mlir::math::AcoshOp>(a); }], [CallsFunction]>;
def Weir_AtanhOp : Weir_Unary<"atanh", [{ return s.isComplex(a) ? s.complexAtanh(a) : s.op<::mlir::math::AtanhOp>(a); }], [CallsFunction]>;
def Weir_ErfOp : Weir_Unary<"erf", [{ return s.math<::mlir::math::ErfOp>(a); }], [CallsFunction]>;
def Weir_ErfcOp : Weir_Unary<"erfc", [{ return s.math<::mlir::math::ErfcOp>(a); }], [CallsFunction]>;
def Weir_CbrtOp : Weir_Unary<"cbrt", [{ return s.math<::mlir::math::CbrtOp>(a); }], [CallsFunction]>;
def Weir_LgammaOp : Weir_Unary<"lgamma", [{ return s.libm("lgamma", a); }], [CallsFunction]>;
def Weir_FloorOp : Weir_Unary<"floor", [{ return s.isFloat(a) ? s.op<::mlir::math::FloorOp>(a) : a; }], [RoundsToIntegral, Weir_Idempotent]>;
def Weir_CeilOp : Weir_Unary<"ceil", [{ return s.isFloat(a) ? s.op<::mlir::math::CeilOp>(a) : a; }], [RoundsToIntegral, Weir_Idempotent]>;
def Weir_TruncOp : Weir_Unary<"trunc", [{ return s.isFloat(a) ? s.op<::mlir::math::TruncOp>(a) : a; }], [RoundsToIntegral, Weir_Idempotent]>;
// Halves to even.
def Weir_RoundEvenOp : Weir_Unary<"round_even", [{ return s.isFloat(a) ? s.op<::mlir::math::RoundEvenOp>(a) : a; }], [RoundsToIntegral, Weir_Idempotent]>;
// Halves away from zero.
def Weir_RoundOp : Weir_Unary<"round", [{ return s.isFloat(a) ? s.op<::mlir::math::RoundOp>(a) : a; }], [RoundsToIntegral, Weir_Idempotent]>;

//===----------------------------------------------------------------------===//
// Activations that keep their identity
//===----------------------------------------------------------------------===//

def Weir_ReluOp : Weir_Unary<"relu", [{ return s.maximum(a, s.zero(a)); }], [Weir_Idempotent]>;
def Weir_GeluOp : Weir_Unary<"gelu", [{ return s.gelu(a, getApproximate()); }], [CallsFunction]> {
  let arguments = (ins Weir_AnyTensor:$operand, BoolAttr:$approximate);
}

//===----------------------------------------------------------------------===//
// Complex numbers
//===----------------------------------------------------------------------===//

class Weir_ComplexPart<string mnemonic, code scalar> : Weir_Unary<mnemonic, scalar> {
  let extraClassDefinition = elementwiseDefinition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> loc, Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::weir::detail::inferBroadcast(loc, adaptor.getOperands(), ::weir::detail::realType(adaptor.getOperand().getType()), types);
    }
  }];
}
def Weir_RealOp : Weir_ComplexPart<"real", [{ return s.op<::mlir::complex::ReOp>(a); }]>;
def Weir_ImagOp : Weir_ComplexPart<"imag", [{ return s.op<::mlir::complex::ImOp>(a); }]>;
def Weir_ComplexAbsOp : Weir_ComplexPart<"complex_abs", [{ return s.op<::mlir::complex::AbsOp>(a); }]>;
def Weir_AngleOp : Weir_ComplexPart<"angle", [{ return s.op<::mlir::complex::AngleOp>(a); }]>;
def Weir_ConjOp : Weir_Unary<"conj", [{ return s.op<::mlir::complex::ConjOp>(a); }]>;
def Weir_ComplexOp : Weir_Binary<"complex", [{ return s.makeComplex(a, b); }]> {
  let extraClassDefinition = elementwiseDefinition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> loc, Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::weir::detail::inferBroadcast(loc, adaptor.getOperands(), ::mlir::ComplexType::get(::mlir::getElementTypeOrSelf(adaptor.getLhs().getType())), types);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Predicates and choice
//===----------------------------------------------------------------------===//

def Weir_IsNanOp : Weir_UnaryPredicate<"is_nan", [{ return s.isNan(a); }]>;
def Weir_IsInfOp : Weir_UnaryPredicate<"is_inf", [{ return s.isInf(a); }]>;
def Weir_IsFiniteOp : Weir_UnaryPredicate<"is_finite", [{ return s.isFinite(a); }]>;

// predicate: eq ne lt le gt ge. Comparisons with NaN are false, except ne.
def Weir_CompareOp : Weir_Binary<"compare", [{ return s.compare(getPredicate(), a, b); }]> {
  let arguments = (ins Weir_AnyTensor:$lhs, Weir_AnyTensor:$rhs, StrAttr:$predicate);
  let extraClassDefinition = elementwiseDefinition # inferBool;
}
def Weir_SelectOp : Weir_Elementwise<"select", [{ return s.select(a, b, c); }], []> {
  let arguments = (ins Weir_BoolTensor:$condition, Weir_AnyTensor:$on_true, Weir_AnyTensor:$on_false);
  let extraClassDefinition = elementwiseDefinition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> loc, Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::weir::detail::inferBroadcast(loc, adaptor.getOperands(), ::mlir::getElementTypeOrSelf(adaptor.getOnTrue().getType()), types);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Conversions: the result type is given
//===----------------------------------------------------------------------===//

// Floats to integers: towards zero. Out of range, which C leaves undefined: the
// nearest representable value when `saturate`, NaN 0. Otherwise as x86 converts
// to 32 bits (up to that width; to 64 beyond) and cuts: the lowest value where it
// does not fit; unsigned numbers of 32 and 64 bits also where they do not fit a
// signed one. Integers wrap modulo 2^width. To i1: value != 0.
def Weir_CastOp : Weir_Op<"cast", [Pure, DeclareOpInterfaceMethods<ElementalOpInterface>,
    DeclareOpInterfaceMethods<ReifyShapeOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>,
    DeclareOpInterfaceMethods<ElementwiseOpInterface>, OneInstruction, KeepsShape]> {
  let arguments = (ins Weir_AnyTensor:$operand, BoolAttr:$saturate);
  let results = (outs Weir_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}
// Same bits, another element type; the innermost dimension is added or dropped
// where the widths differ.
def Weir_BitcastOp : Weir_Op<"bitcast", [Pure, DeclareOpInterfaceMethods<ElementalOpInterface>,
    DeclareOpInterfaceMethods<ReifyShapeOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>,
    CannotFail]> {
  let arguments = (ins Weir_AnyTensor:$operand);
  let results = (outs Weir_AnyTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // WEIR_ELEMENTWISE_TD
