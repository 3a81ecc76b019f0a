// Rearranged weights: small ones are worked out, large ones keep their bytes where they are.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-fold-weights --split-input-file %s | FileCheck %s

// CHECK-LABEL: @small
// CHECK: weir.constant dense<{{\[}}[1, 3], [2, 4]]> : tensor<2x2xi32>
// CHECK-NOT: weir.transpose
func.func @small() -> tensor<2x2xi32> {
  %w = weir.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %0 = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x2xi32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}

// -----

// Two transpositions are one order, and a reshape that keeps rows together costs
// nothing.
// CHECK-LABEL: @large
// CHECK: weir.constant #weir.arranged<#weir.blob<"w.bin", 0, 524288, "00"> : tensor<64x32x8x8xf32>, [1, 64, 2048], []> : tensor<64x32x64xf32>
// CHECK-NOT: weir.transpose
func.func @large() -> tensor<64x32x64xf32> {
  %w = weir.constant #weir.blob<"w.bin", 0, 524288, "00"> : tensor<64x32x8x8xf32>
  %shape = weir.constant dense<[64, 32, 64]> : tensor<3xi64>
  %0 = weir.transpose %w {permutation = array<i64: 0, 2, 3, 1>} : (tensor<64x32x8x8xf32>) -> tensor<64x8x8x32xf32>
  %1 = weir.transpose %0 {permutation = array<i64: 1, 2, 3, 0>} : (tensor<64x8x8x32xf32>) -> tensor<8x8x32x64xf32>
  %2 = weir.reshape %1, %shape : (tensor<8x8x32x64xf32>, tensor<3xi64>) -> tensor<64x32x64xf32>
  return %2 : tensor<64x32x64xf32>
}

// -----

// Not what is fed.
// CHECK-LABEL: @fed
// CHECK: weir.transpose
func.func @fed(%w: tensor<2x3xi32>) -> tensor<3x2xi32> {
  %0 = weir.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}
