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

// Of open sides, at usual ones of 224. What the product adds is what the chain goes over, and has
// the sides of its result.
// CHECK-LABEL: func.func @open
// CHECK-COUNT-1: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @open(%x: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> attributes {weir.device_index = 0 : i64} {
  %w = weir.constant dense<0.5> : tensor<3x3x1x64xf32>
  %v = weir.constant dense<0.25> : tensor<64x64xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 64 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<?x?x?x64xf32>, tensor<3x3x1x64xf32>) -> tensor<?x?x?x64xf32>
  %1 = weir.dot_general %0, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 0>} : (tensor<?x?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x?x64xf32>
  %2 = weir.add %1, %x : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %2 : tensor<?x?x?x64xf32>
}

// Another image may be one line that is stretched over all.
// CHECK-LABEL: func.func @open_stretched
// CHECK-COUNT-2: weir_plan.launch
// CHECK: return
func.func @open_stretched(%x: tensor<1x?x?x64xf32>, %y: tensor<1x?x?x64xf32>) -> tensor<1x?x?x64xf32> attributes {weir.device_index = 0 : i64} {
  %w = weir.constant dense<0.5> : tensor<3x3x1x64xf32>
  %v = weir.constant dense<0.25> : tensor<64x64xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 64 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x?x?x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x?x?x64xf32>
  %1 = weir.dot_general %0, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 0>} : (tensor<1x?x?x64xf32>, tensor<64x64xf32>) -> tensor<1x?x?x64xf32>
  %2 = weir.add %1, %y : (tensor<1x?x?x64xf32>, tensor<1x?x?x64xf32>) -> tensor<1x?x?x64xf32>
  return %2 : tensor<1x?x?x64xf32>
}

// So may what the chain goes over, where its windows do not keep the sides.
// CHECK-LABEL: func.func @open_smaller
// CHECK-COUNT-2: weir_plan.launch
// CHECK: return
func.func @open_smaller(%x: tensor<1x?x?x64xf32>) -> tensor<1x?x?x64xf32> attributes {weir.device_index = 0 : i64} {
  %w = weir.constant dense<0.5> : tensor<3x3x1x64xf32>
  %v = weir.constant dense<0.25> : tensor<64x64xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 64 : i64, pads = array<i64: 2, 2, 1, 1>} : (tensor<1x?x?x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x?x?x64xf32>
  %1 = weir.dot_general %0, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 0>} : (tensor<1x?x?x64xf32>, tensor<64x64xf32>) -> tensor<1x?x?x64xf32>
  %2 = weir.add %1, %x : (tensor<1x?x?x64xf32>, tensor<1x?x?x64xf32>) -> tensor<1x?x?x64xf32>
  return %2 : tensor<1x?x?x64xf32>
}

// Bounds that let images only be small: caches keep them.
// CHECK-LABEL: func.func @bounded
// CHECK-COUNT-2: weir_plan.launch
// CHECK: return
func.func @bounded(%x: tensor<1x?x?x64xf32> {weir.lower = [1, 1, 1, 64], weir.upper = [1, 32, 32, 64]}) -> tensor<1x?x?x64xf32> attributes {weir.device_index = 0 : i64} {
  %w = weir.constant dense<0.5> : tensor<3x3x1x64xf32>
  %v = weir.constant dense<0.25> : tensor<64x64xf32>
  %0 = weir.conv %x, %w {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, strides = array<i64: 1, 1>, groups = 64 : i64, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x?x?x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x?x?x64xf32>
  %1 = weir.dot_general %0, %v {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 0>} : (tensor<1x?x?x64xf32>, tensor<64x64xf32>) -> tensor<1x?x?x64xf32>
  return %1 : tensor<1x?x?x64xf32>
}
}
// CHECK: weir_plan.kernel {{.*}} schedule <depth_first
