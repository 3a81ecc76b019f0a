//===- CastTest.cpp - conversions of narrow floats ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialects/ElementMachine.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace weir::test;
using llvm::APFloat;
using llvm::APInt;

namespace {

struct Narrow {
  const char *type;
  const llvm::fltSemantics &semantics;
  double max;
};

const Narrow narrowTypes[] = {{"f8E4M3FN", APFloat::Float8E4M3FN(), 448},
                              {"f8E4M3FNUZ", APFloat::Float8E4M3FNUZ(), 240},
                              {"f8E5M2", APFloat::Float8E5M2(), 57344},
                              {"f8E5M2FNUZ", APFloat::Float8E5M2FNUZ(), 57344}};

void expectSame(double have, double want, const std::string &what) {
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(have)) << what;
  else
    EXPECT_EQ(have, want) << what;
  if (want == 0)
    EXPECT_EQ(std::signbit(have), std::signbit(want)) << what;
}

std::vector<double> cast(const std::string &from, const std::string &to, bool saturate,
                         std::vector<double> values) {
  Machine machine;
  int64_t count = values.size();
  Outcome outcome =
      machine.run("cast %0 {saturate = " + std::string(saturate ? "true" : "false") + "} -> " + to,
                  {{from, {count}, std::move(values)}}, Typing::Static);
  EXPECT_EQ(outcome.errors.size(), 0u);
  return outcome.results.empty() ? std::vector<double>(count) : outcome.results[0].values;
}

TEST(NarrowFloats, AllCodesWiden) {
  for (const Narrow &type : narrowTypes) {
    std::vector<double> values;
    for (unsigned code = 0; code < 256; ++code)
      values.push_back(APFloat(type.semantics, APInt(8, code)).convertToDouble());
    std::vector<double> wide = cast(type.type, "f32", false, values);
    for (unsigned code = 0; code < 256; ++code)
      expectSame(wide[code], values[code],
                 type.type + std::string(" code ") + std::to_string(code));
  }
}

TEST(NarrowFloats, Rounding) {
  // Around every number of a format: halves between neighbours and beside them.
  for (const Narrow &type : narrowTypes) {
    std::vector<double> values = {0.0,  -0.0,  1e-30,    -1e-30,    1e-40,       465,
                                  464,  240,   248,      300,       61440,       61439,
                                  1e30, -1e30, INFINITY, -INFINITY, std::nan("")};
    for (unsigned code = 0; code + 1 < 256; ++code) {
      double a = APFloat(type.semantics, APInt(8, code)).convertToDouble();
      double b = APFloat(type.semantics, APInt(8, code + 1)).convertToDouble();
      if (!std::isfinite(a) || !std::isfinite(b))
        continue;
      double half = (a + b) / 2;
      values.insert(values.end(), {a, half, half * (1 + 1e-6), half * (1 - 1e-6)});
    }
    for (double &value : values)
      value = (float)value;
    for (bool saturate : {false, true}) {
      std::vector<double> narrow = cast("f32", type.type, saturate, values);
      for (size_t i = 0; i < values.size(); ++i) {
        APFloat want(values[i]);
        bool lost;
        want.convert(type.semantics, APFloat::rmNearestTiesToEven, &lost);
        double expected = want.convertToDouble();
        if (saturate && !std::isnan(values[i]) && !(std::fabs(expected) <= type.max))
          expected = std::copysign(type.max, values[i]);
        expectSame(narrow[i], expected,
                   std::string(type.type) + " of " + std::to_string(values[i]));
      }
    }
  }
}

TEST(NarrowFloats, ScalesAndFourBits) {
  EXPECT_EQ(cast("f32", "f8E8M0FNU", true, {1, 1.5, 3, 0.25, 1e38}),
            (std::vector<double>{1, 2, 4, 0.25, 0x1p127}));
  EXPECT_EQ(cast("f8E8M0FNU", "f32", true, {0x1p-127, 8}), (std::vector<double>{0x1p-127, 8}));
  EXPECT_EQ(cast("f32", "f4E2M1FN", true, {0.25, 0.26, 0.75, -2.5, 5, 100, -INFINITY}),
            (std::vector<double>{0, 0.5, 1, -2, 4, 6, -6}));
  EXPECT_EQ(cast("f4E2M1FN", "f16", true, {0.5, -6, 1.5, 0}),
            (std::vector<double>{0.5, -6, 1.5, 0}));
  EXPECT_EQ(cast("f8E4M3FN", "i32", true, {-3.5, 448}), (std::vector<double>{-3, 448}));
  EXPECT_EQ(cast("i8", "f8E5M2", true, {-127, 9}), (std::vector<double>{-128, 8}));
}

} // namespace
