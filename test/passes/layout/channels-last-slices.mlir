// Slices of channels that a transposition brought elsewhere, as that behind a pool, and
// resamplings are taken where channels are last; slices of other dimensions stay.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-channels-last %s | FileCheck %s

// CHECK-LABEL: func.func @channels
// CHECK: %[[P:.*]] = weir.pool {{.*}} -> tensor<1x5x6x16xf32>
// CHECK: %[[S:.*]] = weir.slice %[[P]], {{.*}} {axes = array<i64: 3>, {{.*}} -> tensor<1x5x6x8xf32>
// CHECK: weir.transpose %[[S]] {permutation = array<i64: 0, 3, 1, 2>}
func.func @channels(%x: tensor<1x16x5x6xf32>) -> tensor<1x8x5x6xf32> {
  %t = weir.pool %x {ceil_mode = false, channels_last = false, count_include_pad = false, dilations = array<i64: 1, 1>, kind = "max", p = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, window = array<i64: 3, 3>} : (tensor<1x16x5x6xf32>) -> tensor<1x16x5x6xf32>
  %from = weir.constant dense<4> : tensor<1xi64>
  %to = weir.constant dense<12> : tensor<1xi64>
  %step = weir.constant dense<1> : tensor<1xi64>
  %0 = weir.slice %t, %from, %to, %step {axes = array<i64: 1>, strict = false} : (tensor<1x16x5x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x8x5x6xf32>
  return %0 : tensor<1x8x5x6xf32>
}

// CHECK-LABEL: func.func @lines
// CHECK: %[[P:.*]] = weir.pool {{.*}} -> tensor<1x5x6x16xf32>
// CHECK: %[[T:.*]] = weir.transpose %[[P]]
// CHECK: weir.slice %[[T]]
func.func @lines(%x: tensor<1x16x5x6xf32>) -> tensor<1x16x3x6xf32> {
  %t = weir.pool %x {ceil_mode = false, channels_last = false, count_include_pad = false, dilations = array<i64: 1, 1>, kind = "max", p = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, window = array<i64: 3, 3>} : (tensor<1x16x5x6xf32>) -> tensor<1x16x5x6xf32>
  %from = weir.constant dense<1> : tensor<1xi64>
  %to = weir.constant dense<4> : tensor<1xi64>
  %step = weir.constant dense<1> : tensor<1xi64>
  %0 = weir.slice %t, %from, %to, %step {axes = array<i64: 2>, strict = false} : (tensor<1x16x5x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x16x3x6xf32>
  return %0 : tensor<1x16x3x6xf32>
}

// A resampling goes with its axes.
// CHECK-LABEL: func.func @resized
// CHECK: %[[P:.*]] = weir.pool {{.*}} -> tensor<1x5x6x16xf32>
// CHECK: %[[R:.*]] = weir.resize %[[P]], {{.*}}axes = array<i64: 1, 2>{{.*}} -> tensor<1x10x12x16xf32>
// CHECK: weir.transpose %[[R]]
func.func @resized(%x: tensor<1x16x5x6xf32>) -> tensor<1x16x10x12xf32> {
  %t = weir.pool %x {ceil_mode = false, channels_last = false, count_include_pad = false, dilations = array<i64: 1, 1>, kind = "max", p = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, window = array<i64: 3, 3>} : (tensor<1x16x5x6xf32>) -> tensor<1x16x5x6xf32>
  %sizes = weir.constant dense<[10, 12]> : tensor<2xi64>
  %scales = weir.constant dense<2.0> : tensor<2xf32>
  %roi = weir.constant dense<[0.0, 0.0, 1.0, 1.0]> : tensor<4xf32>
  %0 = weir.resize %t, %sizes, %scales, %roi {antialias = false, axes = array<i64: 2, 3>, coordinates = "half_pixel", cubic_coefficient = -7.500000e-01 : f64, exclude_outside = false, extrapolation_value = 0.000000e+00 : f64, mode = "nearest", nearest = "round_prefer_floor"} : (tensor<1x16x5x6xf32>, tensor<2xi64>, tensor<2xf32>, tensor<4xf32>) -> tensor<1x16x10x12xf32>
  return %0 : tensor<1x16x10x12xf32>
}
