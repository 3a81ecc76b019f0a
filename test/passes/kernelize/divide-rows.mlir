// Large values go part by part: of 8x16 logits, four rows at a time.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-divide-rows %s | FileCheck %s

// The logits, and what is made of them, are there for one half of the rows at a time; the gradient
// by the weight is the sum of two, that by the operand two halves in a row.
// CHECK: module attributes {weir.divided = 20
// CHECK-LABEL: @logits
// CHECK-NOT: weir.row_parts
// CHECK-NOT: tensor<8x16xf32>
// CHECK: %[[TOP:.*]] = weir.slice %arg0
// CHECK: %[[L:.*]] = weir.dot_general %[[TOP]], %arg1 {{.*}} -> tensor<4x16xf32>
// CHECK: weir.reduce {{.*}} kind = "max"{{.*}} -> tensor<4x1xf32>
// CHECK: %[[G:.*]] = weir.exp
// CHECK: %[[W:.*]] = weir.dot_general {{.*}}, %[[G]] {{.*}} -> tensor<6x16xf32>
// CHECK: %[[X:.*]] = weir.dot_general %[[G]], {{.*}} -> tensor<4x6xf32>
// CHECK: weir.dot_general {{.*}} -> tensor<4x16xf32>
// CHECK: %[[V:.*]] = weir.dot_general {{.*}} -> tensor<6x16xf32>
// CHECK: %[[SUM:.*]] = weir.add %[[W]], %[[V]]
// CHECK: %[[Y:.*]] = weir.dot_general {{.*}} -> tensor<4x6xf32>
// CHECK: %[[ALL:.*]] = weir.concat %[[X]], %[[Y]] {axis = 0
// CHECK-NOT: tensor<8x16xf32>
// CHECK: return %[[SUM]], %[[ALL]]
func.func @logits(%x: tensor<8x6xf32>, %w: tensor<6x16xf32>, %t: tensor<16x6xf32>) -> (tensor<6x16xf32>, tensor<8x6xf32>)
    attributes {weir.device_index = 0 : i64, weir.row_parts = 2 : i64, weir.large_rows = 512 : i64} {
  %xt = weir.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %l = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<6x16xf32>) -> tensor<8x16xf32>
  %m = weir.reduce %l {axes = array<i64: 1>, keep_dims = true, kind = "max"} : (tensor<8x16xf32>) -> tensor<8x1xf32>
  %s = weir.sub %l, %m : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  %g = weir.exp %s : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %dw = weir.dot_general %xt, %g {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<6x8xf32>, tensor<8x16xf32>) -> tensor<6x16xf32>
  %dx = weir.dot_general %g, %t {accumulator = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<8x16xf32>, tensor<16x6xf32>) -> tensor<8x6xf32>
  return %dw, %dx : tensor<6x16xf32>, tensor<8x6xf32>
}

