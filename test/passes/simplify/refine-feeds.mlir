// Open sizes of feeds that a weight decides are fixed; nothing else is.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-refine-feeds --weir-infer-shapes %s | FileCheck %s

// A filter of 4 channels in 2 groups: the input has 8. Through what is elementwise.
// CHECK-LABEL: func.func @channels
// CHECK-SAME: tensor<?x8x?xf32> {weir.dims = ["n", "", "w"], weir.lower = [0, 8, 0], weir.upper = [-1, 8, -1]}
// CHECK: weir.conv {{.*}} : (tensor<?x8x?xf32>, tensor<6x4x3xf32>)
func.func @channels(%x: tensor<?x?x?xf32> {weir.dims = ["n", "c", "w"], weir.lower = [0, 0, 0], weir.upper = [-1, -1, -1]}, %f: tensor<6x4x3xf32>) -> tensor<?x6x?xf32> {
  %y = weir.tanh %x : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %z = weir.conv %y, %f {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 2 : i64, channels_last = false, accumulator = f32} : (tensor<?x?x?xf32>, tensor<6x4x3xf32>) -> tensor<?x6x?xf32>
  return %z : tensor<?x6x?xf32>
}

// Through a border that is computed, where none is around the channels.
// CHECK-LABEL: func.func @border
// CHECK-SAME: tensor<?x4x?xf32>
// CHECK: weir.pad {{.*}} -> tensor<?x4x?xf32>
func.func @border(%x: tensor<?x?x?xf32>, %f: tensor<6x4x3xf32>, %n: tensor<1xi64>) -> tensor<?x6x?xf32> {
  %none = weir.constant dense<0> : tensor<1xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %pads = weir.concat %none, %none, %n, %none, %none, %none {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xi64>
  %y = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
  %z = weir.conv %y, %f {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<?x?x?xf32>, tensor<6x4x3xf32>) -> tensor<?x6x?xf32>
  return %z : tensor<?x6x?xf32>
}

// Where channels may have a border, they are open.
// CHECK-LABEL: func.func @wide_border
// CHECK-SAME: (%{{.+}}: tensor<?x?x?xf32>
func.func @wide_border(%x: tensor<?x?x?xf32>, %f: tensor<6x4x3xf32>, %n: tensor<1xi64>) -> tensor<?x6x?xf32> {
  %none = weir.constant dense<0> : tensor<1xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %pads = weir.concat %none, %none, %none, %none, %n, %none {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xi64>
  %y = weir.pad %x, %pads, %zero {mode = "constant"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
  %z = weir.conv %y, %f {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, channels_last = false, accumulator = f32} : (tensor<?x?x?xf32>, tensor<6x4x3xf32>) -> tensor<?x6x?xf32>
  return %z : tensor<?x6x?xf32>
}

// Another feed's dimension of the same name has the size, too.
// CHECK-LABEL: func.func @depth
// CHECK-SAME: tensor<?x5xf32>
// CHECK-SAME: tensor<5xf32>
func.func @depth(%x: tensor<?x?xf32> {weir.dims = ["n", "k"]}, %b: tensor<?xf32> {weir.dims = ["k"]}, %w: tensor<5x3xf32>) -> tensor<?x3xf32> {
  %y = weir.add %x, %b : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  %z = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x?xf32>, tensor<5x3xf32>) -> tensor<?x3xf32>
  return %z : tensor<?x3xf32>
}

// What is broadcast may be 1, and a branch may not run.
// CHECK-LABEL: func.func @either
// CHECK-SAME: tensor<?xf32>
// CHECK-SAME: tensor<?x?xf32>
func.func @either(%x: tensor<?xf32>, %y: tensor<?x?xf32>, %w: tensor<5x3xf32>, %c: tensor<i1>) -> (tensor<5xf32>, tensor<?x3xf32>) {
  %five = weir.constant dense<1.0> : tensor<5xf32>
  %s = weir.add %x, %five : (tensor<?xf32>, tensor<5xf32>) -> tensor<5xf32>
  %r = weir.if %c : (tensor<i1>) -> tensor<?x3xf32> then {
    %z = weir.dot_general %y, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x?xf32>, tensor<5x3xf32>) -> tensor<?x3xf32>
    weir.yield %z : tensor<?x3xf32>
  } else {
    %e = weir.constant dense<0.0> : tensor<2x3xf32>
    %f = weir.constant dense<[2, 3]> : tensor<2xi64>
    %g = weir.broadcast_to %e, %f : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
    weir.yield %g : tensor<?x3xf32>
  }
  return %s, %r : tensor<5xf32>, tensor<?x3xf32>
}

// Bounds that no run can keep are left to the run.
// CHECK-LABEL: func.func @bounded
// CHECK-SAME: tensor<?x?xf32>
func.func @bounded(%x: tensor<?x?xf32> {weir.dims = ["n", "k"], weir.lower = [0, 1], weir.upper = [-1, 4]}, %w: tensor<5x3xf32>) -> tensor<?x3xf32> {
  %z = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x?xf32>, tensor<5x3xf32>) -> tensor<?x3xf32>
  return %z : tensor<?x3xf32>
}

// A feed that is fetched as it is.
// CHECK-LABEL: func.func @through
// CHECK-SAME: -> (tensor<?x5xf32>, tensor<?x3xf32>)
func.func @through(%x: tensor<?x?xf32>, %w: tensor<5x3xf32>) -> (tensor<?x?xf32>, tensor<?x3xf32>) {
  %z = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<?x?xf32>, tensor<5x3xf32>) -> tensor<?x3xf32>
  return %x, %z : tensor<?x?xf32>, tensor<?x3xf32>
}
