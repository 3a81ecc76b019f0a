//===- GradientCases.cpp - functions whose gradients are tested ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/gradient/GradientCases.h"

using namespace weir::gradient_test;

#define T3 "tensor<3xf64>"
#define T23 "tensor<2x3xf64>"
#define UNARY(op)                                                                                  \
  Function { op, {{2, 3}}, {2, 3}, "%y = weir." op " %a : (" T23 ") -> " T23 }
#define BINARY(op)                                                                                 \
  Function { op, {{2, 3}, {3}}, {2, 3}, "%y = weir." op " %a, %b : (" T23 ", " T3 ") -> " T23 }

std::vector<Function> weir::gradient_test::allFunctions() {
  return {
      UNARY("neg"),
      UNARY("abs"),
      UNARY("exp"),
      UNARY("expm1"),
      UNARY("log"),
      UNARY("log1p"),
      UNARY("sqrt"),
      UNARY("rsqrt"),
      UNARY("cbrt"),
      UNARY("sin"),
      UNARY("cos"),
      UNARY("tan"),
      UNARY("atan"),
      UNARY("sinh"),
      UNARY("cosh"),
      UNARY("asinh"),
      UNARY("tanh"),
      UNARY("logistic"),
      UNARY("erf"),
      UNARY("erfc"),
      UNARY("relu"),
      UNARY("sign"),
      UNARY("floor"),
      {"asin",
       {{2}},
       {2},
       R"(%h = weir.constant dense<0.5> : tensor<f64>
        %s = weir.mul %a, %h : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
        %y = weir.asin %s : (tensor<2xf64>) -> tensor<2xf64>)"},
      {"acos_atanh",
       {{2}},
       {2},
       R"(%h = weir.constant dense<0.5> : tensor<f64>
        %s = weir.mul %a, %h : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
        %t = weir.acos %s : (tensor<2xf64>) -> tensor<2xf64>
        %u = weir.atanh %s : (tensor<2xf64>) -> tensor<2xf64>
        %y = weir.mul %t, %u : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>)"},
      {"acosh",
       {{2}},
       {2},
       R"(%h = weir.constant dense<1.5> : tensor<f64>
        %s = weir.add %a, %h : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
        %y = weir.acosh %s : (tensor<2xf64>) -> tensor<2xf64>)"},
      {"gelu", {{2, 3}}, {2, 3}, "%y = weir.gelu %a {approximate = false} : (" T23 ") -> " T23},
      {"gelu_tanh", {{2, 3}}, {2, 3}, "%y = weir.gelu %a {approximate = true} : (" T23 ") -> " T23},
      BINARY("add"),
      BINARY("sub"),
      BINARY("mul"),
      BINARY("div"),
      BINARY("pow"),
      BINARY("maximum"),
      BINARY("minimum"),
      BINARY("atan2"),
      BINARY("rem"),
      BINARY("floor_mod"),
      {"broadcast_columns",
       {{2, 1}, {1, 3}},
       {2, 3},
       "%y = weir.mul %a, %b : (tensor<2x1xf64>, tensor<1x3xf64>) -> " T23},
      {"used_twice",
       {{2, 3}},
       {2, 3},
       R"(%s = weir.mul %a, %a : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
        %y = weir.mul %s, %a : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>)"},
      {"select",
       {{2, 3}, {3}},
       {2, 3},
       R"(%c = weir.compare %a, %b {predicate = "gt"} : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xi1>
        %s = weir.mul %a, %a : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
        %y = weir.select %c, %s, %b : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>)"},
      {"reshape_transpose",
       {{2, 3}},
       {2, 3},
       R"(%n = weir.constant dense<[3, 2]> : tensor<2xi64>
        %r = weir.reshape %a, %n : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<3x2xf64>
        %t = weir.transpose %r {permutation = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
        %y = weir.mul %t, %a : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>)"},
      {"broadcast_to",
       {{3}},
       {2, 3},
       R"(%n = weir.constant dense<[2, 3]> : tensor<2xi64>
        %y = weir.broadcast_to %a, %n : (tensor<3xf64>, tensor<2xi64>) -> tensor<2x3xf64>)"},
      {"slice",
       {{5}},
       {2},
       R"(%s = weir.constant dense<3> : tensor<1xi64>
        %e = weir.constant dense<0> : tensor<1xi64>
        %t = weir.constant dense<-2> : tensor<1xi64>
        %y = weir.slice %a, %s, %e, %t {axes = array<i64: 0>, strict = false} : (tensor<5xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf64>)"},
      {"slice_steps",
       {{3, 8}},
       {3, 3},
       R"(%s = weir.constant dense<1> : tensor<1xi64>
        %e = weir.constant dense<8> : tensor<1xi64>
        %t = weir.constant dense<3> : tensor<1xi64>
        %y = weir.slice %a, %s, %e, %t {axes = array<i64: 1>, strict = false} : (tensor<3x8xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x3xf64>)"},
      {"slices_side_by_side",
       {{2, 5}},
       {2, 2},
       R"(%z = weir.constant dense<0> : tensor<1xi64>
        %o = weir.constant dense<2> : tensor<1xi64>
        %f = weir.constant dense<4> : tensor<1xi64>
        %t = weir.constant dense<1> : tensor<1xi64>
        %p = weir.slice %a, %z, %o, %t {axes = array<i64: 1>, strict = false} : (tensor<2x5xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x2xf64>
        %q = weir.slice %a, %o, %f, %t {axes = array<i64: 1>, strict = false} : (tensor<2x5xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x2xf64>
        %y = weir.mul %p, %q : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>)"},
      {"pad",
       {{2, 3}},
       {3, 4},
       R"(%p = weir.constant dense<[1, -1, 0, 2]> : tensor<4xi64>
        %v = weir.constant dense<0.0> : tensor<f64>
        %y = weir.pad %a, %p, %v {mode = "constant"} : (tensor<2x3xf64>, tensor<4xi64>, tensor<f64>) -> tensor<3x4xf64>)"},
      {"pad_reflect",
       {{4}},
       {7},
       R"(%p = weir.constant dense<[2, 1]> : tensor<2xi64>
        %v = weir.constant dense<0.0> : tensor<f64>
        %y = weir.pad %a, %p, %v {mode = "reflect"} : (tensor<4xf64>, tensor<2xi64>, tensor<f64>) -> tensor<7xf64>)"},
      {"concat",
       {{2, 3}, {2, 1}},
       {2, 4},
       "%y = weir.concat %a, %b {axis = 1} : (" T23 ", tensor<2x1xf64>) -> tensor<2x4xf64>"},
      {"tile",
       {{2, 3}},
       {4, 3},
       R"(%n = weir.constant dense<[2, 1]> : tensor<2xi64>
        %y = weir.tile %a, %n : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<4x3xf64>)"},
      {"repeat",
       {{2, 3}},
       {6, 3},
       "%y = weir.repeat %a {axis = 0 : i64, times = 3 : i64} : (" T23 ") -> tensor<6x3xf64>"},
      {"reverse",
       {{2, 3}},
       {2, 3},
       "%y = weir.reverse %a {axes = array<i64: 1>} : (" T23 ") -> " T23},
      {"gather",
       {{3, 2}},
       {4, 2},
       R"(%i = weir.constant dense<[2, 0, 2, 1]> : tensor<4xi64>
        %y = weir.gather %a, %i {axis = 0, batch_dims = 0, wrap_negative = false} : (tensor<3x2xf64>, tensor<4xi64>) -> tensor<4x2xf64>)"},
      {"gather_inside",
       {{2, 3, 2}},
       {2, 2, 2, 2},
       R"(%i = weir.constant dense<[[-1, 0], [2, 1]]> : tensor<2x2xi64>
        %y = weir.gather %a, %i {axis = 1, batch_dims = 0, wrap_negative = true} : (tensor<2x3x2xf64>, tensor<2x2xi64>) -> tensor<2x2x2x2xf64>)"},
      {"gather_batches",
       {{2, 3, 2}},
       {2, 2, 2},
       R"(%i = weir.constant dense<[[1, 0], [2, 2]]> : tensor<2x2xi64>
        %y = weir.gather %a, %i {axis = 1, batch_dims = 1, wrap_negative = false} : (tensor<2x3x2xf64>, tensor<2x2xi64>) -> tensor<2x2x2xf64>)"},
      {"gather_elements",
       {{3, 2}},
       {2, 2},
       R"(%i = weir.constant dense<[[2, 0], [2, 1]]> : tensor<2x2xi64>
        %y = weir.gather_elements %a, %i {axis = 0, wrap_negative = false} : (tensor<3x2xf64>, tensor<2x2xi64>) -> tensor<2x2xf64>)"},
      {"gather_nd",
       {{3, 2}},
       {2},
       R"(%i = weir.constant dense<[[2, 0], [2, 0]]> : tensor<2x2xi64>
        %y = weir.gather_nd %a, %i {batch_dims = 0, wrap_negative = false} : (tensor<3x2xf64>, tensor<2x2xi64>) -> tensor<2xf64>)"},
      {"scatter_add",
       {{3, 2}, {2, 2}},
       {3, 2},
       R"(%i = weir.constant dense<[[2], [2]]> : tensor<2x1xi64>
        %y = weir.scatter_nd %a, %i, %b {reduction = "add", wrap_negative = false, drop_out_of_bounds = false} : (tensor<3x2xf64>, tensor<2x1xi64>, tensor<2x2xf64>) -> tensor<3x2xf64>)"},
      {"scatter_dropped",
       {{3, 2}, {3, 2}},
       {3, 2},
       R"(%i = weir.constant dense<[[2], [5], [2]]> : tensor<3x1xi64>
        %y = weir.scatter_nd %a, %i, %b {reduction = "add", wrap_negative = false, drop_out_of_bounds = true} : (tensor<3x2xf64>, tensor<3x1xi64>, tensor<3x2xf64>) -> tensor<3x2xf64>)"},
      {"scatter_sub",
       {{3, 2}, {2, 2}},
       {3, 2},
       R"(%i = weir.constant dense<[[2], [2]]> : tensor<2x1xi64>
        %y = weir.scatter_nd %a, %i, %b {reduction = "sub", wrap_negative = false, drop_out_of_bounds = false} : (tensor<3x2xf64>, tensor<2x1xi64>, tensor<2x2xf64>) -> tensor<3x2xf64>)"},
      {"scatter_set",
       {{3, 2}, {1, 2}},
       {3, 2},
       R"(%i = weir.constant dense<[[1]]> : tensor<1x1xi64>
        %y = weir.scatter_nd %a, %i, %b {reduction = "none", wrap_negative = false, drop_out_of_bounds = false} : (tensor<3x2xf64>, tensor<1x1xi64>, tensor<1x2xf64>) -> tensor<3x2xf64>)"},
      {"sum",
       {{2, 3}},
       {2},
       "%y = weir.reduce %a {kind = \"sum\", axes = array<i64: 1>, keep_dims = false} : "
       "(" T23 ") -> tensor<2xf64>"},
      {"mean",
       {{2, 3}},
       {2, 1},
       "%y = weir.reduce %a {kind = \"mean\", axes = array<i64: 1>, keep_dims = true} : "
       "(" T23 ") -> tensor<2x1xf64>"},
      {"max",
       {{2, 3}},
       {},
       "%y = weir.reduce %a {kind = \"max\", axes = array<i64: 0, 1>, keep_dims = false} "
       ": (" T23 ") -> tensor<f64>"},
      {"min",
       {{2, 3}},
       {3},
       "%y = weir.reduce %a {kind = \"min\", axes = array<i64: 0>, keep_dims = false} : "
       "(" T23 ") -> tensor<3xf64>"},
      {"prod",
       {{2, 3, 2}},
       {3},
       "%y = weir.reduce %a {kind = \"prod\", axes = array<i64: 0, 2>, keep_dims = "
       "false} : (tensor<2x3x2xf64>) -> tensor<3xf64>"},
      {"cumulative",
       {{2, 3}},
       {2, 3},
       "%y = weir.cumulative %a {kind = \"sum\", axis = 1, exclusive = true, reverse = "
       "false} : (" T23 ") -> " T23},
      {"dot_general",
       {{2, 3, 4}, {5, 2, 4}},
       {2, 3, 5},
       R"(%y = weir.dot_general %a, %b {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 1>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, accumulator = f64} : (tensor<2x3x4xf64>, tensor<5x2x4xf64>) -> tensor<2x3x5xf64>)"},
      {"dot_two_contracted",
       {{2, 3, 4}, {4, 5, 2}},
       {3, 5},
       R"(%y = weir.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0, 2>, rhs_contract = array<i64: 2, 0>, accumulator = f64} : (tensor<2x3x4xf64>, tensor<4x5x2xf64>) -> tensor<3x5xf64>)"},
      {"conv",
       {{2, 5, 5, 2}, {3, 2, 2, 3}},
       {2, 2, 5, 3},
       R"(%y = weir.conv %a, %b {strides = array<i64: 2, 1>, pads = array<i64: 0, 0, 1, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f64} : (tensor<2x5x5x2xf64>, tensor<3x2x2x3xf64>) -> tensor<2x2x5x3xf64>)"},
      {"conv_large_window",
       {{2, 6, 7, 1}, {6, 6, 1, 2}},
       {2, 2, 2, 2},
       R"(%y = weir.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true, accumulator = f64} : (tensor<2x6x7x1xf64>, tensor<6x6x1x2xf64>) -> tensor<2x2x2x2xf64>)"},
      {"conv_channels_first", {{1, 2, 6}, {2, 2, 2}}, {1, 2, 4}, R"(%y = weir.conv %a, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 2>, groups = 1 : i64, channels_last = false, accumulator = f64} : (tensor<1x2x6xf64>, tensor<2x2x2xf64>) -> tensor<1x2x4xf64>)"},
      {"conv_depthwise",
       {{1, 5, 4, 2}, {3, 2, 1, 4}},
       {1, 3, 4, 4},
       R"(%y = weir.conv %a, %b {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 0, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64, channels_last = true, accumulator = f64} : (tensor<1x5x4x2xf64>, tensor<3x2x1x4xf64>) -> tensor<1x3x4x4xf64>)"},
      {"conv_groups_strided",
       {{1, 4, 6}, {6, 2, 2}},
       {1, 6, 3},
       R"(%y = weir.conv %a, %b {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 2 : i64, channels_last = false, accumulator = f64} : (tensor<1x4x6xf64>, tensor<6x2x2xf64>) -> tensor<1x6x3xf64>)"},
      {"conv_groups",
       {{1, 4, 2}, {3, 1, 4}},
       {1, 2, 4},
       R"(%y = weir.conv %a, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 2 : i64, channels_last = true, accumulator = f64} : (tensor<1x4x2xf64>, tensor<3x1x4xf64>) -> tensor<1x2x4xf64>)"},
      {"max_pool",
       {{1, 5, 2}},
       {1, 3, 2},
       R"(%y = weir.pool %a {kind = "max", window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 1>, dilations = array<i64: 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<1x5x2xf64>) -> tensor<1x3x2xf64>)"},
      {"max_pool_overlapping",
       {{2, 5, 6, 2}},
       {2, 3, 3, 2},
       R"(%y = weir.pool %a {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<2x5x6x2xf64>) -> tensor<2x3x3x2xf64>)"},
      {"max_pool_apart",
       {{1, 2, 8}},
       {1, 2, 3},
       R"(%y = weir.pool %a {kind = "max", window = array<i64: 2>, strides = array<i64: 3>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, ceil_mode = true, count_include_pad = false, p = 2 : i64, channels_last = false} : (tensor<1x2x8xf64>) -> tensor<1x2x3xf64>)"},
      {"max_pool_dilated",
       {{1, 9, 1}},
       {1, 5, 1},
       R"(%y = weir.pool %a {kind = "max", window = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 2>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<1x9x1xf64>) -> tensor<1x5x1xf64>)"},
      {"max_pool_many",
       {{1, 30, 1}},
       {1, 11, 1},
       R"(%y = weir.pool %a {kind = "max", window = array<i64: 20>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<1x30x1xf64>) -> tensor<1x11x1xf64>)"},
      {"average_pool_apart",
       {{1, 5, 4, 2}},
       {1, 2, 2, 2},
       R"(%y = weir.pool %a {kind = "average", window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<1x5x4x2xf64>) -> tensor<1x2x2x2xf64>)"},
      {"average_pool_padding_counts",
       {{1, 2, 6}},
       {1, 2, 4},
       R"(%y = weir.pool %a {kind = "average", window = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, ceil_mode = true, count_include_pad = true, p = 2 : i64, channels_last = false} : (tensor<1x2x6xf64>) -> tensor<1x2x4xf64>)"},
      {"sum_pool",
       {{2, 6, 1}},
       {2, 4, 1},
       R"(%y = weir.pool %a {kind = "sum", window = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 2>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<2x6x1xf64>) -> tensor<2x4x1xf64>)"},
      {"average_pool",
       {{1, 5, 2}},
       {1, 3, 2},
       R"(%y = weir.pool %a {kind = "average", window = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, ceil_mode = false, count_include_pad = false, p = 2 : i64, channels_last = true} : (tensor<1x5x2xf64>) -> tensor<1x3x2xf64>)"},
      {"if",
       {{3}, {3}},
       {3},
       R"(%h = weir.constant dense<1.5> : tensor<f64>
        %s = weir.reduce %a {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<3xf64>) -> tensor<f64>
        %c = weir.compare %s, %h {predicate = "gt"} : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %y = weir.if %c : (tensor<i1>) -> tensor<3xf64> then {
          %t = weir.mul %a, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
          weir.yield %t : tensor<3xf64>
        } else {
          %e = weir.exp %a : (tensor<3xf64>) -> tensor<3xf64>
          weir.yield %e : tensor<3xf64>
        })"},
      {"while",
       {{3}, {3}},
       {3},
       R"(%z = weir.constant dense<0> : tensor<i64>
        %one = weir.constant dense<1> : tensor<i64>
        %n = weir.constant dense<4> : tensor<i64>
        %r:2 = weir.while %z, %a : (tensor<i64>, tensor<3xf64>) -> (tensor<i64>, tensor<3xf64>) while {
        ^bb0(%i: tensor<i64>, %v: tensor<3xf64>):
          %c = weir.compare %i, %n {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
          weir.yield %c : tensor<i1>
        } do {
        ^bb0(%i: tensor<i64>, %v: tensor<3xf64>):
          %j = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %s = weir.sin %v : (tensor<3xf64>) -> tensor<3xf64>
          %w = weir.mul %s, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
          weir.yield %j, %w : tensor<i64>, tensor<3xf64>
        }
        %k = weir.constant dense<2.0> : tensor<f64>
        %y = weir.mul %r#1, %k : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>)"},
      // A recurrence: a product, a matrix that no trip changes, and rows that are put
      // into a
      // tensor of all, for which nothing of it is needed again.
      {"while_products",
       {{2, 3}, {3, 3}},
       {4, 2, 3},
       R"(%z = weir.constant dense<0> : tensor<i64>
        %one = weir.constant dense<1> : tensor<i64>
        %n = weir.constant dense<4> : tensor<i64>
        %none = weir.constant dense<0.0> : tensor<4x2x3xf64>
        %place = weir.constant dense<1> : tensor<2xi64>
        %row = weir.constant dense<[1, 2, 3]> : tensor<3xi64>
        %r:4 = weir.while %z, %a, %b, %none : (tensor<i64>, tensor<2x3xf64>, tensor<3x3xf64>, tensor<4x2x3xf64>) -> (tensor<i64>, tensor<2x3xf64>, tensor<3x3xf64>, tensor<4x2x3xf64>) while {
        ^bb0(%i: tensor<i64>, %v: tensor<2x3xf64>, %m: tensor<3x3xf64>, %all: tensor<4x2x3xf64>):
          %c = weir.compare %i, %n {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
          weir.yield %c : tensor<i1>
        } do {
        ^bb0(%i: tensor<i64>, %v: tensor<2x3xf64>, %m: tensor<3x3xf64>, %all: tensor<4x2x3xf64>):
          %j = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %p = weir.dot_general %v, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f64} : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
          %w = weir.tanh %p : (tensor<2x3xf64>) -> tensor<2x3xf64>
          %at = weir.reshape %i, %place : (tensor<i64>, tensor<2xi64>) -> tensor<1x1xi64>
          %u = weir.reshape %w, %row : (tensor<2x3xf64>, tensor<3xi64>) -> tensor<1x2x3xf64>
          %next = weir.scatter_nd %all, %at, %u {reduction = "none", wrap_negative = false, drop_out_of_bounds = false} : (tensor<4x2x3xf64>, tensor<1x1xi64>, tensor<1x2x3xf64>) -> tensor<4x2x3xf64>
          weir.yield %j, %w, %m, %next : tensor<i64>, tensor<2x3xf64>, tensor<3x3xf64>, tensor<4x2x3xf64>
        }
        %y = weir.add %r#3, %r#1 : (tensor<4x2x3xf64>, tensor<2x3xf64>) -> tensor<4x2x3xf64>)"},
      // The sum of a matrix's gradients is larger than what they are products of: behind
      // the loop it is one product. Here a value that is carried as it is, then one from
      // around.
      {"while_products_of_rows",
       {{1, 3}, {3, 3}},
       {1, 3},
       R"(%z = weir.constant dense<0> : tensor<i64>
        %one = weir.constant dense<1> : tensor<i64>
        %n = weir.constant dense<4> : tensor<i64>
        %r:3 = weir.while %z, %a, %b : (tensor<i64>, tensor<1x3xf64>, tensor<3x3xf64>) -> (tensor<i64>, tensor<1x3xf64>, tensor<3x3xf64>) while {
        ^bb0(%i: tensor<i64>, %v: tensor<1x3xf64>, %m: tensor<3x3xf64>):
          %c = weir.compare %i, %n {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
          weir.yield %c : tensor<i1>
        } do {
        ^bb0(%i: tensor<i64>, %v: tensor<1x3xf64>, %m: tensor<3x3xf64>):
          %j = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %p = weir.dot_general %v, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f64} : (tensor<1x3xf64>, tensor<3x3xf64>) -> tensor<1x3xf64>
          %w = weir.tanh %p : (tensor<1x3xf64>) -> tensor<1x3xf64>
          weir.yield %j, %w, %m : tensor<i64>, tensor<1x3xf64>, tensor<3x3xf64>
        }
        %s = weir.reduce %r#2 {kind = "sum", axes = array<i64: 0>, keep_dims = true} : (tensor<3x3xf64>) -> tensor<1x3xf64>
        %y = weir.mul %r#1, %s : (tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<1x3xf64>)"},
      {"while_products_of_captured",
       {{1, 3}, {3, 3}},
       {1, 3},
       R"(%z = weir.constant dense<0> : tensor<i64>
        %one = weir.constant dense<1> : tensor<i64>
        %n = weir.constant dense<4> : tensor<i64>
        %h = weir.constant dense<3.0> : tensor<f64>
        %r:2 = weir.while %z, %a : (tensor<i64>, tensor<1x3xf64>) -> (tensor<i64>, tensor<1x3xf64>) while {
        ^bb0(%i: tensor<i64>, %v: tensor<1x3xf64>):
          %s = weir.reduce %v {kind = "sum", axes = array<i64: 0, 1>, keep_dims = false} : (tensor<1x3xf64>) -> tensor<f64>
          %d = weir.compare %s, %h {predicate = "lt"} : (tensor<f64>, tensor<f64>) -> tensor<i1>
          %e = weir.compare %i, %n {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
          %c = weir.and %d, %e : (tensor<i1>, tensor<i1>) -> tensor<i1>
          weir.yield %c : tensor<i1>
        } do {
        ^bb0(%i: tensor<i64>, %v: tensor<1x3xf64>):
          %j = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %w = weir.dot_general %v, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f64} : (tensor<1x3xf64>, tensor<3x3xf64>) -> tensor<1x3xf64>
          weir.yield %j, %w : tensor<i64>, tensor<1x3xf64>
        }
        %y = weir.mul %r#1, %r#1 : (tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<1x3xf64>)"},
      // Each trip reads a row of what is around the loop, some twice: its gradient goes
      // to that row of the sum. Of two products only their sum is kept.
      {"while_rows_of_captured",
       {{3, 1, 3}, {3, 3}},
       {1, 3},
       R"(%z = weir.constant dense<0> : tensor<i64>
        %one = weir.constant dense<1> : tensor<i64>
        %two = weir.constant dense<2> : tensor<i64>
        %n = weir.constant dense<4> : tensor<i64>
        %bias = weir.constant dense<[0.1, 0.2, 0.3]> : tensor<3xf64>
        %begin = weir.constant dense<0.5> : tensor<1x3xf64>
        %r:2 = weir.while %z, %begin : (tensor<i64>, tensor<1x3xf64>) -> (tensor<i64>, tensor<1x3xf64>) while {
        ^bb0(%i: tensor<i64>, %v: tensor<1x3xf64>):
          %c = weir.compare %i, %n {predicate = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
          weir.yield %c : tensor<i1>
        } do {
        ^bb0(%i: tensor<i64>, %v: tensor<1x3xf64>):
          %j = weir.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %at = weir.minimum %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %row = weir.gather %a, %at {axis = 0 : i64, batch_dims = 0 : i64, wrap_negative = false} : (tensor<3x1x3xf64>, tensor<i64>) -> tensor<1x3xf64>
          %p = weir.dot_general %row, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, accumulator = f64} : (tensor<1x3xf64>, tensor<3x3xf64>) -> tensor<1x3xf64>
          %q = weir.dot_general %v, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, accumulator = f64} : (tensor<1x3xf64>, tensor<3x3xf64>) -> tensor<1x3xf64>
          %s = weir.add %p, %q : (tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<1x3xf64>
          %t = weir.add %s, %bias : (tensor<1x3xf64>, tensor<3xf64>) -> tensor<1x3xf64>
          %w = weir.tanh %t : (tensor<1x3xf64>) -> tensor<1x3xf64>
          weir.yield %j, %w : tensor<i64>, tensor<1x3xf64>
        }
        %y = weir.mul %r#1, %r#1 : (tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<1x3xf64>)"},
      // No counter says how many trips there are.
      {"while_unbounded",
       {{3}, {3}},
       {3},
       R"(%h = weir.constant dense<6.0> : tensor<f64>
        %r = weir.while %a : (tensor<3xf64>) -> tensor<3xf64> while {
        ^bb0(%v: tensor<3xf64>):
          %q = weir.mul %v, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
          %s = weir.reduce %q {kind = "sum", axes = array<i64: 0>, keep_dims = false} : (tensor<3xf64>) -> tensor<f64>
          %c = weir.compare %s, %h {predicate = "lt"} : (tensor<f64>, tensor<f64>) -> tensor<i1>
          weir.yield %c : tensor<i1>
        } do {
        ^bb0(%v: tensor<3xf64>):
          %e = weir.exp %b : (tensor<3xf64>) -> tensor<3xf64>
          %w = weir.add %v, %e : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
          weir.yield %w : tensor<3xf64>
        }
        %y = weir.mul %r, %a : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>)"},
      {"resize",
       {{1, 3, 4}},
       {1, 5, 2},
       R"(%n = weir.constant dense<[5, 2]> : tensor<2xi64>
        %s = weir.constant dense<[1.6666666, 0.5]> : tensor<2xf32>
        %r = weir.constant dense<[0.0, 0.0, 1.0, 1.0]> : tensor<4xf32>
        %y = weir.resize %a, %n, %s, %r {axes = array<i64: 1, 2>, mode = "linear", coordinates = "half_pixel", nearest = "floor", cubic_coefficient = -0.75 : f64, exclude_outside = false, extrapolation_value = 0.0 : f64, antialias = false} : (tensor<1x3x4xf64>, tensor<2xi64>, tensor<2xf32>, tensor<4xf32>) -> tensor<1x5x2xf64>)"},
      {"top_k",
       {{2, 3}},
       {2, 2},
       R"(%k = weir.constant dense<2> : tensor<1xi64>
        %y, %i = weir.top_k %a, %k {axis = 1 : i64, largest = true, sorted = true, index_type = i64} : (tensor<2x3xf64>, tensor<1xi64>) -> (tensor<2x2xf64>, tensor<2x2xi64>))"},
      {"softmax",
       {{2, 3}},
       {2, 3},
       "%y = weir.softmax %a {axis = 1, log = false} : (" T23 ") -> " T23},
      {"log_softmax",
       {{2, 3}},
       {2, 3},
       "%y = weir.softmax %a {axis = 0, log = true} : (" T23 ") -> " T23},
      {"batch_norm",
       {{2, 3, 2}, {3}, {3}},
       {2, 3, 2},
       R"(%v = weir.mul %b, %c : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
        %y = weir.batch_norm %a, %b, %c, %c, %v {axis = 1, epsilon = 1.0e-3} : (tensor<2x3x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x2xf64>)"},
      {"batch_norm_of_its_batch",
       {{2, 3, 2}, {3}, {3}},
       {2, 3, 2},
       R"(%m = weir.reduce %a {kind = "mean", axes = array<i64: 0, 2>, keep_dims = true} : (tensor<2x3x2xf64>) -> tensor<1x3x1xf64>
        %d = weir.sub %a, %m : (tensor<2x3x2xf64>, tensor<1x3x1xf64>) -> tensor<2x3x2xf64>
        %q = weir.mul %d, %d : (tensor<2x3x2xf64>, tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
        %v = weir.reduce %q {kind = "mean", axes = array<i64: 0, 2>, keep_dims = false} : (tensor<2x3x2xf64>) -> tensor<3xf64>
        %s = weir.constant dense<3> : tensor<1xi64>
        %n = weir.reshape %m, %s : (tensor<1x3x1xf64>, tensor<1xi64>) -> tensor<3xf64>
        %y = weir.batch_norm %a, %b, %c, %n, %v {axis = 1, epsilon = 1.0e-3, weir.batch_statistics} : (tensor<2x3x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x2xf64>)"},
      {"layer_norm",
       {{2, 3}, {3}, {3}},
       {2, 3},
       "%y = weir.layer_norm %a, %b, %c {axis = 1, epsilon = 1.0e-3} : (" T23 ", " T3 ", " T3
       ") -> " T23},
  };
}
