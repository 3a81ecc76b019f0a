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

Value ScalarBuilder::complexSinh(Value a) {
  Value half = constant(a, 0.5);
  return mul(half, sub(op<complex::ExpOp>(a), op<complex::ExpOp>(neg(a))));
}
Value ScalarBuilder::complexCosh(Value a) {
  Value half = constant(a, 0.5);
  return mul(half, add(op<complex::ExpOp>(a), op<complex::ExpOp>(neg(a))));
}
Value ScalarBuilder::complexAsinh(Value a) {
  Value root = op<complex::SqrtOp>(add(mul(a, a), one(a)));
  return op<complex::LogOp>(add(a, root));
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
  // asin z = -i asinh(i z)
  return neg(timesI(*this, complexAsinh(timesI(*this, a))));
}
Value ScalarBuilder::complexAcos(Value a) {
  return sub(constant(a, 1.57079632679489661923), complexAsin(a));
}
Value ScalarBuilder::complexAtan(Value a) {
  // atan z = -i atanh(i z)
  return neg(timesI(*this, complexAtanh(timesI(*this, a))));
}
