// A depthwise convolution and the one by a window of one element behind it go through a large
// image together, a few lines at a time.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-kernelize --weir-depth-first-fusion --mlir-elide-elementsattrs-if-larger=8 %s | FileCheck %s

module attributes {weir.target = #weir.target<vector_bytes = 64, vector_registers = 32>} {
// The image between them, of 4 MiB, is lines on a thread's stack.
// CHECK-LABEL: func.func @large
// CHECK-COUNT-1: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @large(%x: tensor<1x128x128x64xf32>) -> tensor<1x128x128x32xf32> attributes {weir.device_index = 0 : i64} {
  %w = weir.constant dense<0.5> : tensor<3x3x1x64xf32>
  %v = weir.constant dense<0.25> : tensor<1x1x64x32xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 64 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x128x128x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x128x128x64xf32>
  %1 = weir.conv %0, %v {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x128x128x64xf32>, tensor<1x1x64x32xf32>) -> tensor<1x128x128x32xf32>
  return %1 : tensor<1x128x128x32xf32>
}

// Caches keep a small one.
// CHECK-LABEL: func.func @small
// CHECK-COUNT-2: weir_plan.launch
// CHECK: return
func.func @small(%x: tensor<1x32x32x64xf32>) -> tensor<1x32x32x32xf32> attributes {weir.device_index = 0 : i64} {
  %w = weir.constant dense<0.5> : tensor<3x3x1x64xf32>
  %v = weir.constant dense<0.25> : tensor<1x1x64x32xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 64 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x32x32x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x32x32x64xf32>
  %1 = weir.conv %0, %v {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x32x32x64xf32>, tensor<1x1x64x32xf32>) -> tensor<1x32x32x32xf32>
  return %1 : tensor<1x32x32x32xf32>
}

// What something else reads, too, is stored.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-2: weir_plan.launch
// CHECK: return
func.func @shared(%x: tensor<1x128x128x64xf32>) -> (tensor<1x128x128x32xf32>, tensor<1x128x128x64xf32>) attributes {weir.device_index = 0 : i64} {
  %w = weir.constant dense<0.5> : tensor<3x3x1x64xf32>
  %v = weir.constant dense<0.25> : tensor<1x1x64x32xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 64 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x128x128x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x128x128x64xf32>
  %1 = weir.conv %0, %v {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x128x128x64xf32>, tensor<1x1x64x32xf32>) -> tensor<1x128x128x32xf32>
  return %1, %0 : tensor<1x128x128x32xf32>, tensor<1x128x128x64xf32>
}
}
// CHECK: weir_plan.kernel {{.*}} schedule <depth_first