// Without the attribute nothing is divided.
// CHECK-LABEL: @unasked
// CHECK: weir.exp {{.*}} tensor<8x16xf32>
func.func @unasked(%x: tensor<8x16xf32>) -> tensor<8xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<8x16xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A mean over all rows that rows are made of needs all of them: it stays whole.
// CHECK-LABEL: @statistics
// CHECK-NOT: weir.row_parts
// CHECK: weir.exp {{.*}} tensor<8x16xf32>
// CHECK: weir.sub {{.*}} tensor<8x16xf32>
func.func @statistics(%x: tensor<8x16xf32>) -> tensor<8x16xf32>
    attributes {weir.device_index = 0 : i64, weir.row_parts = 2 : i64, weir.large_rows = 512 : i64} {
  %0 = weir.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = weir.reduce %0 {axes = array<i64: 0, 1>, keep_dims = true, kind = "sum"} : (tensor<8x16xf32>) -> tensor<1x1xf32>
  %2 = weir.sub %0, %1 : (tensor<8x16xf32>, tensor<1x1xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// What counts along rows goes on in the second part: numbers of rows, positions in a whole tensor.
// CHECK-LABEL: @counted
// CHECK: weir.iota {{.*}} -> tensor<4x2x2x1xi32>
// CHECK: weir.max_pool_index {{.*}} -> tensor<4x2x2x1xi32>
// CHECK: %[[I:.*]] = weir.iota {{.*}} -> tensor<4x2x2x1xi32>
// CHECK: %[[FOUR:.*]] = weir.constant dense<4> : tensor<i32>
// CHECK: weir.add %[[I]], %[[FOUR]]
// CHECK: %[[P:.*]] = weir.max_pool_index {{.*}} -> tensor<4x2x2x1xi32>
// CHECK: %[[HALF:.*]] = weir.constant dense<64> : tensor<i32>
// CHECK: weir.add %[[P]], %[[HALF]]
func.func @counted(%x: tensor<8x4x4x1xf32>) -> tensor<8xi32>
    attributes {weir.device_index = 0 : i64, weir.row_parts = 2 : i64, weir.large_rows = 128 : i64} {
  %shape = weir.constant dense<[8, 2, 2, 1]> : tensor<4xi64>
  %i = weir.iota %shape {axis = 0 : i64, element_type = i32} : (tensor<4xi64>) -> tensor<8x2x2x1xi32>
  %p = weir.max_pool_index %x {ceil_mode = false, channels_last = true, column_major = false, dilations = array<i64: 1, 1>, index_type = i32, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>, within_image = false} : (tensor<8x4x4x1xf32>) -> tensor<8x2x2x1xi32>
  %0 = weir.mul %p, %i : (tensor<8x2x2x1xi32>, tensor<8x2x2x1xi32>) -> tensor<8x2x2x1xi32>
  %1 = weir.reduce %0 {axes = array<i64: 1, 2, 3>, keep_dims = false, kind = "sum"} : (tensor<8x2x2x1xi32>) -> tensor<8xi32>
  return %1 : tensor<8xi32>
}

// Who reads results, and has effects, comes behind all parts, in its order.
// CHECK-LABEL: @effects
// CHECK-NOT: variable_assign
// CHECK: weir.concat
// CHECK: weir.variable_assign
// CHECK: weir.variable_read
func.func @effects(%x: tensor<8x16xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {weir.device_index = 0 : i64, weir.row_parts = 2 : i64, weir.large_rows = 512 : i64} {
  %v = weir.variable {container = "", name = "v", type = tensor<8xf32>} : !weir.resource
  %0 = weir.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<8x16xf32>) -> tensor<8xf32>
  %2 = weir.variable_assign %v, %1 : (!weir.resource, tensor<8xf32>) -> !weir.token
  %3 = weir.variable_read %v : (!weir.resource) -> tensor<8xf32>
  %4 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = false, kind = "max"} : (tensor<8x16xf32>) -> tensor<8xf32>
  return %3, %4 : tensor<8xf32>, tensor<8xf32>
}

// A part of a constant is a constant.
// CHECK-LABEL: @constant
// CHECK: weir.constant dense<[{{.*}}1.000000e+00], [2.000000e+00]]> : tensor<2x1xf32>
// CHECK: weir.constant dense<[{{.*}}3.000000e+00], [4.000000e+00]]> : tensor<2x1xf32>
func.func @constant(%x: tensor<4x16xf32>) -> tensor<4xf32>
    attributes {weir.device_index = 0 : i64, weir.row_parts = 2 : i64, weir.large_rows = 256 : i64} {
  %c = weir.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %0 = weir.mul %x, %c : (tensor<4x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  %1 = weir.reduce %0 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<4x16xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The gradient of a filter is a convolution whose channels are the batch: a sum over parts of it.
// CHECK-LABEL: @filter
// CHECK: %[[A:.*]] = weir.conv {{.*}} : (tensor<1x4x4x2xf32>, tensor<4x4x2x3xf32>) -> tensor<1x1x1x3xf32>
// CHECK: %[[B:.*]] = weir.conv {{.*}} : (tensor<1x4x4x2xf32>, tensor<4x4x2x3xf32>) -> tensor<1x1x1x3xf32>
// CHECK: weir.add %[[A]], %[[B]]
func.func @filter(%x: tensor<1x4x4x4xf32>, %y: tensor<4x4x4x3xf32>) -> tensor<1x1x1x3xf32>
    attributes {weir.device_index = 0 : i64, weir.row_parts = 2 : i64, weir.large_rows = 768 : i64} {
  %0 = weir.exp %y : (tensor<4x4x4x3xf32>) -> tensor<4x4x4x3xf32>
  %1 = weir.transpose %0 {permutation = array<i64: 1, 2, 0, 3>} : (tensor<4x4x4x3xf32>) -> tensor<4x4x4x3xf32>
  %2 = weir.conv %x, %1 {accumulator = f32, channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<4x4x4x3xf32>) -> tensor<1x1x1x3xf32>
  return %2 : tensor<1x1x1x3xf32>
}

// What is picked of each row has rows.
// CHECK-LABEL: @picked
// CHECK: weir.gather_elements {{.*}} (tensor<4x16xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
// CHECK: weir.gather_elements {{.*}} (tensor<4x16xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
// CHECK: weir.concat {{.*}} -> tensor<8x1xf32>
func.func @picked(%x: tensor<8x16xf32>, %l: tensor<8x1xi64>) -> tensor<8x1xf32>
    attributes {weir.device_index = 0 : i64, weir.row_parts = 2 : i64, weir.large_rows = 512 : i64} {
  %0 = weir.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = weir.gather_elements %0, %l {axis = 1 : i64, wrap_negative = false} : (tensor<8x16xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  return %1 : tensor<8x1xf32>
}
