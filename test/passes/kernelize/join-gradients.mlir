// Within a limit of memory, a gradient that is a product is in the kernel of the new values that are made of it.
// REQUIRES: weir-opt
// RUN: weir-opt --weir-kernelize=gradients-join=true %s | FileCheck %s
// RUN: weir-opt --weir-kernelize %s | FileCheck %s --check-prefix=APART

// CHECK-LABEL: @adagrad
// CHECK: %[[K:.*]]:2 = weir_plan.launch @dot_general_sub_64_96_f32(
// CHECK-NOT: weir_plan.launch
// CHECK: return
// APART-LABEL: @adagrad
// APART: weir_plan.launch @dot_general_64_96_f32(
// APART: weir_plan.launch @sub_64_96_f32(
func.func @adagrad(%x: tensor<64x8xf32>, %g: tensor<8x96xf32>) attributes {weir.device_index = 0 : i64} {
  %m = weir.variable {container = "", name = "m", type = tensor<64x96xf32>} : !weir.resource
  %w = weir.variable {container = "", name = "w", type = tensor<64x96xf32>} : !weir.resource
  %0 = weir.variable_read %m : (!weir.resource) -> tensor<64x96xf32>
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<64x96xf32>
  %d = weir.dot_general %x, %g {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x8xf32>, tensor<8x96xf32>) -> tensor<64x96xf32>
  %s = weir.mul %d, %d : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %2 = weir.add %0, %s : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %3 = weir.variable_assign %m, %2 : (!weir.resource, tensor<64x96xf32>) -> !weir.token
  %r = weir.sqrt %2 : (tensor<64x96xf32>) -> tensor<64x96xf32>
  %q = weir.div %d, %r : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %4 = weir.sub %1, %q : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %5 = weir.variable_assign %w, %4 : (!weir.resource, tensor<64x96xf32>) -> !weir.token
  return
}

// One that somebody else reads is in memory anyway.
// CHECK-LABEL: @shown
// CHECK: weir_plan.launch @dot_general_64_96_f32(
// CHECK: weir_plan.launch @sub_64_96_f32(
func.func @shown(%x: tensor<64x8xf32>, %g: tensor<8x96xf32>) -> tensor<64x96xf32> attributes {weir.device_index = 0 : i64} {
  %m = weir.variable {container = "", name = "m", type = tensor<64x96xf32>} : !weir.resource
  %w = weir.variable {container = "", name = "w", type = tensor<64x96xf32>} : !weir.resource
  %0 = weir.variable_read %m : (!weir.resource) -> tensor<64x96xf32>
  %1 = weir.variable_read %w : (!weir.resource) -> tensor<64x96xf32>
  %d = weir.dot_general %x, %g {accumulator = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x8xf32>, tensor<8x96xf32>) -> tensor<64x96xf32>
  %s = weir.mul %d, %d : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %2 = weir.add %0, %s : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %3 = weir.variable_assign %m, %2 : (!weir.resource, tensor<64x96xf32>) -> !weir.token
  %4 = weir.sub %1, %2 : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  %5 = weir.variable_assign %w, %4 : (!weir.resource, tensor<64x96xf32>) -> !weir.token
  return %d : tensor<64x96xf32>
}
