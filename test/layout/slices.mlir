// Slices of channels that a transposition brought elsewhere, as that behind a pool, are
// taken where channels are last; slices of other dimensions stay.
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
