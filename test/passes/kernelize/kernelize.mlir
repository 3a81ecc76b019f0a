// Which operations share a kernel.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-kernelize %s | FileCheck %s

// What one operation reads moves into its kernel.
// CHECK-LABEL: @fused
// CHECK-COUNT-1: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @fused(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir.neg %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = weir.exp %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// What follows a product is computed on its sums.
// CHECK-LABEL: @epilogue
// CHECK-COUNT-1: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @epilogue(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir.dot_general %x, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = weir.relu %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// A product reads each element many times: what makes them is computed before, once.
// CHECK-LABEL: @repeated
// CHECK: weir_plan.launch @exp
// CHECK: weir_plan.launch @dot_general
func.func @repeated(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = weir.dot_general %0, %w {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// Two kernels that read a value do not both compute it.
// CHECK-LABEL: @shared
// CHECK-COUNT-3: weir_plan.launch
func.func @shared(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {weir.device_index = 0 : i64} {
  %0 = weir.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = weir.neg %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = weir.tanh %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// What costs next to nothing, and reads one tensor that is there anyway, is computed by both.
// CHECK-LABEL: @cheap_leaf
// CHECK-COUNT-2: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @cheap_leaf(%x: tensor<64x64xf32>, %m: tensor<64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {weir.device_index = 0 : i64} {
  %0 = weir.sub %x, %m : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %1 = weir.neg %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = weir.tanh %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// Of two large tensors the result is one tensor less to read.
// CHECK-LABEL: @leaf_of_two
// CHECK-COUNT-3: weir_plan.launch
func.func @leaf_of_two(%x: tensor<64x64xf32>, %m: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {weir.device_index = 0 : i64} {
  %0 = weir.sub %x, %m : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = weir.neg %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = weir.tanh %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// Nor is it worth storing which element of a row is the label's.
// CHECK-LABEL: @leaf_of_labels
// CHECK-COUNT-2: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @leaf_of_labels(%x: tensor<64x64xf32>, %label: tensor<64x1xi64>) -> (tensor<64xf32>, tensor<64x64xf32>) attributes {weir.device_index = 0 : i64} {
  %shape = weir.constant dense<[1, 64]> : tensor<2xi64>
  %zero = weir.constant dense<0.0> : tensor<f32>
  %i = weir.iota %shape {axis = 1 : i64, element_type = i64} : (tensor<2xi64>) -> tensor<1x64xi64>
  %0 = weir.compare %label, %i {predicate = "eq"} : (tensor<64x1xi64>, tensor<1x64xi64>) -> tensor<64x64xi1>
  %1 = weir.select %0, %x, %zero : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %2 = weir.reduce %1 {axes = array<i64: 1>, keep_dims = false, kind = "sum"} : (tensor<64x64xf32>) -> tensor<64xf32>
  %e = weir.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = weir.select %0, %zero, %e : (tensor<64x64xi1>, tensor<f32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2, %3 : tensor<64xf32>, tensor<64x64xf32>
}

// Few integers are the step's own.
// CHECK-LABEL: @integers
// CHECK: weir.add
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @integers(%i: tensor<2xi64>) -> tensor<2xi64> attributes {weir.device_index = 0 : i64} {
  %0 = weir.add %i, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// Rows of a few operands are computed operand by operand.
// CHECK-LABEL: @few_joined
// CHECK-COUNT-1: weir_plan.launch
// CHECK-NOT: weir_plan.launch
// CHECK: return
func.func @few_joined(%x: tensor<8x32xf32>) -> tensor<8x128xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir.concat %x, %x, %x, %x {axis = 1 : i64} : (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x128xf32>
  %1 = weir.relu %0 : (tensor<8x128xf32>) -> tensor<8x128xf32>
  return %1 : tensor<8x128xf32>
}

// Many are copied first: each element would look for its own.
// CHECK-LABEL: @many_joined
// CHECK: weir_plan.launch @concat
// CHECK: weir_plan.launch @relu
func.func @many_joined(%x: tensor<8x32xf32>) -> tensor<8x288xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir.concat %x, %x, %x, %x, %x, %x, %x, %x, %x {axis = 1 : i64} : (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x288xf32>
  %1 = weir.relu %0 : (tensor<8x288xf32>) -> tensor<8x288xf32>
  return %1 : tensor<8x288xf32>
}

// CHECK-LABEL: @many_lines_joined
// CHECK: weir_plan.launch @concat
// CHECK: weir_plan.launch @relu
func.func @many_lines_joined(%x: tensor<8x32xf32>) -> tensor<40x32xf32> attributes {weir.device_index = 0 : i64} {
  %0 = weir.concat %x, %x, %x, %x, %x {axis = 0 : i64} : (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<40x32xf32>
  %1 = weir.relu %0 : (tensor<40x32xf32>) -> tensor<40x32xf32>
  return %1 : tensor<40x32xf32>
}
