//===- ComplexFunctions.cpp - functions of complex numbers -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/Pch.h"
#include "dialects/weir/ScalarBuilder.h"

using namespace mlir;
using namespace weir;

/// i times a complex number.
static Value timesI(ScalarBuilder &s, Value a) {
  return s.makeComplex(s.neg(s.op<complex::ImOp>(a)), s.op<complex::ReOp>(a));
}

namespace {
/// The parts of sqrt(1 - z) and sqrt(1 + z), whose products cancel nowhere in the plane
/// (Kahan, "Branch cuts for complex elementary functions", 1987).
struct Roots {
  Value minusRe, minusIm, plusRe, plusIm;

  Roots(ScalarBuilder &s, Value z) {
    Value re = s.op<complex::ReOp>(z), im = s.op<complex::ImOp>(z);
    // Part by part: 1 - z would lose the sign of a zero, which is the side of the cut.
    Value minus = s.op<complex::SqrtOp>(s.makeComplex(s.sub(s.one(re), re), s.neg(im)));
    Value plus = s.op<complex::SqrtOp>(s.makeComplex(s.add(s.one(re), re), im));
    minusRe = s.op<complex::ReOp>(minus);
    minusIm = s.op<complex::ImOp>(minus);
    plusRe = s.op<complex::ReOp>(plus);
    plusIm = s.op<complex::ImOp>(plus);
  }
};
} // namespace

Value ScalarBuilder::complexSinh(Value a) {
  Value half = constant(a, 0.5);
  return mul(half, sub(op<complex::ExpOp>(a), op<complex::ExpOp>(neg(a))));
}
Value ScalarBuilder::complexCosh(Value a) {
  Value half = constant(a, 0.5);
  return mul(half, add(op<complex::ExpOp>(a), op<complex::ExpOp>(neg(a))));
}
Value ScalarBuilder::complexAsinh(Value a) {
  // asinh z = -i asin(i z)
  return neg(timesI(*this, complexAsin(timesI(*this, a))));
}
Value ScalarBuilder::complexAcosh(Value a) {
  Value root = mul(op<complex::SqrtOp>(add(a, one(a))), op<complex::SqrtOp>(sub(a, one(a))));
  return op<complex::LogOp>(add(a, root));
}
Value ScalarBuilder::complexAtanh(Value a) {
  Value difference = sub(op<complex::LogOp>(add(one(a), a)), op<complex::LogOp>(sub(one(a), a)));
  return mul(constant(a, 0.5), difference);
}
Value ScalarBuilder::complexAsin(Value a) {
  Roots r(*this, a);
  Value below = sub(mul(r.minusRe, r.plusRe), mul(r.minusIm, r.plusIm));
  Value im = sub(mul(r.minusRe, r.plusIm), mul(r.minusIm, r.plusRe));
  return makeComplex(atan2(op<complex::ReOp>(a), below), op<math::AsinhOp>(im));
}
Value ScalarBuilder::complexAcos(Value a) {
  Roots r(*this, a);
  Value half = atan2(r.minusRe, r.plusRe);
  Value im = sub(mul(r.plusRe, r.minusIm), mul(r.plusIm, r.minusRe));
  return makeComplex(add(half, half), op<math::AsinhOp>(im));
}
Value ScalarBuilder::complexAtan(Value a) {
  // atan z = -i atanh(i z)
  return neg(timesI(*this, complexAtanh(timesI(*this, a))));
}
