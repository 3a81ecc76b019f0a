// Products and convolutions get the operands that tiles read.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-canonical-gemms --mlir-elide-elementsattrs-if-larger=8 %s | FileCheck %s

// A padding that tiles cannot read past is written before.
// CHECK-LABEL: @padded
// CHECK: %[[PADDED:.+]] = weir.pad %arg0
// CHECK: weir.conv %[[PADDED]], {{.*}}pads = array<i64: 0, 0, 0, 0>
func.func @padded(%x: tensor<1x8x8x4xf32>) -> tensor<1x8x8x16xf32> {
  %w = weir.constant dense<1.0> : tensor<3x3x4x16xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

// One that is in order stays as it is.
// CHECK-LABEL: @plain
// CHECK-NEXT: weir.dot_general %arg0, %arg1
// CHECK-NEXT: return
func.func @plain(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}
