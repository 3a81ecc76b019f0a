// Which transpositions are computed by blocks, and how their range is cut.
//
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64>} {
  // Lines and columns stay together and count as one.
  // CHECK: weir_plan.kernel @transpose_2_64_56_56_f32
  // CHECK-SAME: schedule <transposition,
  // CHECK-SAME: merged = array<i64: 2, 4>
  // CHECK-SAME: parts = array<i64: 1, 16, 64>
  func.func @channels_first(%x: tensor<2x56x56x64xf32>) -> tensor<2x64x56x56xf32> {
    %0 = weir.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x56x56x64xf32>) -> tensor<2x64x56x56xf32>
    return %0 : tensor<2x64x56x56xf32>
  }

  // CHECK: weir_plan.kernel @transpose_2_56_56_64_f32
  // CHECK-SAME: merged = array<i64: 1, 3>
  // CHECK-SAME: parts = array<i64: 1, 16, 64>
  func.func @channels_last(%x: tensor<2x64x56x56xf32>) -> tensor<2x56x56x64xf32> {
    %0 = weir.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x64x56x56xf32>) -> tensor<2x56x56x64xf32>
    return %0 : tensor<2x56x56x64xf32>
  }

  // Where the last dimension stays, lines are copied whole, by several threads where
  // there are enough of them.
  // CHECK: weir_plan.kernel @transpose_2_12_128_64_f32 schedule <loops,
  // CHECK-SAME: grain = 1250 : i64
  func.func @heads(%x: tensor<2x128x12x64xf32>) -> tensor<2x12x128x64xf32> {
    %0 = weir.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x128x12x64xf32>) -> tensor<2x12x128x64xf32>
    return %0 : tensor<2x12x128x64xf32>
  }

  // Nothing is fused with a large one …
  // CHECK: weir_plan.kernel @transpose_256_512_f32 schedule <transposition,
  // CHECK: weir_plan.kernel @add_256_512_f32
  func.func @large(%x: tensor<512x256xf32>, %y: tensor<256x512xf32>) -> tensor<256x512xf32> {
    %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<512x256xf32>) -> tensor<256x512xf32>
    %1 = weir.add %0, %y : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
    return %1 : tensor<256x512xf32>
  }

  // … but a small one goes into the kernel that reads it.
  // CHECK-NOT: transpose_4_8
  // CHECK: weir_plan.kernel @add_4_8_f32 schedule <loops,
  func.func @small(%x: tensor<8x4xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %1 = weir.add %0, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }

  // A slice would cost the product its tiles: it is computed before.
  // CHECK: weir_plan.kernel @slice_4_256_f32
  // CHECK: weir_plan.kernel @dot_general_add_4_256_f32 schedule <gemm,
  func.func @slice(%x: tensor<4x64xf32>, %w: tensor<64x256xf32>, %y: tensor<4x512xf32>) -> tensor<4x256xf32> {
    %b = weir.constant dense<0> : tensor<1xi64>
    %e = weir.constant dense<256> : tensor<1xi64>
    %s = weir.constant dense<1> : tensor<1xi64>
    %0 = weir.slice %y, %b, %e, %s {axes = array<i64: 1>, strict = false} : (tensor<4x512xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x256xf32>
    %1 = weir.logistic %0 : (tensor<4x256xf32>) -> tensor<4x256xf32>
    %2 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x64xf32>, tensor<64x256xf32>) -> tensor<4x256xf32>
    %3 = weir.add %1, %2 : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
    return %3 : tensor<4x256xf32>
  }
}
