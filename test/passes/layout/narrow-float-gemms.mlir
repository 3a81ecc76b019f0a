// Products of dequantized 8-bit floats multiply these where the object has code for devices that do; scales of rows
// and of columns go behind the sums.
// REQUIRES: weir-opt
// RUN: weir-opt %s --split-input-file --weir-quantized-gemms | FileCheck %s

module attributes {weir.target = #weir.target<may_offload>} {
  // CHECK-LABEL: func.func @scaled
  // CHECK: %[[SUM:.*]] = weir.dot_general %arg0, %arg1 {{.*}} : (tensor<?x64xf8E4M3FN>, tensor<64x48xf8E5M2>) -> tensor<?x48xf32>
  // CHECK: %[[ONE:.*]] = weir.mul %[[SUM]], %arg2
  // CHECK: weir.mul %[[ONE]], %arg3
  func.func @scaled(%p: tensor<?x64xf8E4M3FN>, %q: tensor<64x48xf8E5M2>, %r: tensor<f32>, %s: tensor<48xf32>) -> tensor<?x48xf32> {
    %x = weir.cast %p {saturate = false} : (tensor<?x64xf8E4M3FN>) -> tensor<?x64xf32>
    %w = weir.cast %q {saturate = false} : (tensor<64x48xf8E5M2>) -> tensor<64x48xf32>
    %xs = weir.mul %x, %r : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32>
    %ws = weir.mul %w, %s : (tensor<64x48xf32>, tensor<48xf32>) -> tensor<64x48xf32>
    %0 = weir.dot_general %xs, %ws {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<?x64xf32>, tensor<64x48xf32>) -> tensor<?x48xf32>
    return %0 : tensor<?x48xf32>
  }
  // A scale along the depth is part of the sum's terms.
  // CHECK-LABEL: func.func @along_depth
  // CHECK: weir.dot_general {{.*}} : (tensor<8x64xf32>, tensor<64x48xf32>) -> tensor<8x48xf32>
  func.func @along_depth(%p: tensor<8x64xf8E4M3FN>, %q: tensor<64x48xf8E4M3FN>, %s: tensor<64xf32>) -> tensor<8x48xf32> {
    %x = weir.cast %p {saturate = false} : (tensor<8x64xf8E4M3FN>) -> tensor<8x64xf32>
    %w = weir.cast %q {saturate = false} : (tensor<64x48xf8E4M3FN>) -> tensor<64x48xf32>
    %xs = weir.mul %x, %s : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    %0 = weir.dot_general %xs, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x64xf32>, tensor<64x48xf32>) -> tensor<8x48xf32>
    return %0 : tensor<8x48xf32>
  }
  // One operand is no 8-bit float.
  // CHECK-LABEL: func.func @one_narrow
  // CHECK: weir.dot_general {{.*}} : (tensor<8x64xf32>, tensor<64x48xf32>) -> tensor<8x48xf32>
  func.func @one_narrow(%p: tensor<8x64xf8E4M3FN>, %w: tensor<64x48xf32>) -> tensor<8x48xf32> {
    %x = weir.cast %p {saturate = false} : (tensor<8x64xf8E4M3FN>) -> tensor<8x64xf32>
    %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x64xf32>, tensor<64x48xf32>) -> tensor<8x48xf32>
    return %0 : tensor<8x48xf32>
  }
}

// -----

// Hosts multiply none.
// CHECK-LABEL: func.func @of_host
// CHECK: weir.dot_general {{.*}} : (tensor<8x64xf32>, tensor<64x48xf32>) -> tensor<8x48xf32>
func.func @of_host(%p: tensor<8x64xf8E4M3FN>, %q: tensor<64x48xf8E4M3FN>) -> tensor<8x48xf32> {
  %x = weir.cast %p {saturate = false} : (tensor<8x64xf8E4M3FN>) -> tensor<8x64xf32>
  %w = weir.cast %q {saturate = false} : (tensor<64x48xf8E4M3FN>) -> tensor<64x48xf32>
  %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x64xf32>, tensor<64x48xf32>) -> tensor<8x48xf32>
  return %0 : tensor<8x48xf32>
}
